"""Carries runs out on the workers of a Dask cluster."""

from collections.abc import Mapping, Sequence

from distributed import Client

from netwarp.backends.base import Backend
from netwarp.backends.virtual import VirtualBackend
from netwarp.errors import BackendError
from netwarp.execution.cluster.batches import BATCHES_FOR_EACH_GUEST, Waiting
from netwarp.execution.cluster.handed_in import HandedIn, Lost
from netwarp.execution.cluster.message import FinishedRun, Refused, lost_run
from netwarp.execution.cluster.programs import programs_of
from netwarp.execution.cluster.workers import Workers, guests_of
from netwarp.execution.executor import Keeper
from netwarp.plan import PlannedRun

HOW_TO_START = (
    "`dask worker SCHEDULER --nthreads 2 --resources guest=2` beside an installed netwarp"
)


class DaskExecutor:
    """Sends runs to workers that declare the resource `guest`, and stores the results.

    If a worker dies, its runs are repeated on another one, up to three times (Dask's
    `distributed.scheduler.allowed-failures`), and then once more, each alone, before a run counts
    as failed.

    Args:
        client: a connected client that accepts only plain data from workers.
        address: the scheduler's address, in the form that the user gave.
    """

    name = "dask"

    def __init__(self, client: Client, address: str) -> None:
        self._client = client
        self._address = address

    def at_a_time(self, backend: Backend) -> int:
        """Return the number of guests that all workers together can run.

        Raises:
            BackendError: there is no worker with guests, or the backend does not use guests.
        """
        self._require_virtual(backend)
        guests = sum(guests_of(self._client).values())
        if guests == 0:
            raise BackendError(
                f"--executor {self._address}: the scheduler has no worker that declares guests:"
                f" start some, {HOW_TO_START}"
            )
        return guests

    def check(self, backend: Backend, runs: int) -> None:
        """Check that at least one worker has the same programs as this machine.

        Raises:
            BackendError: no worker has them; the message says which program differs on one of the
                workers.
        """
        Workers(self._client, programs_of(self._require_virtual(backend))).able()

    def run_all(self, pending: Sequence[PlannedRun], backend: Backend, keeper: Keeper) -> None:
        """Send runs to workers in the plan's order and in batches, and store each result.

        Dask gives up a batch whose workers died several times, and batches that waited for these
        workers. So runs of such batches are tried once more at the end, one at a time. A run that
        is then lost has killed its worker itself, and counts as failed.

        Raises:
            NetwarpError: the scheduler is gone, or no worker is left that can carry out runs.
        """
        virtual = self._require_virtual(backend)
        named = next((name for run in pending if (name := run.cell.template.kernel)), None)
        if named is not None:
            raise BackendError(
                f"--executor {self._address}: workers are held against this machine's default"
                f" kernel alone, and the study names kernel {named}: leave --executor away, or make"
                f" it the default here and there (`netwarp kernel default {named}`)"
            )
        programs = programs_of(virtual)
        workers = Workers(self._client, programs)
        handed_in = HandedIn(self._client, programs, virtual.bounds.stall_cpu_s)
        try:
            for suspect, _ in _run_all(pending, handed_in, workers, keeper):
                for run, reason in _run_all([suspect], handed_in, workers, keeper):
                    _keep(run, lost_run(run.job_json, reason), keeper)
        finally:
            handed_in.give_up()

    def _require_virtual(self, backend: Backend) -> VirtualBackend:
        """Return the backend if a cluster can carry out its runs; else raise BackendError."""
        if isinstance(backend, VirtualBackend):
            return backend
        raise BackendError(
            f"--executor {self._address}: runs of the {backend.name} backend stay on this"
            " machine; leave --executor away, or use --backend virtual"
        )


def _run_all(
    runs: Sequence[PlannedRun], handed_in: HandedIn, workers: Workers, keeper: Keeper
) -> list[tuple[PlannedRun, str]]:
    """Send runs to workers and store each result; return the runs that were lost, with the
    reason.
    """
    waiting = Waiting(runs, keeper.goes_on)
    lost: list[tuple[PlannedRun, str]] = []
    able: dict[str, int] = {}
    left_of_round = 0
    while True:
        if left_of_round == 0:  # asking for the list of workers takes as long as sending a batch
            able = workers.able()
            left_of_round = max(1, sum(able.values()))
        _hand_in(waiting, handed_in, able, others=not workers.has_unable)
        if not handed_in.batches:
            return lost
        batch, answer = handed_in.next_ended()
        left_of_round -= 1
        if isinstance(answer, Lost):
            lost += [(run, answer.reason) for run in batch]
        elif isinstance(answer, Refused):
            workers.refused(answer.worker, answer.reason)
            waiting.put_back(batch)
            left_of_round = 0
        else:
            waiting.put_back(batch[len(answer) :])
            for run, finished in zip(batch, answer, strict=False):
                _keep(run, finished, keeper)


def _hand_in(
    waiting: Waiting, handed_in: HandedIn, able: Mapping[str, int], *, others: bool
) -> None:
    """Send batches to the cluster, as many as keep all its guests busy.

    Args:
        waiting: the runs that have not been sent.
        handed_in: the batches that were sent, to which this function adds.
        able: number of guests by worker, for the workers that can carry out runs.
        others: whether Dask may move the batches to other workers as well.
    """
    guests = max(1, sum(able.values()))
    while len(handed_in.batches) < BATCHES_FOR_EACH_GUEST * guests:
        batch = waiting.take(guests)
        if not batch:
            return
        handed_in.add(batch, None if others or not able else list(able))


def _keep(run: PlannedRun, finished: FinishedRun, keeper: Keeper) -> None:
    finished.write_files(keeper.begin(run))
    keeper.finish(run, finished.outcome)
