"""Carries runs out on the workers of a Dask cluster."""

from __future__ import annotations

import contextlib
import json
import queue
import uuid
from collections.abc import Mapping, Sequence
from concurrent.futures import CancelledError
from itertools import islice, takewhile
from typing import TYPE_CHECKING, Any

from netwarp.backends.virtual import VirtualBackend
from netwarp.errors import BackendError, NetwarpError, one_line
from netwarp.execution.cluster import worker
from netwarp.execution.cluster.message import FinishedRun, MessageError, Refused, unpack
from netwarp.execution.cluster.programs import Programs, programs_of
from netwarp.execution.outcome import Outcome
from netwarp.run_directory import JOB_FILE, Status

if TYPE_CHECKING:
    from distributed import Client, Future

    from netwarp.backends.base import Backend
    from netwarp.execution.executor import Keeper
    from netwarp.plan import PlannedRun

GUEST = "guest"
"""The resource that a worker declares: so many guests at a time."""
SIGNALS_EVERY_S = 0.2
ANSWER_S = 60.0
SCHEDULER_GONE = (
    "the connection to the scheduler is lost: what had finished is kept, and the same command goes"
    " on from there"
)
WORKERS_GONE = (
    "all workers are gone and none has come back: what had finished is kept, and the same command"
    " goes on from there once there are some"
)
NO_WORKER_S = 30.0
SUBMITTED_FOR_EACH_GUEST = 4
"""Runs handed in ahead, so that no worker waits for the next."""
HOW_TO_START = (
    "`dask worker SCHEDULER --nthreads 2 --resources guest=2` beside an installed netwarp"
)


class DaskExecutor:
    """Hands runs to workers that declare the resource `guest`, and keeps what they send back.

    A worker that dies loses nothing: its runs are done again elsewhere (three times, as Dask's
    `distributed.scheduler.allowed-failures` says; then the run has failed).

    Args:
        client: connected; takes nothing but plain data from workers.
        address: of its scheduler, as the user gave it.
    """

    name = "dask"

    def __init__(self, client: Client, address: str) -> None:
        self._client = client
        self._address = address
        self._unable: dict[str, str] = {}
        """Workers that cannot carry runs out, with the reason."""

    def at_a_time(self, backend: Backend) -> int:
        """Count the guests that all workers together have room for.

        Raises:
            BackendError: there is none, or runs are not of guests.
        """
        self._virtual(backend)
        guests = sum(guests_of(self._client).values())
        if guests == 0:
            raise BackendError(
                f"--executor {self._address}: the scheduler has no worker that declares guests:"
                f" start some, {HOW_TO_START}"
            )
        return guests

    def check(self, backend: Backend, runs: int) -> None:
        """See that at least one worker has the same programs as this machine.

        Raises:
            BackendError: none has; the message says what one of them lacks.
        """
        del runs
        here = programs_of(self._virtual(backend))
        answers = {
            address: self._client.submit(
                worker.programs_here, workers=[address], allow_other_workers=False, pure=False
            )
            for address in guests_of(self._client)
        }
        self._unable = {
            address: reason
            for address, answer in answers.items()
            if (reason := _refusal(here, answer)) is not None
        }
        self._require_able(guests_of(self._client))

    def run_all(self, pending: Sequence[PlannedRun], backend: Backend, keeper: Keeper) -> None:
        """Hand in runs in the plan's order, some more than there are guests, and keep each.

        Raises:
            NetwarpError: the scheduler is gone, or no worker is left that can carry runs out.
        """
        virtual = self._virtual(backend)
        handed_in = _HandedIn(self._client, programs_of(virtual), virtual.bounds.stall_cpu_s)
        left = takewhile(lambda _: keeper.goes_on(), pending)
        try:
            for run in islice(left, SUBMITTED_FOR_EACH_GUEST * self.at_a_time(backend)):
                handed_in.add(run, self._preferred())
            while handed_in.runs:
                run, message = handed_in.next_ended()
                if isinstance(message, Refused):
                    self._unable[message.worker] = message.reason
                if not isinstance(message, FinishedRun):
                    handed_in.add(run, self._preferred())
                    continue
                message.write_files(keeper.begin(run))
                keeper.finish(run, message.outcome)
                for following in islice(left, 1):
                    handed_in.add(following, self._preferred())
        finally:
            handed_in.give_up()

    def _preferred(self) -> list[str] | None:
        """List the workers that have not refused; None for any, when none has."""
        if not self._unable:
            return None
        guests = guests_of(self._client)
        self._require_able(guests)
        return [address for address in guests if address not in self._unable]

    def _require_able(self, guests: Mapping[str, int]) -> None:
        if guests and guests.keys() <= self._unable.keys():
            address, reason = next(iter(self._unable.items()))
            raise BackendError(f"no worker can carry runs out; {address}: {reason}")

    def _virtual(self, backend: Backend) -> VirtualBackend:
        if isinstance(backend, VirtualBackend):
            return backend
        raise BackendError(
            f"--executor {self._address}: runs of the {backend.name} backend stay on this"
            " machine; leave --executor away, or use --backend virtual"
        )


def guests_of(client: Client) -> dict[str, int]:
    """Count the guests that go side by side on each worker of a cluster, by its address."""
    workers: Mapping[str, Any] = client.scheduler_info(n_workers=-1)["workers"]
    guests = {
        address: min(int(each["resources"].get(GUEST, 0)), each["nthreads"])
        for address, each in workers.items()
    }
    return {address: number for address, number in guests.items() if number}


class _HandedIn:
    """The runs that were handed to the cluster and are not finished."""

    def __init__(self, client: Client, programs: Programs, stall_cpu_s: float) -> None:
        self.runs: dict[str, tuple[PlannedRun, Future]] = {}
        """By the key that the cluster has for it."""
        self._execution = uuid.uuid4().hex
        self._client = client
        self._programs = json.dumps(programs.to_json())
        self._stall_cpu_s = stall_cpu_s
        self._ended: queue.SimpleQueue[Future] = queue.SimpleQueue()

    def add(self, run: PlannedRun, workers: list[str] | None) -> None:
        """Hand in a run, to be carried out by one of these workers or, if they are gone, others."""
        future = self._client.submit(
            worker.run_here,
            self._execution,
            run.job_json,
            self._programs,
            self._stall_cpu_s,
            key=f"netwarp-{run.run}-{uuid.uuid4().hex}",
            resources={GUEST: 1},
            workers=workers,
            allow_other_workers=workers is not None,
        )
        self.runs[future.key] = run, future
        future.add_done_callback(self._ended.put)

    def next_ended(self) -> tuple[PlannedRun, FinishedRun | Refused | None]:
        """Wait for a run to end; None in place of a result that died with its worker.

        Raises:
            NetwarpError: the scheduler is gone, or all workers are and none has come for a while.
        """
        while (future := self._wait()) is None:
            if not guests_of(self._client):
                raise NetwarpError(WORKERS_GONE)
        run, _ = self.runs.pop(future.key)
        try:
            if future.status == "error":
                return run, _failed(run, f"it was lost on the cluster: {future.exception()}")
            return run, unpack(future.result(timeout=ANSWER_S))
        except MessageError as error:
            return run, _failed(run, str(error))
        except (CancelledError, OSError, TimeoutError):
            if self._client.status != "running":
                raise NetwarpError(SCHEDULER_GONE) from None
            return run, None

    def give_up(self) -> None:
        """End all runs under way, and let the workers forget them."""
        with contextlib.suppress(OSError, TimeoutError, RuntimeError):
            self._client.run(worker.stop_here, self._execution, on_error="ignore")
            self._client.cancel([future for _, future in self.runs.values()])

    def _wait(self) -> Future | None:
        """Wait for a future to end; None when none has for a while.

        Ctrl-C gets through: see :mod:`netwarp.execution.local`.
        """
        for _ in range(int(NO_WORKER_S / SIGNALS_EVERY_S)):
            with contextlib.suppress(queue.Empty):
                return self._ended.get(timeout=SIGNALS_EVERY_S)
            if self._client.status != "running":
                raise NetwarpError(SCHEDULER_GONE)
        return None


def _refusal(here: Programs, answer: Future) -> str | None:
    """Say why a worker cannot do what this machine can; None when it can."""
    try:
        there = json.loads(answer.result(timeout=ANSWER_S))
    except Exception as error:  # noqa: BLE001 - whatever a worker without netwarp raises
        return f"netwarp does not work there ({error}): install the same one on both machines"
    if "missing" in there:
        return str(there["missing"])
    return here.difference(Programs(**there))


def _failed(run: PlannedRun, reason: str) -> FinishedRun:
    status = Status("failed", one_line(reason), 0.0, 0.0, 0, 0.0)
    return FinishedRun({JOB_FILE: run.job_json.encode()}, Outcome(status, {}))
