"""Connects to a Dask cluster, or starts one of a few processes on this machine."""

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from ipaddress import ip_address

from netwarp.errors import BackendError

try:
    import dask
    from distributed import Client, LocalCluster, Security
except ImportError:
    raise BackendError(
        "runs on a cluster need Dask: `pip install distributed cryptography`, here and on the"
        " workers"
    ) from None

from netwarp.execution.cluster import local_worker
from netwarp.execution.cluster.coordinator import DaskExecutor
from netwarp.execution.cluster.workers import GUEST
from netwarp.execution.executor import Executor

CONNECT_S = 10
# Tasks' results are bytes; what would have to be unpickled is refused.
PLAIN_DATA = ["msgpack"]
ANY_LOOPBACK_PORT = "127.0.0.1:0"
# Settings that disable what Dask's processes do beside their tasks: by default they sample
# themselves up to a hundred times a second for a dashboard, and report over HTTP, which nobody
# reads here.
WITHOUT_DASHBOARD = {
    "distributed.scheduler.http.routes": [],
    "distributed.worker.http.routes": [],
    "distributed.worker.profile.enabled": False,
    "distributed.worker.memory.monitor-interval": "1s",
    "distributed.admin.tick.interval": "1s",
    "distributed.admin.system-monitor.interval": "10s",
}


@contextmanager
def connect(address: str, *, insecure: bool) -> Iterator[Executor]:
    """Connect to a Dask scheduler.

    Anybody who reaches a scheduler can run any program on its workers, and send pickled errors to
    its clients: Dask trusts all participants. So beyond this machine, TLS with certificates on both
    sides is required, as set in Dask's configuration.

    Args:
        address: the scheduler's `HOST:PORT`.
        insecure: whether to connect without TLS, for a network without strangers.

    Raises:
        BackendError: no scheduler answers, or TLS is not configured.
    """
    security = Security()
    has_tls = bool(security.tls_client_cert)
    if not (has_tls or insecure or _is_this_machine(address)):
        raise BackendError(
            f"--executor dask://{address}: without TLS whoever reaches the scheduler can run"
            " programs on its workers and here: set distributed.comm.tls in Dask's configuration,"
            f" or write dask+insecure://{address} in a network without strangers"
        )
    name = f"dask{'+insecure' if insecure else ''}://{address}"
    url = f"{'tls' if has_tls and not insecure else 'tcp'}://{address}"
    with _quiet():
        try:
            client = Client(
                url,
                security=security,
                timeout=CONNECT_S,
                serializers=PLAIN_DATA,
                deserializers=PLAIN_DATA,
                set_as_default=False,
            )
        except (OSError, TimeoutError, ValueError) as error:
            raise BackendError(
                f"--executor {name}: no scheduler answers there ({error}): start one,"
                " `dask scheduler`, or mend the address"
            ) from None
        with client:
            yield DaskExecutor(client, name)


@contextmanager
def local_cluster(workers: int | None) -> Iterator[Executor]:
    """Context manager: start a scheduler and workers on this machine, each of which runs one guest;
    they end with the context.

    Args:
        workers: the number of workers; None for one per CPU.
    """
    count = workers or len(os.sched_getaffinity(0))
    with (
        _quiet(),
        dask.config.set(WITHOUT_DASHBOARD),
        _started(count) as cluster,
        Client(
            cluster.scheduler_address,
            security=cluster.security,
            serializers=PLAIN_DATA,
            deserializers=PLAIN_DATA,
            set_as_default=False,
        ) as client,
    ):
        yield DaskExecutor(client, f"dask-local:{count}")


def _started(workers: int) -> LocalCluster:
    """Return a started cluster on this machine: a scheduler, and workers with one process and one
    guest each.
    """
    try:
        with _silent_tracker():
            return LocalCluster(
                n_workers=workers,
                threads_per_worker=1,
                processes=True,
                security=True,
                dashboard_address=ANY_LOOPBACK_PORT,
                worker_dashboard_address=ANY_LOOPBACK_PORT,
                scheduler_kwargs={"dashboard": False},
                resources={GUEST: 1},
                preload=[local_worker.__name__],
                silence_logs=logging.CRITICAL,
            )
    except (OSError, RuntimeError) as error:
        raise BackendError(
            f"--executor dask-local:{workers}: its workers do not start ({error}): in a program of"
            ' your own, what starts them stands under `if __name__ == "__main__":`; else see'
            " whether memory and processes suffice (`ulimit -a`)"
        ) from None


@contextmanager
def _silent_tracker() -> Iterator[None]:
    """Suppress the warnings of Python's tracker of semaphores, a process that removes semaphores
    that are left after Ctrl-C or a kill. They are of no use to the user.
    """
    before = os.environ.get("PYTHONWARNINGS")
    own = "ignore:resource_tracker:UserWarning"
    os.environ["PYTHONWARNINGS"] = own if before is None else f"{before},{own}"
    try:
        yield
    finally:
        if before is None:
            del os.environ["PYTHONWARNINGS"]
        else:
            os.environ["PYTHONWARNINGS"] = before


@contextmanager
def _quiet() -> Iterator[None]:
    """Prevent Dask from logging to the terminal: its errors are raised, or are reported as the
    reason why a run failed.

    Dask attaches a handler to each of several loggers (`logging` in its configuration).
    """
    loggers = [
        logging.getLogger(name)
        for name in {"distributed", *logging.root.manager.loggerDict}
        if name.partition(".")[0] in ("distributed", "tornado")
    ]
    handlers = [logger.handlers for logger in loggers]
    for logger in loggers:
        logger.handlers = [logging.NullHandler()]
    try:
        yield
    finally:
        for logger, before in zip(loggers, handlers, strict=True):
            logger.handlers = before


def _is_this_machine(address: str) -> bool:
    host = address.rpartition(":")[0].strip("[]")
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
