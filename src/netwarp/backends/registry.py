"""Opens a backend by the name that the command line and studies have for it."""

from __future__ import annotations

from collections.abc import Mapping

from netwarp.backends.base import Backend, NamedBackend
from netwarp.backends.native import NativeBackend
from netwarp.backends.remote.backend import RemoteBackend
from netwarp.backends.replay import ReplayBackend
from netwarp.backends.virtual import VirtualBackend
from netwarp.backends.watch import Bounds
from netwarp.errors import InputError

BACKENDS: Mapping[str, type[NamedBackend]] = {
    backend.name: backend
    for backend in (VirtualBackend, NativeBackend, RemoteBackend, ReplayBackend)
}
"""All backends by name, the one that studies have by default first."""


def open_backend(name: str, bounds: Bounds) -> Backend:
    """Open a backend by the name that the command line has for it.

    Raises:
        InputError: no such backend.
        BackendError: it lacks something.
    """
    kind, _, argument = name.partition(":")
    backend = BACKENDS.get(kind)
    if backend is None or bool(argument) != (backend.argument is not None):
        *others, last = (f"`{_usage(each)}`" for each in BACKENDS.values())
        raise InputError(
            f"--backend {name}: no such backend; there are {', '.join(others)} and {last}"
        )
    return backend.opened(argument, bounds)


def _usage(backend: type[NamedBackend]) -> str:
    return backend.name if backend.argument is None else f"{backend.name}:{backend.argument}"
