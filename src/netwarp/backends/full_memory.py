"""Determines from a guest's console whether a run failed because memory was full."""

import re
from dataclasses import replace
from pathlib import Path

from netwarp.backends.outcome import console_text
from netwarp.backends.scratch import full_scratch_text, ran_out_of_scratch
from netwarp.run_status import Status

KILLED = re.compile(r"Out of memory: Killed process \d+ \((.*?)\) total-vm:")
"""The kernel's message about a process that it kills because memory is full (`mm/oom_kill.c`)."""
MOST_NAMES = 3


def with_out_of_memory_reason(status: Status, console: Path, scratch: Path) -> Status:
    """Return the status of a run. If the run failed because the host or the guest ran out of
    memory, its reason says so.

    Args:
        status: the status of the run; returned unchanged if the run did not fail, or memory was not
            full.
        console: the output of the guest's kernel.
        scratch: the directory on the host that contains guests' memory.
    """
    if status.outcome != "failed":
        return status
    if ran_out_of_scratch(console):
        return replace(status, reason=full_scratch_text(scratch))
    killed = list(dict.fromkeys(KILLED.findall(console_text(console))))
    if not killed:
        return status
    names = ", ".join(killed[:MOST_NAMES]) + (" and others" if len(killed) > MOST_NAMES else "")
    return replace(
        status,
        reason=f"{status.reason}; the guest's memory was full, and its kernel ended {names}:"
        " --memory (in a study workload.memory) gives it more",
    )
