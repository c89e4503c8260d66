"""A guest that hangs, spins, panics or is killed is a failed run that says why."""

from __future__ import annotations

import os
import signal
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from netwarp.backends.guest_files import find_endpoint
from netwarp.backends.virtual import VirtualBackend
from netwarp.backends.watch import Bounds
from netwarp.execution import run_job
from netwarp.plan import PlannedRun, plan_study
from netwarp.run_directory import CONSOLE_FILE
from netwarp.run_status import Status
from netwarp.study import study_from_mapping

IMPATIENT = Bounds(stall_cpu_s=2.0, stall_wall_s=20.0)


def planned(path: dict[str, str] | None = None, limits: dict[str, int] | None = None) -> PlannedRun:
    study = {
        "title": "failure",
        "replicates": 1,
        "path": {"rtt": "100ms", **(path or {})},
        "workload": {"kind": "bulk", "size": "50MB"},
        "limits": limits or {},
        "factors": {"transport": ["tcp"]},
    }
    return plan_study(study_from_mapping(study))[0]


def run(
    place: Path,
    job: PlannedRun,
    *,
    init: str | None = None,
    on_progress: Callable[[float], None] = lambda _: None,
) -> Status:
    """Carry one run out, with a shell script in place of the endpoint if one is given."""
    environ = dict(os.environ)
    if init is not None:
        script = place / "init.sh"
        # What confines the guest on the host is the endpoint too.
        confine = f'[ "$1" != confine ] || exec {find_endpoint()} "$@"'
        script.write_text(f"#!/bin/sh\n{confine}\n{init}\n")
        script.chmod(script.stat().st_mode | stat.S_IXUSR)
        environ["NETWARP_ENDPOINT"] = str(script)
    backend = VirtualBackend(IMPATIENT, environ)
    return run_job(backend, job.job, place / "run", on_progress=on_progress).status


def test_a_guest_that_spins_is_given_up(tmp_path: Path) -> None:
    status = run(tmp_path, planned(), init="echo netwarp-progress 3\nwhile :; do :; done")
    assert status.outcome == "failed"
    assert status.reason is not None
    assert "spins" in status.reason
    assert status.virtual_s == 3.0
    assert status.cpu_s >= IMPATIENT.stall_cpu_s, "what it took is told although it was killed"


def test_a_guest_that_panics_says_so_and_keeps_its_console(tmp_path: Path) -> None:
    status = run(tmp_path, planned(), init="echo the last words\nexit 7")
    assert status.outcome == "failed"
    assert status.reason is not None
    assert "panicked" in status.reason
    console = (tmp_path / "run" / CONSOLE_FILE).read_text()
    assert "the last words" in console
    assert "Attempted to kill init" in console


def test_a_guest_that_powers_off_early_is_a_failed_run(tmp_path: Path) -> None:
    power_off = "python3 -c 'import ctypes; ctypes.CDLL(None).reboot(0x4321FEDC)'"
    status = run(tmp_path, planned(), init=power_off)
    assert status.outcome == "failed"
    assert status.reason is not None
    assert "before the run was over" in status.reason


def test_a_guest_that_is_killed_is_a_failed_run(tmp_path: Path) -> None:
    def kill_it(virtual_s: float) -> None:
        for process in Path("/proc").glob("[0-9]*"):
            try:
                if (process / "cwd").readlink() == tmp_path / "run":
                    os.kill(int(process.name), signal.SIGKILL)
            except (OSError, ProcessLookupError):
                continue  # not ours, or gone already

    status = run(tmp_path, planned({"rate": "1mbit"}), on_progress=kill_it)
    assert status.outcome == "failed"
    assert status.reason is not None
    assert "SIGKILL" in status.reason


def test_a_guest_writes_to_its_run_directory_and_nowhere_else(tmp_path: Path) -> None:
    """Not even as root of a kernel that has mounted the host's root anew, to be written to."""
    outside = tmp_path / "outside"
    outside.write_text("as it was")
    status = run(
        tmp_path,
        planned(),
        init=f"""
            PATH=/usr/bin:/bin:/usr/sbin:/sbin
            mount -t proc proc /proc
            mount -o remount,rw / && echo the root can be written to
            echo changed > {outside}
            rm -f {outside}
            mkdir {tmp_path / "made"}
            echo mine > {tmp_path / "run" / "inside"}
            exit 7""",
    )
    assert status.reason is not None
    assert "panicked" in status.reason
    console = (tmp_path / "run" / CONSOLE_FILE).read_text()
    assert "the root can be written to" in console
    assert outside.read_text() == "as it was", console
    assert not (tmp_path / "made").exists(), console
    assert (tmp_path / "run" / "inside").read_text() == "mine\n", console


def test_a_transfer_beyond_its_limit_is_a_failed_run(tmp_path: Path) -> None:
    status = run(tmp_path, planned({"rate": "1mbit"}, {"virtual_s": 30}))
    assert status.outcome == "failed"
    assert status.reason is not None
    assert status.reason.startswith("limit:")
    assert 30 <= status.virtual_s < 40


@pytest.mark.parametrize("leftover", [".uml", "endpoint"])
def test_nothing_of_the_guest_is_left_in_the_run_directory(tmp_path: Path, leftover: str) -> None:
    run(tmp_path, planned(limits={"virtual_s": 5}))
    assert not (tmp_path / "run" / leftover).exists()
