"""Connects to a Dask cluster, or starts one of a few processes on this machine."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from ipaddress import ip_address
from typing import TYPE_CHECKING

from netwarp.errors import BackendError

try:
    import dask
    from distributed import Client, LocalCluster, Security
except ImportError:
    raise BackendError(
        "runs on a cluster need Dask: `pip install 'netwarp[cluster]'`, here and on the workers"
    ) from None

from netwarp.execution.cluster import local_worker
from netwarp.execution.cluster.coordinator import DaskExecutor
from netwarp.execution.cluster.handed_in import GUEST

if TYPE_CHECKING:
    from netwarp.execution.executor import Executor

CONNECT_S = 10
# Tasks' results are bytes; what would have to be unpickled is refused.
PLAIN_DATA = ["dask", "msgpack"]
# What Dask's processes do beside their tasks: by default they look at themselves up to a hundred
# times a second, for a dashboard that is not there.
SELDOM_DISTURBED = {
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
                f"--executor dask://{address}: no scheduler answers there ({error}): start one,"
                " `dask scheduler`, or mend the address"
            ) from None
        with client:
            yield DaskExecutor(client, f"dask://{address}")


@contextmanager
def local_cluster(workers: int | None) -> Iterator[Executor]:
    """Start a scheduler and workers of one guest each on this machine, for as long as it takes.

    Args:
        workers: how many; None for one per CPU.
    """
    count = workers or len(os.sched_getaffinity(0))
    with (
        _quiet(),
        dask.config.set(SELDOM_DISTURBED),
        LocalCluster(
            n_workers=count,
            threads_per_worker=1,
            processes=True,
            security=True,
            dashboard_address=None,
            worker_dashboard_address=None,
            resources={GUEST: 1},
            preload=[local_worker.__name__],
            silence_logs=logging.CRITICAL,
        ) as cluster,
        Client(
            cluster.scheduler_address,
            security=cluster.security,
            serializers=PLAIN_DATA,
            deserializers=PLAIN_DATA,
            set_as_default=False,
        ) as client,
    ):
        yield DaskExecutor(client, f"dask-local:{count}")


@contextmanager
def _quiet() -> Iterator[None]:
    """Keep Dask's log off the terminal: what matters of it is raised, or a run's reason."""
    logger = logging.getLogger("distributed")
    level = logger.level
    logger.setLevel(logging.CRITICAL + 1)
    try:
        yield
    finally:
        logger.setLevel(level)


def _is_this_machine(address: str) -> bool:
    host = address.rpartition(":")[0].strip("[]")
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
