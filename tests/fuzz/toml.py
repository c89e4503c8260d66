"""Writes a study's tables as TOML."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any


def to_toml(tables: Mapping[str, Any]) -> str:
    """Write tables as TOML: plain keys first, then a section for each table."""
    plain = {key: value for key, value in tables.items() if not isinstance(value, Mapping)}
    lines = ["# Is anything wrong with this?"]
    lines += [f"{_key(key)} = {_value(value)}" for key, value in plain.items()]
    for key, table in tables.items():
        if isinstance(table, Mapping):
            lines.append(f"[{_key(key)}]")
            lines += [f"{_key(name)} = {_value(value)}" for name, value in table.items()]
    return "\n".join(lines) + "\n"


def _value(value: Any) -> str:
    if isinstance(value, Mapping):
        pairs = ", ".join(f"{_key(key)} = {_value(inner)}" for key, inner in value.items())
        return "{ " + pairs + " }"
    if isinstance(value, list):
        return "[" + ", ".join(_value(inner) for inner in value) + "]"
    if isinstance(value, str):
        # JSON's escapes are TOML's but for DEL, which TOML wants escaped.
        return json.dumps(value).replace("\x7f", "\\u007f")
    if isinstance(value, bool):
        return str(value).lower()
    return repr(value)


def _key(key: str) -> str:
    bare = key.replace("-", "").replace("_", "")
    return key if bare.isalnum() and bare.isascii() else _value(key)
