"""Opens an executor by its name on the command line."""

import re
from contextlib import AbstractContextManager, nullcontext

from netwarp.errors import InputError
from netwarp.execution.executor import Executor
from netwarp.execution.local import LocalExecutor

LOCAL = "local"
MOST_PORT = 65535


def open_executor(name: str = LOCAL, jobs: int | None = None) -> AbstractContextManager[Executor]:
    """Open an executor by its name; it is closed when the context ends.

    Args:
        name: `local`, `dask-local:N`, `dask://HOST:PORT` or `dask+insecure://HOST:PORT`.
        jobs: number of runs at a time, for `local`; None for one per CPU.

    Raises:
        InputError: there is no such executor, or it does not accept `jobs`.
        BackendError: Dask is not installed; or, on entering the context, the cluster cannot be
            reached or lacks something.
    """
    if name == LOCAL:
        return nullcontext(LocalExecutor(jobs))
    if jobs is not None:
        raise InputError(
            f"--jobs {jobs}: with --executor {name} the workers say how many guests go at a time;"
            " leave it away"
        )
    if match := re.fullmatch(r"dask-local(?::([1-9]\d{0,2}))?", name, re.ASCII):
        from netwarp.execution.cluster.connection import local_cluster

        return local_cluster(int(match[1]) if match[1] else None)
    if match := re.fullmatch(r"dask(\+insecure)?://([^/\s]+:(\d{1,5}))", name, re.ASCII):
        if not 0 < int(match[3]) <= MOST_PORT:
            raise InputError(f"--executor {name}: a port is a number from 1 to {MOST_PORT}")
        from netwarp.execution.cluster.connection import connect

        return connect(match[2], insecure=match[1] is not None)
    raise InputError(
        f"--executor {name}: no such executor; there are `{LOCAL}`, `dask-local:N` and"
        " `dask://HOST:PORT`"
    )
