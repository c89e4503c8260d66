"""The functions that run in a Dask worker: they receive jobs and return the files of their runs.

These functions are called as tasks of the cluster; their arguments and results are text and bytes.
"""

import json
import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from distributed import get_worker

from netwarp.backends.virtual import VirtualBackend
from netwarp.backends.watch import Bounds
from netwarp.errors import NetwarpError
from netwarp.execution.cluster.batches import BATCH_S
from netwarp.execution.cluster.message import (
    FinishedRun,
    MessageError,
    Refused,
    lost_run,
    pack,
    read_files,
)
from netwarp.execution.cluster.programs import Programs, programs_of
from netwarp.execution.outcome import Outcome, failed, run_job
from netwarp.file_trees import temporary_directory
from netwarp.run_files import lines_of
from netwarp.wire import job_from_json

BATCH_BYTES = 16 << 20
"""Size in bytes of an answer from which on no further run of its batch is begun; the remaining runs
are left for a later batch."""
STOPPED = "the execution was stopped"
STOP_S = 5.0
"""Maximum time in s that guests may take to end after they were killed."""
_executions: dict[str, VirtualBackend | Refused] = {}
"""The backend of each execution of a study on this worker, or the reason why it has none, by the
execution's name.
"""
_under_way: Counter[str] = Counter()
"""Number of runs under way, by the name of their execution."""
_changed = threading.Condition()
"""Lock that protects `_executions` and `_under_way`."""


def programs_here() -> bytes:
    """Return the hashes of this worker's programs as JSON, or the reason why it has none."""
    try:
        return json.dumps(programs_of(VirtualBackend()).to_json()).encode()
    except NetwarpError as error:
        return json.dumps({"missing": str(error)}).encode()


def run_here(execution: str, jobs_json: str, programs: str, stall_cpu_s: float) -> bytes:
    """Carry out the jobs of a batch, one after another. If they take too long, the remaining jobs
    are left for a later batch.

    Args:
        execution: a name that all runs of one call of netwarp share.
        jobs_json: one job on each line, in the format of its file.
        programs: the programs that have to carry them out, as JSON.
        stall_cpu_s: CPU time in s after which a guest whose clock does not move is killed.

    Returns:
        An answer, see :mod:`netwarp.execution.cluster.message`.
    """
    backend = _backend_for(execution, Programs(**json.loads(programs)), stall_cpu_s)
    if isinstance(backend, Refused):
        return pack(backend)
    finished: list[FinishedRun] = []
    with _counted(execution):
        for job_json in lines_of(jobs_json):
            try:
                finished.append(_run(backend, job_json))
            except (NetwarpError, OSError) as error:
                # The next request for the remaining runs gets the error again.
                return pack(finished or _refused(str(error)))
            except Exception as error:  # noqa: BLE001 - a defect; Dask would pickle what is raised
                finished.append(lost_run(job_json, f"{type(error).__name__}: {error}"))
            if _is_enough(finished):
                break
    return pack(finished)


def stop_here(execution: str) -> None:
    """End the runs of an execution that are under way, and refuse further ones."""
    with _changed:
        backend = _executions.get(execution)
        _executions[execution] = Refused("", STOPPED)  # nobody waits for this execution any more
    if isinstance(backend, VirtualBackend):
        backend.stop()
    with _changed:
        _changed.wait_for(lambda: not _under_way[execution], timeout=STOP_S)


def _run(backend: VirtualBackend, job_json: str) -> FinishedRun:
    # Dask removes its directory when the worker has ended.
    scratch = get_worker().local_directory
    with temporary_directory("run-", Path(scratch)) as directory:
        outcome = run_job(backend, job_from_json(job_json, "a task's job"), directory)
        return _finished(outcome, directory)


def _is_enough(finished: Sequence[FinishedRun]) -> bool:
    """Return whether the remaining runs of a batch are to be left for another worker, or for a
    later batch.
    """
    taken_s = sum(each.outcome.status.wall_s for each in finished)
    return taken_s >= BATCH_S or sum(each.size_bytes for each in finished) >= BATCH_BYTES


@contextmanager
def _counted(execution: str) -> Iterator[None]:
    """Context manager: count a run as under way until the block ends."""
    with _changed:
        _under_way[execution] += 1
    try:
        yield
    finally:
        with _changed:
            _under_way[execution] -= 1
            _changed.notify_all()


def _finished(outcome: Outcome, directory: Path) -> FinishedRun:
    try:
        return FinishedRun(read_files(directory), outcome)
    except MessageError as error:
        return FinishedRun({}, failed(outcome.status, str(error)))


def _backend_for(
    execution: str, programs: Programs, stall_cpu_s: float
) -> VirtualBackend | Refused:
    with _changed:
        if execution not in _executions:
            _executions[execution] = _open(programs, stall_cpu_s)
        return _executions[execution]


def _open(programs: Programs, stall_cpu_s: float) -> VirtualBackend | Refused:
    """Open the backend of this worker, or return the reason why it cannot carry out runs."""
    try:
        backend = VirtualBackend(Bounds(stall_cpu_s=stall_cpu_s))
        backend.check(jobs=1)
    except (NetwarpError, OSError) as error:
        return _refused(str(error))
    difference = programs.difference(programs_of(backend))
    return backend if difference is None else _refused(difference)


def _refused(reason: str) -> Refused:
    return Refused(get_worker().address, reason)
