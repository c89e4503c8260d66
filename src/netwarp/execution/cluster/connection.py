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
PLAIN_DATA = ["dask", "msgpack"]
ANY_LOOPBACK_PORT = "127.0.0.1:0"
# What Dask's processes do beside their tasks: by default they look at themselves up to a hundred
# times a second, for a dashboard, and tell of themselves over HTTP. Here nobody asks.
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
    """Connect to a scheduler.

    Who reaches a scheduler can run any program on its workers, and sends pickled errors to its
    clients: Dask trusts all who take part. So beyond this machine there has to be TLS with
    certificates on both sides, as Dask's configuration has it.

    Args:
        address: of the scheduler, `HOST:PORT`.
        insecure: whether to do without TLS, in a network without strangers.

    Raises:
        BackendError: nobody answers, or there is no TLS.
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
    """Start a scheduler and workers of one guest each on this machine, for as long as it takes.

    Args:
        workers: how many; None for one per CPU.
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
    try:
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
def _quiet() -> Iterator[None]:
    """Keep Dask's log off the terminal: what matters of it is raised, or a run's reason.

    Dask gives several of its loggers a handler each (`logging` in its configuration).
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
