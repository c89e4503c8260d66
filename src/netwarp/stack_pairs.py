"""Two implementations at the ends of one connection: a stack whose client is of another
implementation.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from netwarp.errors import InputError
from netwarp.stacks import Stack, find_stack, interop_stack

ENDS = frozenset({"client", "server"})
INTEROP_KEYS = frozenset({"interop", "name", "version"})


def named_stack(named: object, folder: Path, environ: Mapping[str, str] = os.environ) -> Stack:
    """Return the stack that a study names: by its name, as a program with the interface of the QUIC
    interop runner, or as a table with one of these for each end.

    Args:
        named: the name, or the table.
        folder: the study's folder, to which relative paths belong.
        environ: environment variables, which determine where stacks are looked for.

    Raises:
        InputError: there is no such stack, or the two cannot communicate.
    """
    if isinstance(named, str):
        return find_stack(named, environ)
    if isinstance(named, dict) and set(named) == ENDS:
        ends = {end: named_stack(each, folder, environ) for end, each in named.items()}
        return paired(client=ends["client"], server=ends["server"])
    if (
        not isinstance(named, dict)
        or "interop" not in named
        or set(named) - INTEROP_KEYS
        or not all(isinstance(value, str) for value in named.values())
    ):
        raise InputError(
            'write the name of a stack, { interop = "PROGRAM" }, with a name and a version (texts)'
            " if there are any, or { client = …, server = … } with one of these for each end"
        )
    return interop_stack(
        named["interop"],
        folder,
        name=named.get("name"),
        version=named.get("version"),
        environ=environ,
    )


def paired(*, client: Stack, server: Stack) -> Stack:
    """Return the stack of a connection between two implementations: the server's, with the client's
    at the other end.

    It supports what both support. If a study names no congestion control, each end has its own
    default.

    Raises:
        InputError: the two cannot be the ends of a connection.
    """
    for each in (client, server):
        if each.client is not None:
            raise InputError(f"{each.name} has two ends itself: name one stack for each end")
    if client.contract != server.contract:
        roles, other = (server, client) if client.decides_alone else (client, server)
        raise InputError(
            f"{roles.name} speaks the role protocol and {other.name} keeps the interop runner's"
            f' contract: write {{ interop = "{roles.name}" }} if it keeps that as well'
        )
    workloads = _common(client.workloads, server.workloads)
    if not workloads:
        raise InputError(f"{client.name} and {server.name} carry no workload that both know")
    return server.model_copy(
        update={
            "client": client,
            "workloads": workloads,
            "chunks": client.chunks and server.chunks,
            "resume": _common(client.resume, server.resume),
            "paced": client.paced and server.paced,
            "congestion": _congestion(client, server),
            "behaviour": _of_both(client, server, "behaviour"),
            "treatment": _of_both(client, server, "treatment"),
        }
    )


def _congestion(client: Stack, server: Stack) -> tuple[str, ...]:
    """Return the congestion controls: the server's default, then those that both stacks have."""
    of_both = _common(server.congestion, client.congestion)
    return tuple(dict.fromkeys((server.congestion[0], *of_both)))


def _common(one: tuple[Any, ...], other: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(each for each in one if each in other)


def _of_both(client: Stack, server: Stack, name: str) -> dict[str, str]:
    """Return the texts of both stacks by setting: one text if they are equal, else both, each with
    its end.
    """
    of_client, of_server = getattr(client, name), getattr(server, name)
    texts = {}
    for setting in (*of_server, *(each for each in of_client if each not in of_server)):
        ends = (("client", of_client.get(setting)), ("server", of_server.get(setting)))
        of_ends = "; ".join(f"{end}: {text}" for end, text in ends if text is not None)
        same = of_client.get(setting) == of_server.get(setting)
        texts[setting] = of_server[setting] if same else of_ends
    return texts
