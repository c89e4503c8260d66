"""Opens a backend by its name on the command line or in a study."""

from __future__ import annotations

from collections.abc import Sequence
from pkgutil import resolve_name
from typing import TYPE_CHECKING, cast

from netwarp import plugins
from netwarp.backend_table import BACKENDS
from netwarp.errors import InputError

if TYPE_CHECKING:
    from netwarp.backends.base import Backend, NamedBackend
    from netwarp.backends.watch import Bounds


def backend_class(name: str) -> type[NamedBackend]:
    """Import and return the class of a backend; `name` is one of `backend_names`."""
    row = BACKENDS.get(name)
    found = resolve_name(row.place) if row is not None else plugins.load("backends", name)
    return cast("type[NamedBackend]", found)


def backend_names() -> Sequence[str]:
    """Return the names of netwarp's backends, then of those that packages add."""
    return [*BACKENDS, *(name for name in plugins.added("backends") if name not in BACKENDS)]


def open_backend(name: str, bounds: Bounds) -> Backend:
    """Open a backend by its text on the command line, such as `native` or `remote:HOST:PORT`.

    Raises:
        InputError: there is no such backend.
        BackendError: the backend cannot be opened on this machine.
    """
    kind, _, argument = name.partition(":")
    if kind not in backend_names() or bool(argument) != (_argument(kind) is not None):
        *others, last = (f"`{_usage(each)}`" for each in backend_names())
        raise InputError(
            f"--backend {name}: no such backend; there are {', '.join(others)} and {last}"
        )
    return backend_class(kind).opened(argument, bounds)


def _argument(name: str) -> str | None:
    """Return what must follow a backend's name on the command line, such as HOST:PORT; None if
    nothing may.
    """
    if name in BACKENDS:
        return BACKENDS[name].argument
    argument: str | None = getattr(backend_class(name), "argument", None)
    return argument


def _usage(name: str) -> str:
    argument = _argument(name)
    return name if argument is None else f"{name}:{argument}"
