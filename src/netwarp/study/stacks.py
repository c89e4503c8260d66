"""Stacks that a study names: names in its tables → what their manifests say, in the tables."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from netwarp.errors import InputError
from netwarp.fields import KeyValueError
from netwarp.stacks import stack_table
from netwarp.transports import TRANSPORTS


def with_stacks(tables: dict[str, Any]) -> dict[str, Any]:
    """Look up the stacks that a study names, in ``[transport]`` and in levels of the factor.

    Args:
        tables: the study's, changed in place where one is named.

    Raises:
        KeyValueError: a stack that is not built here.
    """
    for key, options in _options(tables):
        name = options.get("stack")
        if isinstance(name, str):
            try:
                options["stack"] = stack_table(name)
            except InputError as error:
                raise KeyValueError(f"{key}.stack", name, str(error)) from None
    return tables


def _options(tables: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Give all tables of a transport's options, with their keys."""
    transport = tables.get("transport")
    if isinstance(transport, dict):
        yield "transport", transport
        for kind in TRANSPORTS:
            if isinstance(transport.get(kind), dict):
                yield f"transport.{kind}", transport[kind]
    factors = tables.get("factors")
    levels = factors.get("transport") if isinstance(factors, dict) else None
    for level in levels if isinstance(levels, list) else []:
        if isinstance(level, dict):
            yield "factors.transport", level
