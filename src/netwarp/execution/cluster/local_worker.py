"""The module that Dask loads into each worker of a cluster on this machine before it accepts
tasks.
"""

import signal


def dask_setup(worker: object) -> None:
    """Make this worker ignore Ctrl-C, which a terminal sends to all processes: the process that
    started the workers handles it.

    Dask calls a function of this name (`distributed.worker.preload`).
    """
    del worker
    signal.signal(signal.SIGINT, signal.SIG_IGN)
