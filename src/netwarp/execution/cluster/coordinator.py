"""Carries runs out on the workers of a Dask cluster."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from netwarp.backends.virtual import VirtualBackend
from netwarp.errors import BackendError
from netwarp.execution.cluster import worker
from netwarp.execution.cluster.batches import BATCHES_FOR_EACH_GUEST, Waiting
from netwarp.execution.cluster.handed_in import ANSWER_S, HandedIn, Lost, guests_of
from netwarp.execution.cluster.message import FinishedRun, Refused, lost_run
from netwarp.execution.cluster.programs import Programs, programs_of

if TYPE_CHECKING:
    from distributed import Client, Future

    from netwarp.backends.base import Backend
    from netwarp.execution.executor import Keeper
    from netwarp.plan import PlannedRun

HOW_TO_START = (
    "`dask worker SCHEDULER --nthreads 2 --resources guest=2` beside an installed netwarp"
)


class DaskExecutor:
    """Hands runs to workers that declare the resource `guest`, and keeps what they send back.

    A worker that dies loses nothing: its runs are done again elsewhere (three times, as Dask's
    `distributed.scheduler.allowed-failures` says; then each once more alone, and it has failed).

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
        """Hand runs in, in the plan's order and in batches, and keep each.

        Dask gives a batch up whose workers died, and those that waited behind it. So the runs of
        such batches are tried once more at the end, one at a time: one that is lost then has
        killed its worker itself, and has failed.

        Raises:
            NetwarpError: the scheduler is gone, or no worker is left that can carry runs out.
        """
        virtual = self._virtual(backend)
        handed_in = HandedIn(self._client, programs_of(virtual), virtual.bounds.stall_cpu_s)
        try:
            for suspect, _ in self._carry_out(pending, handed_in, keeper):
                for run, reason in self._carry_out([suspect], handed_in, keeper):
                    _keep(run, lost_run(run.job_json, reason), keeper)
        finally:
            handed_in.give_up()

    def _carry_out(
        self, runs: Sequence[PlannedRun], handed_in: HandedIn, keeper: Keeper
    ) -> list[tuple[PlannedRun, str]]:
        """Hand runs in and keep each; give those that were lost, with the reason."""
        waiting = Waiting(runs, keeper.goes_on)
        lost: list[tuple[PlannedRun, str]] = []
        guests = left_of_round = 0
        while True:
            if left_of_round == 0:  # asking for the workers takes as long as handing in a batch
                guests = left_of_round = max(1, sum(guests_of(self._client).values()))
            self._hand_in(waiting, handed_in, guests)
            if not handed_in.batches:
                return lost
            batch, answer = handed_in.next_ended()
            left_of_round -= 1
            if isinstance(answer, Lost):
                lost += [(run, answer.reason) for run in batch]
            elif isinstance(answer, Refused):
                self._unable[answer.worker] = answer.reason
                waiting.put_back(batch)
            else:
                waiting.put_back(batch[len(answer) :])
                for run, finished in zip(batch, answer, strict=False):
                    _keep(run, finished, keeper)

    def _hand_in(self, waiting: Waiting, handed_in: HandedIn, guests: int) -> None:
        """Give the cluster as many batches as keep all its guests at work."""
        while len(handed_in.batches) < BATCHES_FOR_EACH_GUEST * guests:
            batch = waiting.take(guests)
            if not batch:
                return
            handed_in.add(batch, self._preferred())

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


def _keep(run: PlannedRun, finished: FinishedRun, keeper: Keeper) -> None:
    finished.write_files(keeper.begin(run))
    keeper.finish(run, finished.outcome)


def _refusal(here: Programs, answer: Future) -> str | None:
    """Say why a worker cannot do what this machine can; None when it can."""
    try:
        there = json.loads(answer.result(timeout=ANSWER_S))
    except Exception as error:  # noqa: BLE001 - whatever a worker without netwarp raises
        return f"netwarp does not work there ({error}): install the same one on both machines"
    if "missing" in there:
        return str(there["missing"])
    return here.difference(Programs(**there))
