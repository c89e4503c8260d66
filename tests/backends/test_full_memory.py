"""A run that failed for want of memory says so, whichever memory it was."""

from __future__ import annotations

from pathlib import Path

from netwarp.backends.full_memory import with_out_of_memory_reason
from netwarp.run_status import Status

KILLED = "Out of memory: Killed process {} ({}) total-vm:91452kB, anon-rss:81068kB, UID:0\n"


def reason(tmp_path: Path, console: str, outcome: str = "failed") -> str | None:
    (tmp_path / "console.log").write_text(console)
    status = Status("ok", None, 1.0, 1.0, 1 << 20, 1.0)
    if outcome == "failed":
        status = Status("failed", "client: killed by SIGKILL", 1.0, 1.0, 1 << 20, 1.0)
    return with_out_of_memory_reason(status, tmp_path / "console.log", tmp_path).reason


def test_a_guest_whose_kernel_ended_programs_names_them_and_the_remedy(tmp_path: Path) -> None:
    console = "".join(map(KILLED.format, (28, 29, 30), ("python3", "python3", "curl (1)")))
    told = reason(tmp_path, console)
    assert told is not None
    assert told.startswith("client: killed by SIGKILL; the guest's memory was full, and its kernel")
    assert "ended python3, curl (1): --memory" in told


def test_many_names_are_not_listed(tmp_path: Path) -> None:
    console = "".join(KILLED.format(pid, f"p{pid}") for pid in range(9))
    assert "ended p0, p1, p2 and others: --memory" in str(reason(tmp_path, console))


def test_nothing_is_added_where_memory_was_not_full_or_nothing_failed(tmp_path: Path) -> None:
    assert reason(tmp_path, "Linux version 7.3\n") == "client: killed by SIGKILL"
    assert reason(tmp_path, KILLED.format(1, "sh"), "ok") is None


def test_a_host_without_room_for_it_is_named_instead(tmp_path: Path) -> None:
    gave_out = "Bus error - the host /dev/shm or /tmp mount likely just ran out of space\n"
    told = reason(tmp_path, gave_out + KILLED.format(1, "sh"))
    assert str(told).startswith(f"{tmp_path}, where guests have their memory, is full")
