"""The batches of runs that were sent to a cluster: under way, finished, or lost."""

import contextlib
import json
import queue
import uuid
from collections.abc import Sequence
from concurrent.futures import CancelledError
from dataclasses import dataclass

from distributed import Client, Future

from netwarp.errors import NetwarpError, one_line
from netwarp.execution.cluster import worker
from netwarp.execution.cluster.message import FinishedRun, MessageError, Refused, unpack
from netwarp.execution.cluster.programs import Programs
from netwarp.execution.cluster.workers import GUEST, guests_of
from netwarp.execution.local import SIGNALS_EVERY_S
from netwarp.plan import PlannedRun

ANSWER_S = 60.0
NO_WORKER_S = 30.0
SCHEDULER_GONE = (
    "the connection to the scheduler is lost: what had finished is kept, and the same command goes"
    " on from there"
)
WORKERS_GONE = (
    "all workers are gone and none has come back: what had finished is kept, and the same command"
    " goes on from there once there are some"
)


@dataclass(frozen=True)
class Lost:
    """A batch that the cluster has given up, or for which a worker returned no valid message."""

    reason: str


class HandedIn:
    """The batches that were sent to the cluster and have not ended yet."""

    def __init__(self, client: Client, programs: Programs, stall_cpu_s: float) -> None:
        self.batches: dict[str, tuple[Sequence[PlannedRun], Future]] = {}
        """The runs and the future of each batch, by Dask's key."""
        self._execution = uuid.uuid4().hex
        self._client = client
        self._programs = json.dumps(programs.to_json())
        self._stall_cpu_s = stall_cpu_s
        self._ended: queue.SimpleQueue[Future] = queue.SimpleQueue()

    def add(self, runs: Sequence[PlannedRun], workers: list[str] | None) -> None:
        """Send a batch to one of these workers or, if these are gone, to any other."""
        future = self._client.submit(
            worker.run_here,
            self._execution,
            "".join(run.job_json for run in runs),
            self._programs,
            self._stall_cpu_s,
            key=f"netwarp-{runs[0].run}-{uuid.uuid4().hex}",
            resources={GUEST: 1},
            workers=workers,
            allow_other_workers=workers is not None,
        )
        self.batches[future.key] = runs, future
        future.add_done_callback(self._ended.put)

    def next_ended(self) -> tuple[Sequence[PlannedRun], list[FinishedRun] | Refused | Lost]:
        """Wait until a batch ends.

        Returns:
            The batch's runs, and the results of the first of them. Runs without a result were not
                begun, or their results were lost with the worker.

        Raises:
            NetwarpError: the scheduler is gone, or all workers are gone and none has joined for a
                while.
        """
        while (future := self._wait()) is None:
            if not guests_of(self._client):
                raise NetwarpError(WORKERS_GONE)
        runs, _ = self.batches.pop(future.key)
        try:
            if future.status == "error":
                return runs, Lost(f"it was lost on the cluster: {future.exception()}")
            return runs, unpack(future.result(timeout=ANSWER_S), len(runs))
        except MessageError as error:
            return runs, Lost(str(error))
        except (CancelledError, OSError, TimeoutError):
            if self._client.status != "running":
                raise NetwarpError(SCHEDULER_GONE) from None
            return runs, []
        except Exception as error:  # noqa: BLE001 - whatever a worker makes Dask stumble over
            kind = type(error).__name__
            return runs, Lost(f"the worker's answer cannot be read: {kind}: {one_line(str(error))}")

    def give_up(self) -> None:
        """End all runs in the cluster, and remove them from the workers."""
        with contextlib.suppress(OSError, TimeoutError, RuntimeError):
            self._client.run(worker.stop_here, self._execution, on_error="ignore")
            self._client.cancel([future for _, future in self.batches.values()])

    def _wait(self) -> Future | None:
        """Wait until a future ends, and return it; None if none has ended for a while.

        Ctrl-C interrupts it, see :mod:`netwarp.execution.local`.
        """
        for _ in range(int(NO_WORKER_S / SIGNALS_EVERY_S)):
            with contextlib.suppress(queue.Empty):
                return self._ended.get(timeout=SIGNALS_EVERY_S)
            if self._client.status != "running":
                raise NetwarpError(SCHEDULER_GONE)
        return None
