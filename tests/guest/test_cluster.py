"""A Dask cluster of two workers on the loopback device: equal records, deaths, refusals."""

from __future__ import annotations

import random
import signal
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import netwarp
from guest.dask_cluster import Cluster, study
from netwarp.errors import InputError, NetwarpError
from netwarp.execution import Interrupted, Unobserved
from netwarp.execution.opening import open_executor
from netwarp.plan import PlannedRun
from netwarp.run_directory import RECORDS_FILE
from netwarp.run_status import Status

distributed = pytest.importorskip("distributed")


# Kills its worker with one run, as a defect of a library or the kernel's search for memory would.
POISONED = """
import os, signal
from netwarp.execution.cluster import worker
run_job = worker.run_job
def poisoned(backend, job, directory):
    if job.run == "c000-r01":
        os.kill(os.getpid(), signal.SIGKILL)
    return run_job(backend, job, directory)
def dask_setup(worker_of_dask):
    worker.run_job = poisoned
"""

WITHOUT_NETWARP = """
import sys
class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "netwarp":
            raise ModuleNotFoundError(f"No module named {name!r}")
def dask_setup(worker_of_dask):
    sys.meta_path.insert(0, Absent())
"""


class After(Unobserved):
    """Does something once so many runs have finished, and counts how often each has."""

    def __init__(self, *steps: tuple[int, object]) -> None:
        self.steps = dict(steps)
        self.finished_runs: Counter[str] = Counter()

    def finished(self, run: PlannedRun, status: Status, *, resumed: bool) -> None:
        del status, resumed
        self.finished_runs[run.run] += 1
        step = self.steps.pop(self.finished_runs.total(), None)
        if callable(step):
            step()


def records(directory: Path) -> dict[str, bytes]:
    return {
        path.name: (path / RECORDS_FILE).read_bytes() for path in (directory / "runs").glob("c*")
    }


@contextmanager
def guests_gone(cluster: Cluster) -> Iterator[None]:
    """See that what happens within leaves no guest of the cluster's workers behind."""
    yield
    left = [
        path
        for path in Path("/proc").glob("[0-9]*/cwd")
        if _target(path).startswith(str(cluster.place))
    ]
    workers = {worker.pid for worker in cluster.workers}
    assert {int(path.parent.name) for path in left} <= workers


def _target(link: Path) -> str:
    try:
        return str(link.readlink())
    except OSError:
        return ""


def test_records_are_those_of_a_local_run(cluster: Cluster, tmp_path: Path) -> None:
    for _ in range(2):
        cluster.add_worker()
    there = netwarp.run(study(), executor=f"dask://{cluster.address}", out=tmp_path / "there")
    here = netwarp.run(study(), out=tmp_path / "here")
    assert not there.failed
    assert len(records(tmp_path / "there")) == 6
    assert records(tmp_path / "there") == records(tmp_path / "here")
    assert [run.metrics for run in there.data.results.runs] == [
        run.metrics for run in here.data.results.runs
    ]


@pytest.fixture(scope="module")
def local(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """Return the records of eight replicates that ran on this machine alone."""
    out = tmp_path_factory.mktemp("local") / "out"
    assert not netwarp.run(study(replicates=8), out=out).failed
    return records(out)


@pytest.mark.parametrize("seed", [1, 2])
def test_workers_that_die_lose_no_run_and_double_none(
    cluster: Cluster, tmp_path: Path, local: dict[str, bytes], seed: int
) -> None:
    first, second = cluster.add_worker(), cluster.add_worker()
    killed, joined, killed_too = sorted(random.Random(seed).sample(range(1, 16), 3))  # noqa: S311
    observer = After(
        (killed, lambda: first.send_signal(signal.SIGKILL)),
        (joined, cluster.add_worker),
        (killed_too, lambda: second.send_signal(signal.SIGKILL)),
    )
    run = netwarp.run(
        study(replicates=8),
        executor=f"dask://{cluster.address}",
        out=tmp_path / "out",
        observer=observer,
    )
    assert not run.failed
    assert len(run.data.results.runs) == 16
    assert set(observer.finished_runs.values()) == {1}, "each run is kept once"
    assert records(tmp_path / "out") == local


def test_a_run_that_kills_its_worker_fails_and_takes_no_other_along(tmp_path: Path) -> None:
    place = tmp_path / "dask"
    place.mkdir()
    poison = tmp_path / "poison.py"
    poison.write_text(POISONED)
    cluster = Cluster(place, DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES="0")
    try:
        cluster.add_worker("--preload", str(poison), nanny="--nanny")
        observer = After()
        run = netwarp.run(
            study(replicates=10),
            executor=f"dask://{cluster.address}",
            out=tmp_path / "out",
            observer=observer,
        )
    finally:
        cluster.stop()
    assert [failed.run for failed in run.failed] == ["c000-r01"]
    assert "lost on the cluster" in str(run.failed[0].reason)
    assert len(observer.finished_runs) == 20
    assert set(observer.finished_runs.values()) == {1}


def test_a_scheduler_that_goes_leaves_what_had_finished(
    cluster: Cluster, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    cluster.add_worker()
    observer = After((2, cluster.scheduler.kill))
    with pytest.raises(NetwarpError, match="the same command goes on from there"):
        netwarp.run(
            study(replicates=20, size="5MB"),
            executor=f"dask://{cluster.address}",
            out=tmp_path / "out",
            observer=observer,
        )
    assert capfd.readouterr().err == "", "Dask's log is not the user's"
    kept = set(records(tmp_path / "out"))
    assert 2 <= len(kept) < 40
    again = After()
    run = netwarp.run(study(replicates=20, size="5MB"), out=tmp_path / "out", observer=again)
    assert len(run.data.results.runs) == 40
    assert not run.failed


def test_an_interruption_ends_the_guests_on_the_workers(cluster: Cluster, tmp_path: Path) -> None:
    def interrupt() -> None:
        raise KeyboardInterrupt

    cluster.add_worker()
    with (
        guests_gone(cluster),
        pytest.raises(Interrupted),
        open_executor(f"dask://{cluster.address}") as executor,
    ):
        netwarp.run(
            study(replicates=4, size="200MB"),
            executor=executor,
            out=tmp_path / "out",
            observer=After((1, interrupt)),
        )


def test_a_worker_with_another_endpoint_gets_no_run(cluster: Cluster, tmp_path: Path) -> None:
    other = tmp_path / "netwarp-endpoint"
    endpoint = Path(sys.prefix) / "libexec" / "netwarp-endpoint"
    other.write_bytes(endpoint.read_bytes() + b"\0")
    other.chmod(0o755)
    cluster.add_worker(NETWARP_ENDPOINT=str(other))
    with pytest.raises(InputError, match="its netwarp-endpoint is another build"):
        netwarp.run(study(), executor=f"dask://{cluster.address}", out=tmp_path / "out")
    cluster.add_worker()
    run = netwarp.run(study(), executor=f"dask://{cluster.address}", out=tmp_path / "out")
    assert len(run.data.results.runs) == 6
    assert not run.failed


def test_a_worker_without_a_kernel_says_so(cluster: Cluster, tmp_path: Path) -> None:
    cluster.add_worker(NETWARP_KERNEL=str(tmp_path))
    with pytest.raises(InputError, match="no guest kernel in"):
        netwarp.run(study(), executor=f"dask://{cluster.address}", out=tmp_path / "out")


def test_a_worker_without_netwarp_is_told_of_and_others_do_the_runs(
    cluster: Cluster, tmp_path: Path
) -> None:
    absent = tmp_path / "absent.py"
    absent.write_text(WITHOUT_NETWARP)
    cluster.add_worker("--preload", str(absent))
    with pytest.raises(InputError, match=r"netwarp does not work there .*install the same one"):
        netwarp.run(study(), executor=f"dask://{cluster.address}", out=tmp_path / "out")
    cluster.add_worker()
    run = netwarp.run(study(), executor=f"dask://{cluster.address}", out=tmp_path / "out")
    assert len(run.data.results.runs) == 6
    assert not run.failed


def test_a_cluster_without_guests_says_how_to_start_one(cluster: Cluster) -> None:
    with pytest.raises(InputError, match="--resources guest=2"):
        netwarp.run(study(), executor=f"dask://{cluster.address}")
