"""Opens a backend by the name that the command line and studies have for it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pkgutil import resolve_name
from typing import TYPE_CHECKING, cast

from netwarp import plugins
from netwarp.errors import InputError

if TYPE_CHECKING:
    from netwarp.backends.base import Backend, NamedBackend
    from netwarp.backends.watch import Bounds

BACKENDS: Mapping[str, str] = {
    "virtual": "netwarp.backends.virtual:VirtualBackend",
    "native": "netwarp.backends.native:NativeBackend",
    "remote": "netwarp.backends.remote.backend:RemoteBackend",
    "replay": "netwarp.backends.replay:ReplayBackend",
}
"""Where the class of each backend is, by name; the one that studies have by default comes first.

A class is imported when it is asked for: a run needs one of them, and what the remote one imports
takes a tenth of the time in which a table is printed.
"""


def backend_class(name: str) -> type[NamedBackend]:
    """Import the class of a backend, one of `backend_names`."""
    found = resolve_name(BACKENDS[name]) if name in BACKENDS else plugins.load("backends", name)
    return cast("type[NamedBackend]", found)


def backend_names() -> Sequence[str]:
    """Name netwarp's backends, then those that packages add."""
    return [*BACKENDS, *(name for name in plugins.added("backends") if name not in BACKENDS)]


def open_backend(name: str, bounds: Bounds) -> Backend:
    """Open a backend by the name that the command line has for it.

    Raises:
        InputError: no such backend.
        BackendError: it lacks something.
    """
    kind, _, argument = name.partition(":")
    is_known = kind in BACKENDS or kind in plugins.added("backends")
    backend = backend_class(kind) if is_known else None
    if backend is None or bool(argument) != (backend.argument is not None):
        *others, last = (f"`{_usage(backend_class(each))}`" for each in backend_names())
        raise InputError(
            f"--backend {name}: no such backend; there are {', '.join(others)} and {last}"
        )
    return backend.opened(argument, bounds)


def _usage(backend: type[NamedBackend]) -> str:
    return backend.name if backend.argument is None else f"{backend.name}:{backend.argument}"
