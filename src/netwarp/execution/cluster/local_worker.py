"""What Dask loads into each worker of a cluster on this machine, before it takes tasks."""

import signal


def dask_setup(worker: object) -> None:
    """Leave Ctrl-C, which a terminal sends to all processes, to the one that started the workers.

    Dask calls a function of this name (`distributed.worker.preload`).
    """
    del worker
    signal.signal(signal.SIGINT, signal.SIG_IGN)
