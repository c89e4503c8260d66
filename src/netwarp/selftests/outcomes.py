"""Determines how tests ended: pass, fail or skip, with the reason."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from hashlib import sha256
from pathlib import Path
from typing import Any

from netwarp.evaluation import RunData
from netwarp.plan.seeds import earliest_replicate
from netwarp.selftests.catalogue import SelfTest
from netwarp.selftests.study import FACTOR, STATUS

SKIPPED = 4
"""Exit status of a test that could not be carried out (kselftest.h, KSFT_SKIP)."""
TIMED_OUT = 124
"""Exit status of timeout(1) after it has ended its program."""
NO_MORE_THAN_BYTES = 64 << 20
"""Maximum number of bytes that are kept of a test's output."""
_FAILED = re.compile(r"\b(?:not ok|fail(?:ed|ure)?|error)\b", re.IGNORECASE)
_SKIP = re.compile(r"\bskip(?:ped|ping)?\b", re.IGNORECASE)
_MISSING = re.compile(
    r"(?:^|[\s:])(?P<shell>[\w.+-]+): (?:command )?not found$"
    r"|No such file or directory: '(?P<python>[\w.+-]+)'"
    r"|(?:exec of|failed to run command) [\"'‘](?P<other>[\w.+-]+)[\"'’](?: failed)?: No such file",
    re.MULTILINE,
)
"""Pattern of messages that a program is not installed, from a shell, Python, ip(8) or
timeout(1).
"""
_NO_DEVICE = re.compile(
    r"^.*(?:Unknown device type|Protocol not supported|Rule family not supported"
    r"|Function not implemented|Failed to load TC action module|TC classifier not found"
    r"|Specified qdisc kind is unknown|not enabled in (?:this )?kernel).*$",
    re.MULTILINE,
)
"""Pattern of messages of ip(8), tc(8) and others which mean that the kernel lacks some option."""
_NONE_FAILED = re.compile(r"\bfail(?:ed)?: *0\b|\b0 (?:tests? )?fail", re.IGNORECASE)


class Verdict(StrEnum):
    """How a test ended."""

    PASS = "pass"  # noqa: S105
    FAIL = "fail"
    SKIP = "skip"
    STOPPED = "stopped"
    """The test was stopped before its end, or could not be carried out, so that it says nothing
    about the kernel."""


@dataclass(frozen=True)
class Ended:
    """How one run of a test ended."""

    run: str
    seed: int
    verdict: Verdict
    why: str
    """Reason for the verdict; empty if the test passed."""
    took_s: float | None
    """Time in s of the run's clock that the test took; None if unknown."""
    again: str = ""
    """Options of `netwarp selftest` with which the last run has the same random numbers."""
    output_sha256: str = ""
    """Hash of what the test printed."""


@dataclass(frozen=True)
class Row:
    """All runs of a test, as a row of the results."""

    test: SelfTest
    runs: tuple[Ended, ...]
    planned: int

    @property
    def counts(self) -> Counter[Verdict]:
        """Number of the test's runs with each verdict."""
        return Counter(run.verdict for run in self.runs)

    @property
    def verdict(self) -> Verdict:
        """The worst verdict of the test's runs; skip for a test that was not run."""
        for verdict in (Verdict.FAIL, Verdict.STOPPED, Verdict.PASS):
            if self.counts[verdict]:
                return verdict
        return Verdict.SKIP

    @property
    def flips(self) -> bool:
        """Whether the test's runs, which differ at most in their seeds, ended in different ways
        (the test flips).
        """
        return len(self.counts) > 1

    @property
    def has_one_seed(self) -> bool:
        """Whether the test ran several times with the same seed."""
        return len(self.runs) > 1 and len({run.seed for run in self.runs}) == 1

    @property
    def why(self) -> str:
        """Reason for the verdict, as the first run with this verdict has it."""
        if self.test.lacks is not None:
            return self.test.lacks
        if not self.runs:
            return "not run yet; the same command goes on"
        return next(run.why for run in self.runs if run.verdict is self.verdict)

    def to_json(self) -> dict[str, Any]:
        """Return the fields that `--json` prints."""
        return {
            "test": self.test.name,
            "verdict": self.verdict.value,
            "why": self.why or None,
            "flips": self.flips,
            "counts": {verdict.value: self.counts[verdict] for verdict in Verdict},
            "planned": self.planned,
            "runs": [{**vars(run), "verdict": run.verdict.value} for run in self.runs],
        }


def rows(tests: Sequence[SelfTest], data: RunData | None, planned: int) -> list[Row]:
    """Return how each test ended.

    Args:
        tests: the tests that were selected, with those that lack something.
        data: the runs of the tests that lack nothing; None if there are none.
        planned: number of runs of each test.
    """
    ended: dict[str, list[Ended]] = {}
    absent = {each.file: each.silently_absent for each in tests}
    if data is None:
        return [Row(each, (), 0 if each.lacks else planned) for each in tests]
    for run in data.results.runs:
        output, _ = data.kept.printed(run.run, "client.stdout", NO_MORE_THAN_BYTES)
        file = str(run.factors[FACTOR])
        verdict, why = judged(output, run.reason, absent.get(file, ()))
        took_s = run.metrics.get("run_time_s")
        again = _repeat_options(data.study.seed, run.replicate)
        printed = sha256(output.encode()).hexdigest()
        ended.setdefault(file, []).append(
            Ended(run.run, run.seed, verdict, why, took_s, again, printed)
        )
    return [
        Row(each, tuple(ended.get(each.file, ())), 0 if each.lacks else planned) for each in tests
    ]


def _repeat_options(study_seed: int, replicate: int) -> str:
    seed, earlier = earliest_replicate(study_seed, replicate)
    return f"--seed {seed} --repeat {earlier + 1}"


def judged(output: str, failure: str | None, absent: Sequence[str] = ()) -> tuple[Verdict, str]:
    """Return how a test ended, and the reason, from what it printed.

    Args:
        output: what the run printed; its last line has the test's exit status.
        failure: why the run failed; None if it did not.
        absent: programs that the test calls but that are not installed, if its output does not say
            so.
    """
    printed, _, status = output.rpartition(STATUS)
    if failure is not None or not status.strip().isdigit():
        return Verdict.STOPPED, failure or "its output is not whole: it printed too much"
    lines = [line.strip() for line in printed.splitlines() if line.strip()]
    match int(status):
        case 0:
            return Verdict.PASS, ""
        case _ if int(status) == SKIPPED:
            return Verdict.SKIP, _last(lines, _SKIP) or "it says no reason"
        case _ if int(status) == TIMED_OUT:
            return Verdict.FAIL, f"it did not end in its time; the last it said: {_last(lines)}"
        case _ if device := _NO_DEVICE.search(printed):
            return Verdict.SKIP, f"the kernel lacks what this needs: {device[0].strip()}"
        case _ if missing := _MISSING.search(printed):
            return Verdict.SKIP, f"{missing[missing.lastgroup or 0]} is not installed"
        case _ if absent:
            return Verdict.SKIP, f"{absent[0]} is not installed"
        case other:
            told = _last([line for line in lines if not _NONE_FAILED.search(line)], _FAILED)
            return Verdict.FAIL, told or f"exit status {other}"


def _last(lines: Sequence[str], wanted: re.Pattern[str] | None = None) -> str:
    matching = [line for line in lines if wanted is None or wanted.search(line)]
    return (matching or lines or [""])[-1]


def summary(found: Iterable[Row]) -> str:
    """Return as text how many tests ended in which way."""
    listed = list(found)
    counts = Counter(row.verdict for row in listed)
    words = [f"{counts[verdict]} {verdict.value}" for verdict in Verdict if counts[verdict]]
    flips = sum(row.flips for row in listed)
    runs = sum(len(row.runs) for row in listed)
    return f"{len(listed)} tests: {', '.join(words)}; {runs} runs, {flips} of the tests flip"


def flip_texts(found: Iterable[Row]) -> list[str]:
    """Return a text for each test that ended in different ways: with how many seeds it had the
    worst outcome, and how to repeat one of these runs.

    All randomness of a run comes from its seed. So a test that ends in another way with another
    seed does so because kernel and test get other random numbers, and ends in the same way with the
    same seed.
    """
    texts = []
    for row in found:
        if row.flips and not row.has_one_seed:
            run = next(run for run in row.runs if run.verdict is row.verdict)
            share = f"{row.counts[row.verdict]} of {len(row.runs)} seeds"
            command = f"netwarp selftest {row.test.name} {run.again}"
            texts.append(f"{row.test.name}: {row.verdict.value} with {share}; one again: {command}")
    return texts


def same_seed_texts(found: Iterable[Row]) -> list[str]:
    """Return a text for each test that ran several times with one seed: whether its outputs are
    equal.
    """
    texts = []
    for row in found:
        if row.has_one_seed:
            printed = len({run.output_sha256 for run in row.runs})
            told = "outputs equal to the byte" if printed == 1 else f"{printed} DIFFERENT outputs"
            runs = f"{len(row.runs)} of {row.planned} runs with seed {row.runs[0].seed}"
            texts.append(f"{row.test.name}: {runs}: {told}")
    return texts


def place_text(place: Path) -> str:
    """Return as text where the outputs of the tests are."""
    return f"outputs: {place}/runs/*/client.stdout"
