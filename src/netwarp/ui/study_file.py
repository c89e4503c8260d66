"""Converts the tables of a study to a TOML file, so that a user can keep what was chosen on a
page.
"""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

_BARE = re.compile("[A-Za-z0-9_-]+")


def study_file(tables: Mapping[str, Any], question: str = "") -> str:
    """Return a study's tables as TOML, with the study's question as the comment in the first
    line.
    """
    lines = [f"# {question}"] if question else []
    return "\n".join([*lines, *_table(tables, ())]) + "\n"


def _table(table: Mapping[str, Any], path: tuple[str, ...]) -> Iterator[str]:
    """Yield the lines of a table: its plain keys, then the tables in it; empty ones are left
    out.
    """
    below = {key: value for key, value in table.items() if _is_table(value)}
    for key, value in table.items():
        if key not in below:
            yield f"{_key(key)} = {_value(value)}"
    for key, value in below.items():
        here = (*path, key)
        name = ".".join(map(_key, here))
        for each in value if isinstance(value, list) else [value]:
            if each:
                yield f"[[{name}]]" if isinstance(value, list) else f"[{name}]"
                yield from _table(each, here)


def _is_table(value: Any) -> bool:
    if isinstance(value, list):
        return bool(value) and all(isinstance(each, Mapping) for each in value)
    return isinstance(value, Mapping)


def _key(key: str) -> str:
    return key if _BARE.fullmatch(key) else _text(key)


def _value(value: Any) -> str:
    """Return a value as TOML."""
    match value:
        case bool():
            return "true" if value else "false"
        case int() | float():
            return repr(value)
        case list() | tuple():
            return f"[{', '.join(map(_value, value))}]"
        case Mapping():
            return "{ " + ", ".join(f"{_key(k)} = {_value(v)}" for k, v in value.items()) + " }"
        case _:
            return _text(str(value))


def _text(text: str) -> str:
    """Return a text in quotes. TOML's basic strings have JSON's escapes; in addition DEL has to be
    escaped.
    """
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
