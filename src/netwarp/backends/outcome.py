"""Determines whether the run of a finished process succeeded, and if not, why."""

import re
import signal
from pathlib import Path

from netwarp.backends.watch import CONSOLE_LIMIT_BYTES, Ending
from netwarp.errors import RecordError
from netwarp.run_directory import CONSOLE_FILE, RECORDS_FILE
from netwarp.run_files import read_tail
from netwarp.run_status import Status
from netwarp.wire import End
from netwarp.wire.record import record_from_json

PANIC = re.compile(r"Kernel panic - not syncing: (.+)")
TAIL_LINES = 3
MOST_END_BYTES = 1 << 20
"""Maximum size in bytes of the last record of a run, which contains its end and its outcome."""


def console_text(console: Path) -> str:
    """Return the end of a process's console output; empty if the file is no longer a regular file
    of this user.
    """
    try:
        return read_tail(console, CONSOLE_LIMIT_BYTES)
    except OSError:
        return ""


def status_of(directory: Path, ending: Ending, *, who: str = "the guest") -> Status:
    """Determine the status of a run whose process has ended.

    Args:
        directory: the directory of the run, with its records and console.
        ending: how the process ended.
        who: what the reason calls the process, such as "the endpoint".
    """
    reason, virtual_s = failure_reason(
        directory / RECORDS_FILE, directory / CONSOLE_FILE, ending, who=who
    )
    return Status(
        outcome="ok" if reason is None else "failed",
        reason=reason,
        wall_s=ending.wall_s,
        cpu_s=ending.cpu_s,
        peak_rss_bytes=ending.peak_rss_bytes,
        virtual_s=virtual_s,
    )


def failure_reason(
    records: Path, console: Path, ending: Ending, *, who: str = "the guest"
) -> tuple[str | None, float]:
    """Return the reason why a run failed (None if it succeeded), and the last time of its clock in
    seconds.

    Args:
        records: the records that the endpoint wrote.
        console: the output of the process.
        ending: how the process ended.
        who: what the reason calls the process, such as "the endpoint".
    """
    end = _end_record(records)
    if end is None:
        return _without_end(console, ending, who), ending.virtual_s
    reason = f"{end.failure.stage}: {end.failure.message}" if end.failure else None
    return reason, end.virtual_ns / 1e9


def _without_end(console: Path, ending: Ending, who: str) -> str:
    if ending.given_up:
        return ending.given_up
    text = console_text(console)
    panic = PANIC.search(text)
    if panic:
        return f"the guest kernel panicked: {panic[1]}"
    if ending.exit_code < 0:
        how = f"was killed by {signal.Signals(-ending.exit_code).name}"
    else:
        how = f"ended with status {ending.exit_code}"
    tail = " / ".join(text.strip().splitlines()[-TAIL_LINES:]) or "nothing on its console"
    return f"{who} {how} before the run was over: {tail}"


def _end_record(records: Path) -> End | None:
    try:
        tail = read_tail(records, MOST_END_BYTES)
        last = record_from_json(tail.rpartition("\n")[0].rpartition("\n")[2])
    except (OSError, ValueError, RecordError):
        return None
    return last if isinstance(last, End) else None
