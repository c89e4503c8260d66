"""Opens the backend that a call or command names."""

from collections.abc import Sequence

from netwarp.backends.base import Backend
from netwarp.backends.registry import open_backend
from netwarp.backends.watch import Bounds
from netwarp.errors import InputError
from netwarp.plan.without import needs_ns3
from netwarp.study import Study


def backend_for(
    study: Study, backend: str | Backend | None = None, filters: Sequence[str] = ()
) -> Backend:
    """Open the backend on which a study is run.

    Args:
        study: the study, which has been validated.
        backend: see :func:`run`.
        filters: ``FACTOR=LEVEL`` each: the cells that are wanted; ns-3 is opened only if one of
            these cells uses it.

    Raises:
        StudyError: a filter selects nothing.
        InputError: there is no such backend.
        BackendError: the backend cannot be opened on this machine.
    """
    if backend is not None and not isinstance(backend, str):
        return backend
    opened = open_backend(backend or study.backend, bounds_of(study))
    if not needs_ns3(study, filters):
        return opened
    from netwarp.backends.ns3 import Ns3Backend, WithNs3

    return WithNs3(opened, Ns3Backend())


def bounds_of(study: Study) -> Bounds:
    """Return the bounds of a study's runs, such as CPU time without progress; a run that exceeds
    one is killed.

    All cells use the same backend, so the largest limit of a cell is that of all.
    """
    return Bounds(stall_cpu_s=max(cell.sections.limits.stall_cpu_s for cell in study.cells))


def backend_at(backend: str | Backend | None, server: str | None) -> str | Backend | None:
    """Return the text that opens the backend: the value of `--backend`, with the value of
    `--server` added.

    Raises:
        InputError: one of them is given without the other.
    """
    if backend == "remote":
        if server is None:
            raise InputError(
                "--backend remote: where is the server? Give --server HOST:PORT, as `netwarp serve`"
                " says on that host"
            )
        return f"remote:{server}"
    if server is not None:
        raise InputError(f"--server {server}: only --backend remote has a server; add it")
    return backend
