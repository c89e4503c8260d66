"""A watched process: progress, console, stalls, and nothing left behind."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from netwarp.backends.outcome import failure_reason
from netwarp.backends.process_tree import tree_cpu_s
from netwarp.backends.watch import Bounds, Ending, ending_with_us, watch


def start(code: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-u", "-c", code], stdout=subprocess.PIPE, start_new_session=True
    )


def test_progress_lines_are_taken_out_of_the_console(tmp_path: Path) -> None:
    seen: list[float] = []
    process = start("print('hello'); print('netwarp-progress 1'); print('netwarp-progress 2.5')")
    ending = watch(process, tmp_path / "console.log", Bounds(), seen.append)
    assert seen == [1.0, 2.5]
    assert (tmp_path / "console.log").read_text() == "hello\n"
    assert ending.exit_code == 0
    assert ending.given_up is None
    assert ending.virtual_s == 2.5


def test_memory_is_the_process_own_and_not_its_starters(tmp_path: Path) -> None:
    ours = bytearray(256 << 20)  # zeroed, so resident
    ours[::4096] = b"x" * len(ours[::4096])
    process = start("kept = b'x' * (60 << 20); import time\nwhile time.process_time() < 0.3: pass")
    ending = watch(process, tmp_path / "console.log", Bounds(), lambda _: None)
    assert 60 << 20 < ending.peak_rss_bytes < 120 << 20
    assert len(ours) > ending.peak_rss_bytes


def test_a_process_that_spins_is_given_up(tmp_path: Path) -> None:
    process = start("print('netwarp-progress 3')\nwhile True: pass")
    ending = watch(process, tmp_path / "console.log", Bounds(stall_cpu_s=0.2), lambda _: None)
    assert ending.given_up is not None
    assert "spins" in ending.given_up
    assert "3 s" in ending.given_up
    assert ending.exit_code == -9
    assert ending.cpu_s >= 0.2


def test_a_process_that_hangs_is_given_up(tmp_path: Path) -> None:
    process = start("import signal; signal.pause()")
    ending = watch(process, tmp_path / "console.log", Bounds(stall_wall_s=0.3), lambda _: None)
    assert ending.given_up is not None
    assert "hangs" in ending.given_up


def test_what_the_process_forked_dies_with_it(tmp_path: Path) -> None:
    process = start(
        "import os, signal\n"
        "child = os.fork()\n"
        "if child: print('child', child); os._exit(0)\n"
        "os.close(1); signal.pause()"
    )
    watch(process, tmp_path / "console.log", Bounds(), lambda _: None)
    child = int((tmp_path / "console.log").read_text().split()[1])
    with pytest.raises(ProcessLookupError):
        os.kill(child, 0)


def test_cpu_time_of_what_was_left_behind_counts(tmp_path: Path) -> None:
    process = start(
        "import os, time\n"
        "if os.fork() == 0:\n"
        "    while time.process_time() < 0.3: pass\n"
        "    os._exit(0)\n"
        "os._exit(0)"
    )
    ending = watch(process, tmp_path / "console.log", Bounds(), lambda _: None)
    assert ending.cpu_s >= 0.28


def test_what_lost_its_starter_before_it_could_tell_does_not_start(tmp_path: Path) -> None:
    """Another parent than the one that built the command is what it then has."""
    told = tmp_path / "told"
    command = ending_with_us(["env"])
    ours = subprocess.run(command, capture_output=True, text=True, check=True, env={"A": "1"})
    assert ours.stdout == "A=1\n", "nothing says where it was started"
    subprocess.run(["sh", "-c", '"$@" > "$0"; true', told, *command], check=True)
    assert told.read_text() == ""


def test_cpu_time_of_children_counts() -> None:
    code = (
        "import os, time\n"
        "if os.fork() == 0:\n"
        "    while time.process_time() < 0.3: pass\n"
        "    os._exit(0)\n"
        "os.wait(); print('done'); input()"
    )
    process = subprocess.Popen(
        [sys.executable, "-u", "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert process.stdout is not None
    assert process.stdout.readline() == b"done\n"
    assert tree_cpu_s(process.pid) >= 0.28
    process.communicate(b"\n")


def ending(exit_code: int = 0, given_up: str | None = None) -> Ending:
    return Ending(exit_code, given_up, 1.0, 0.5, 1 << 20, 7.0)


@pytest.mark.parametrize(
    ("console", "how", "says"),
    [
        ("Kernel panic - not syncing: Attempted to kill init!\n", ending(134), "Attempted to kill"),
        ("", ending(-9), "SIGKILL"),
        ("a\nb\nc\nd\n", ending(1), "status 1 before the run was over: b / c / d"),
        ("", ending(-9, "the run spins: …"), "the run spins"),
    ],
)
def test_a_run_without_an_end_says_why(
    tmp_path: Path, console: str, how: Ending, says: str
) -> None:
    (tmp_path / "console.log").write_text(console)
    reason, virtual_s = failure_reason(tmp_path / "records.jsonl", tmp_path / "console.log", how)
    assert reason is not None
    assert says in reason
    assert virtual_s == 7.0


def test_a_cut_off_last_record_is_not_an_end(tmp_path: Path) -> None:
    (tmp_path / "console.log").write_text("")
    (tmp_path / "records.jsonl").write_text('{"record": "end", "virtual_ns": 1')
    reason, _ = failure_reason(tmp_path / "records.jsonl", tmp_path / "console.log", ending(0))
    assert reason is not None


def test_the_end_record_decides() -> None:
    golden = Path(__file__).parents[1] / "golden"
    console = Path("/dev/null")
    assert failure_reason(golden / "records-bulk-quic.jsonl", console, ending()) == (None, 14.0)
    reason, virtual_s = failure_reason(golden / "records-failed.jsonl", console, ending())
    assert reason is not None
    assert reason.startswith("limit: the transfer was not over")
    assert virtual_s == 86400.0
