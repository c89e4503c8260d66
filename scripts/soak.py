#!/usr/bin/env python3
"""Fuzzes with fresh seeds for an hour, and watches what netwarp takes and leaves behind.

Writes `netwarp-out/soak/report.md`, and beside it what pytest printed for each seed. A round that
failed is repeated with the command that its row names.
"""

from __future__ import annotations

import argparse
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, fields
from pathlib import Path

from netwarp.backends.process_tree import descendants, is_alive
from netwarp.backends.watch import adopt_orphans
from netwarp.file_trees import leftovers

RUNS = 384
MUTANTS = 1152
SAMPLE_S = 1.0
GRACE_S = 2.0
SCRATCH = Path("/dev/shm")  # noqa: S108 - it is only listed
SUMMARY = re.compile(r"(\d+) (passed|failed|error)")


@dataclass
class Round:
    """What one round of the fuzz lane did, took at most, and left."""

    seed: int
    passed: int = 0
    failed: int = 0
    wall_s: float = 0.0
    processes_peak: int = 0
    rss_mb_peak: int = 0
    """Resident memory of all processes together; pages that they share count once for each."""
    descriptors_peak: int = 0
    """Open descriptors of the process that has most."""
    processes_left: int = 0
    scratch_left: list[str] = field(default_factory=list)

    @property
    def is_clean(self) -> bool:
        """Whether everything passed and nothing was left."""
        return not (self.failed or self.processes_left or self.scratch_left) and self.passed > 0


def main() -> None:
    """Run rounds until the time is over, and write the report after each."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--minutes", type=float, default=60.0, help="no round begins after: 60")
    parser.add_argument("--seed", type=int, default=int(time.time()), help="of the first round")
    parser.add_argument("--out", type=Path, default=Path("netwarp-out/soak"))
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    adopt_orphans()
    end_s = time.monotonic() + 60 * given.minutes
    rounds: list[Round] = []
    while not rounds or time.monotonic() < end_s:
        seed = seed_of_round(given.seed, len(rounds))
        print(f"seed {seed}: {RUNS} studies, {MUTANTS} mutants", flush=True)
        rounds.append(watched(fuzz_lane(), seed, given.out / f"{seed}.log"))
        (given.out / "report.md").write_text(report(rounds))
        print(row(rounds[-1]), flush=True)
    print(f"report: {given.out / 'report.md'}")
    sys.exit(0 if all(each.is_clean for each in rounds) else 1)


def seed_of_round(first: int, number: int) -> int:
    """Give the seed of a round's first case, such that no round repeats a case of another one."""
    return first + number * max(RUNS, MUTANTS)


def fuzz_lane() -> list[str]:
    """Give the command of the fuzz lane."""
    return [sys.executable, "-m", "pytest", "-q", "-n", "auto", "tests/fuzz"]


def watched(command: Sequence[str], seed: int, log: Path) -> Round:
    """Run a command with a seed for the fuzz lane, and note what it takes and leaves.

    Args:
        command: what is run.
        seed: of the first case.
        log: where its output goes.
    """
    counts = {"NETWARP_FUZZ_RUNS": str(RUNS), "NETWARP_FUZZ_MUTANTS": str(MUTANTS)}
    environ = {**os.environ, **counts, "NETWARP_FUZZ_SEED": str(seed)}
    found = Round(seed)
    before = scratch_left()
    started_s = time.monotonic()
    with log.open("wb") as output:
        process = subprocess.Popen(command, stdout=output, stderr=output, env=environ)
        while True:
            note_peaks(found, living_descendants())
            with suppress(subprocess.TimeoutExpired):
                status = process.wait(SAMPLE_S)
                break
    found.wall_s = round(time.monotonic() - started_s, 1)
    count_tests(found, log.read_text(errors="replace"), status)
    left = left_after(GRACE_S)
    found.processes_left = len(left)
    for pid in left:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    found.scratch_left = sorted(scratch_left() - before)
    return found


def left_after(grace_s: float) -> list[int]:
    """Give the descendants that have not ended after so many seconds."""
    end_s = time.monotonic() + grace_s
    while (left := living_descendants()) and time.monotonic() < end_s:
        time.sleep(0.05)
    return left


def scratch_left() -> set[str]:
    """List what ended processes have left where guests have their memory; what is in use is that of
    other users of this machine, as everything of a round has ended.
    """
    return {each.name for each in leftovers("netwarp-", SCRATCH)}


def count_tests(found: Round, text: str, status: int) -> None:
    """Read pytest's counts from the last line that has any; a lane that did not run has failed."""
    lines = [line for line in text.splitlines() if SUMMARY.search(line)]
    counted = {word: int(count) for count, word in SUMMARY.findall(lines[-1])} if lines else {}
    found.passed = counted.get("passed", 0)
    found.failed = counted.get("failed", 0) + counted.get("error", 0)
    if status != 0 and found.failed == 0:
        found.failed = 1


def note_peaks(found: Round, pids: Iterable[int]) -> None:
    """Raise a round's peaks to what its processes have now."""
    pids = list(pids)
    descriptors, rss_pages = [0], 0
    for pid in pids:
        with suppress(OSError):
            descriptors.append(sum(1 for _ in Path(f"/proc/{pid}/fd").iterdir()))
            rss_pages += int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    rss_mb = rss_pages * os.sysconf("SC_PAGE_SIZE") // 10**6
    found.processes_peak = max(found.processes_peak, len(pids))
    found.rss_mb_peak = max(found.rss_mb_peak, rss_mb)
    found.descriptors_peak = max(found.descriptors_peak, *descriptors)


def living_descendants() -> list[int]:
    """List the processes below this one, without those that have ended."""
    return [pid for pid in descendants(os.getpid()) if is_alive(pid)]


def report(rounds: Sequence[Round]) -> str:
    """Write the report as Markdown: a sentence, and a row for each round."""
    names = [each.name for each in fields(Round)]
    clean = sum(each.is_clean for each in rounds)
    return "\n".join(
        [
            f"# Soak: {clean} of {len(rounds)} rounds clean",
            "",
            f"A round is {RUNS} random studies and {MUTANTS} mutants. To repeat one:",
            f"`make fuzz SEED=<seed> RUNS={RUNS} MUTANTS={MUTANTS}`.",
            "",
            f"| {' | '.join(names)} |",
            f"|{'---|' * len(names)}",
            *(row(each) for each in rounds),
            "",
        ]
    )


def row(each: Round) -> str:
    """Write a round as a row of the report's table."""
    cells = (getattr(each, name.name) for name in fields(Round))
    texts = (", ".join(cell) or "none" if isinstance(cell, list) else str(cell) for cell in cells)
    return f"| {' | '.join(texts)} |"


if __name__ == "__main__":
    main()
