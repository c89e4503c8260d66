"""Replaces the names of QUIC stacks in a study's tables by the contents of their manifests."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from netwarp.errors import InputError
from netwarp.fields import KeyValueError
from netwarp.stacks import interop_stack, stack_table
from netwarp.study.cells.factors import factor_key
from netwarp.transports import TRANSPORTS

INTEROP_KEYS = frozenset({"interop", "name", "version"})


def with_stacks(tables: dict[str, Any], folder: Path | None) -> dict[str, Any]:
    """Look up the stacks named in ``[transport]`` and in levels of the factor ``transport``.

    Args:
        tables: the study's tables, changed in place.
        folder: folder that relative paths of programs start from; None for the working directory.

    Raises:
        KeyValueError: a stack that is not built on this machine.
    """
    for key, options in _options(tables):
        named = options.get("stack")
        try:
            if isinstance(named, str):
                options["stack"] = stack_table(named)
            elif isinstance(named, dict) and "interop" in named:
                # A table that was looked up before has a manifest's keys in place of `interop`.
                options["stack"] = _interop_table(named, folder or Path())
        except InputError as error:
            raise KeyValueError(f"{key}.stack", None, str(error)) from None
    return tables


def _interop_table(named: dict[str, Any], folder: Path) -> dict[str, Any]:
    if not isinstance(named["interop"], str):
        return named
    unknown = set(named) - INTEROP_KEYS
    if unknown or not all(isinstance(value, str) for value in named.values()):
        raise InputError(
            'write { interop = "PROGRAM" }, with a name and a version (texts) if there are any'
        )
    return interop_stack(named.pop("interop"), folder, **named).model_dump(mode="json")


def _options(tables: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Give every table of transport options in a study, with its dotted key."""
    transport = tables.get("transport")
    if isinstance(transport, dict):
        yield "transport", transport
        for kind in TRANSPORTS:
            if isinstance(transport.get(kind), dict):
                yield f"transport.{kind}", transport[kind]
    workloads = tables.get("workload")
    for index, workload in enumerate(workloads if isinstance(workloads, list) else ()):
        if isinstance(workload, dict) and isinstance(workload.get("transport"), dict):
            yield f"workload.{index}.transport", workload["transport"]
    factors = tables.get("factors")
    for key, levels in factors.items() if isinstance(factors, dict) else ():
        is_transport = key == "transport" or (key[:9] == "workload." and key[-10:] == ".transport")
        for level in levels if is_transport and isinstance(levels, list) else []:
            if isinstance(level, dict):
                yield factor_key(key), level
