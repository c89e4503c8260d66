"""What cannot be run is refused: exit status 2 and one clear line, never a traceback or a hang."""

from __future__ import annotations

import shlex
import subprocess
import sys
from pathlib import Path
from random import Random

import pytest

from fuzz.conftest import MUTANTS, block_id, blocks, report
from fuzz.damage import damaged
from fuzz.mutations import mutated_arguments, mutated_study, wrong_study
from fuzz.program import HANG_S, Answer, call, line_fault, refusal_fault
from fuzz.studies import random_study
from netwarp.cli.commands import load_command
from support import write_run_directory

# Nothing may run here, so there is no kernel to run it with: a study that is accepted says so.
ACCEPTED = "guest kernel"
# Commands that print a table or refuse; `report` and `reproduce` draw for seconds.
COMMANDS = ("compare", "compare", "run", "show", "timeline", "export")
READERS = (
    ("show",),
    ("export",),
    ("timeline", "c003-r01"),
    ("export", "--format", "har"),
    ("export", "--format", "json"),
    ("export", "--format", "iperf3"),
    ("diff", "intact", "--json"),
)
"""What reads a run directory, with the arguments after it."""


@pytest.fixture(autouse=True)
def without_kernel(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Let no guest start, and give a terminal of a known width."""
    empty = tmp_path / "no-kernel"
    empty.mkdir()
    monkeypatch.setenv("NETWARP_KERNEL", str(empty))
    monkeypatch.setenv("COLUMNS", "80")


@pytest.mark.parametrize("seeds", blocks(MUTANTS), ids=block_id)
def test_mutated_studies_get_one_line(seeds: range, tmp_path: Path) -> None:
    failures = []
    for seed in seeds:
        text = mutated_study(seed, random_study(seed))
        fault = refusal_fault(_run(text, tmp_path))
        if fault:
            failures.append(_told(seed, fault, text))
    report(failures)


@pytest.mark.parametrize("seeds", blocks(MUTANTS // 4), ids=block_id)
def test_what_can_be_right_nowhere_is_refused(seeds: range, tmp_path: Path) -> None:
    failures = []
    for seed in seeds:
        text = wrong_study(seed, random_study(seed))
        answer = _run(text, tmp_path)
        fault = refusal_fault(answer)
        if fault is None and ACCEPTED in answer.stderr:
            fault = "accepted"
        if fault:
            failures.append(_told(seed, fault, text))
    report(failures)


@pytest.mark.parametrize("seeds", blocks(MUTANTS // 2), ids=block_id)
def test_mutated_command_lines_get_one_line(seeds: range, tmp_path: Path) -> None:
    recorded = write_run_directory(tmp_path / "recorded")
    (tmp_path / "study.toml").write_text('title = "t"\n[workload]\nsize = "1kB"\n')
    places = [str(recorded), "study.toml", str(recorded / "plan.jsonl"), "no/such/place"]
    options = _options()
    failures = []
    for seed in seeds:
        arguments = mutated_arguments(seed, options, places)
        answer = call(arguments, tmp_path)
        fault = None if answer.status == 0 else refusal_fault(answer)
        if fault:
            failures.append(f"seed {seed}: netwarp {shlex.join(arguments)[:600]}\n{fault}")
    report(failures)


@pytest.mark.parametrize("seeds", blocks(MUTANTS // 24), ids=block_id)
def test_processes_answer_as_calls_do(seeds: range, tmp_path: Path) -> None:
    """A sample of the mutants in processes of their own: no traceback while they start or end."""
    failures = []
    for seed in seeds:
        text = mutated_study(seed, random_study(seed))
        called = _run(text, tmp_path)
        answer = subprocess.run(
            [Path(sys.prefix) / "bin" / "netwarp", "run", "study.toml"],
            cwd=tmp_path, capture_output=True, text=True, timeout=HANG_S, check=False,
        )  # fmt: skip
        if (answer.returncode, answer.stderr) != (called.status, called.stderr):
            failures.append(_told(seed, f"{answer.stderr[:500]}\nnot {called.stderr[:500]}", text))
    report(failures)


@pytest.mark.parametrize("seeds", blocks(MUTANTS // 6), ids=block_id)
def test_damaged_run_directories_get_one_line(seeds: range, tmp_path: Path) -> None:
    recorded = write_run_directory(tmp_path / "recorded")
    write_run_directory(tmp_path / "intact")
    failures = []
    for seed in seeds:
        with damaged(Random(seed), recorded) as what:  # noqa: S311
            command, *others = READERS[seed % len(READERS)]
            answer = call([command, str(recorded), *others], tmp_path)
        fault = _damage_fault(answer)
        if fault:
            asked = " ".join([command, *others])
            failures.append(f"seed {seed}: netwarp {asked} after {what}\n{fault}")
    report(failures)


def _options() -> dict[str, list[str]]:
    """List the commands, each with its options."""
    return {
        name: [
            flag
            for parameter in load_command(name).params
            for flag in parameter.opts
            if flag.startswith("-")
        ]
        for name in COMMANDS
    }


def _run(text: str, place: Path) -> Answer:
    (place / "study.toml").write_bytes(text.encode("utf-8", "surrogatepass"))
    return call(["run", "study.toml"], place)


def _told(seed: int, fault: str, text: str) -> str:
    """Name a case: the command that repeats it, what is wrong, and the study."""
    return f"make fuzz SEED={seed} RUNS=1\n{fault}\n{text[:1500]}"


def _damage_fault(answer: Answer) -> str | None:
    """Say what is wrong with an answer about a damaged directory: it may use what is intact."""
    if answer.status not in (0, 1, 2):
        return f"exit status {answer.status}: {answer.stderr.strip()[:500]}"
    faults = map(line_fault, answer.stderr.strip().splitlines()[-1:] if answer.status else [])
    return next((fault for fault in faults if fault), None)
