"""Same study and seed → records equal byte for byte, whoever runs it, wherever."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from guest.lab import run_study
from netwarp.backends.guest_files import find_endpoint, find_kernel
from netwarp.backends.virtual import guest_command, guest_environment
from netwarp.plan import PlannedRun, plan_study
from netwarp.run_directory import JOB_FILE, RECORDS_FILE
from netwarp.study import study_from_mapping

STUDY: dict[str, Any] = {
    "title": "repeatable",
    "replicates": 2,
    "path": {"rtt": "40ms", "jitter": "2ms", "loss": "3%", "rate": "20mbit"},
    "workload": {"kind": "bulk", "size": "300kB"},
    "factors": {"transport": ["tcp", "tls", "sctp", "quic"]},
}


def plan(seed: int = 1) -> list[PlannedRun]:
    return plan_study(study_from_mapping({**STUDY, "seed": seed}))


def records(place: Path) -> dict[str, bytes]:
    return {path.parent.name: path.read_bytes() for path in place.glob(f"*/{RECORDS_FILE}")}


@pytest.fixture(scope="module")
def first(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    place = tmp_path_factory.mktemp("first")
    for run in run_study(plan(), place, jobs=1):
        assert run.status.outcome == "ok", run.status.reason
    found = records(place)
    assert len(found) == 8
    return found


def test_twice_is_the_same_in_another_place_and_in_parallel(
    first: dict[str, bytes], tmp_path: Path
) -> None:
    place = tmp_path / "a much longer path" / "than the first one had, with spaces"
    run_study(plan(), place, jobs=2)
    assert records(place) == first


def test_the_environment_makes_no_difference(
    first: dict[str, bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(200):
        monkeypatch.setenv(f"SOMETHING_{number}", "x" * number)
    run_study(plan(), tmp_path, jobs=2)
    assert records(tmp_path) == first


def test_how_deep_below_tmp_a_file_lies_makes_no_difference(tmp_path: Path) -> None:
    """Making files and directories in a tmpfs of the guest draws random numbers of its kernel."""
    found = []
    for number, folder in enumerate(("a", "a/b/c")):
        file = tmp_path / folder / "file"
        file.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(find_endpoint(), file)
        of_file = {
            **STUDY,
            "replicates": 1,
            "path": {"rtt": "50ms", "loss": "5%", "rate": "50mbit"},
            "workload": {"file": str(file)},
            "factors": {"transport": ["sctp", "quic"]},
        }
        place = tmp_path / str(number)
        for run in run_study(plan_study(study_from_mapping(of_file)), place):
            assert run.status.outcome == "ok", run.status.reason
        found.append(records(place))
    assert found[0] == found[1]


def test_replicates_differ(first: dict[str, bytes]) -> None:
    for cell in ("c000", "c001", "c002", "c003"):
        one, other = (first[f"{cell}-r0{replicate}"] for replicate in (0, 1))
        assert one.replace(b"-r00", b"") != other.replace(b"-r01", b"")


def test_another_seed_is_another_result(first: dict[str, bytes], tmp_path: Path) -> None:
    run_study(plan(seed=2), tmp_path)
    found = records(tmp_path)
    assert found.keys() == first.keys()
    assert all(found[run] != first[run] for run in first)


def test_another_user_gets_the_same(first: dict[str, bytes]) -> None:
    """As nobody, with kernel and endpoint in another place: no privilege and no path matters."""
    if os.geteuid() != 0:
        pytest.skip("only root can become another user")
    home = Path("/var/tmp") / f"netwarp-nobody-{os.getpid()}"
    kernel = find_kernel()
    as_nobody = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"]
    pinned = ["setarch", "-R", "taskset", "-c", "0"]
    try:
        shutil.copytree(kernel.directory, home / "kernel")
        shutil.copy(find_endpoint(), home / "endpoint")
        for run in plan():
            place = home / "runs" / run.run
            place.mkdir(parents=True)
            (place / JOB_FILE).write_text(run.job_json)
            (place / "endpoint").symlink_to(home / "endpoint")
            subprocess.run(["chown", "-R", "nobody", home], check=True)
            guest = guest_command(home / "kernel" / "linux", kernel.has_seccomp)
            preloaded = kernel.preloaded and home / "kernel" / kernel.preloaded.name
            environment = guest_environment(preloaded, Path("/dev/shm"), run.job.seed)
            subprocess.run(
                [*as_nobody, *pinned, *guest], cwd=place, env=environment, check=True, timeout=60
            )
        assert records(home / "runs") == first
    finally:
        shutil.rmtree(home, ignore_errors=True)
