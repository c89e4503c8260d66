"""Writes the tables of a study as a TOML file, so that what was turned on a page can be kept."""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

_BARE = re.compile("[A-Za-z0-9_-]+")


def study_file(tables: Mapping[str, Any], question: str = "") -> str:
    """Write a study's tables, with its question as the comment in the first line."""
    lines = [f"# {question}"] if question else []
    return "\n".join([*lines, *_table(tables, ())]) + "\n"


def _table(table: Mapping[str, Any], path: tuple[str, ...]) -> Iterator[str]:
    """Write the plain keys of a table, then the tables in it; empty ones are left out."""
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
    """Write a value in TOML."""
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
    """Quote a text: TOML's basic strings have JSON's escapes, and DEL has to be escaped too."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
