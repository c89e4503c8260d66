"""The backends by name: a row is a value of `--backend`, its part of the help, and its class."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class BackendName:
    """A backend that the command line and studies open by its name."""

    place: str
    """Module and class, as `pkgutil.resolve_name` takes them."""
    meaning: str
    """Where runs go, in the help of `--backend`."""
    argument: str | None = None
    """What follows the name on the command line, such as the ``DIR`` of ``replay:DIR``, if anything
    does. A study cannot name such a backend."""


BACKENDS: Mapping[str, BackendName] = {
    "virtual": BackendName("netwarp.backends.virtual:VirtualBackend", "a guest in virtual time"),
    "native": BackendName(
        "netwarp.backends.native:NativeBackend", "this host's own kernel, in real time"
    ),
    "remote": BackendName(
        "netwarp.backends.remote.backend:RemoteBackend",
        "this host's kernel and that of HOST, where `netwarp serve` listens at PORT",
        "HOST:PORT",
    ),
    "replay": BackendName("netwarp.backends.replay:ReplayBackend", "what DIR recorded", "DIR"),
}
"""All of them; the one that studies have by default comes first.

A class is imported when it is asked for: a run needs one of them, and what the remote one imports
takes a tenth of the time in which a table is printed.
"""
OF_STUDIES = tuple(name for name, backend in BACKENDS.items() if backend.argument is None)
"""Those that a study can name."""
