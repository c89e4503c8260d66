"""Opens a backend by the name that the command line and studies have for it."""

from __future__ import annotations

from pathlib import Path

from netwarp.backends.base import Backend
from netwarp.backends.native import NativeBackend
from netwarp.backends.replay import ReplayBackend
from netwarp.backends.virtual import VirtualBackend
from netwarp.backends.watch import Bounds
from netwarp.errors import InputError


def open_backend(name: str, bounds: Bounds) -> Backend:
    """Open a backend by the name the command line has for it.

    Raises:
        InputError: no such backend.
        BackendError: it lacks something.
    """
    kind, _, argument = name.partition(":")
    if kind == "virtual" and not argument:
        return VirtualBackend(bounds)
    if kind == "native" and not argument:
        return NativeBackend(bounds)
    if kind == "replay" and argument:
        return ReplayBackend(Path(argument))
    raise InputError(
        f"--backend {name}: no such backend; there are `virtual`, `native` and `replay:DIR`"
    )
