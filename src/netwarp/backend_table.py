"""The table of backends by name: the value of `--backend`, its text in the help, and the class that
implements it.
"""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class BackendName:
    """A backend that the command line and studies open by its name."""

    place: str
    """Module and class, in the form that `pkgutil.resolve_name` accepts."""
    meaning: str
    """Where runs are carried out, for the help of `--backend`."""
    argument: str | None = None
    """What must follow the name on the command line, such as the ``DIR`` of ``replay:DIR``; None if
    nothing may. A study cannot name a backend that takes an argument.
    """


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
"""All backends; the first one is the default of studies.

A class is imported only when its backend is opened: a run needs one backend, and importing the
remote one takes a tenth of the time needed to print a table.
"""
OF_STUDIES = tuple(name for name, backend in BACKENDS.items() if backend.argument is None)
"""The backends that a study file can name."""
