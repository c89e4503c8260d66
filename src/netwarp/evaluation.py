"""Reads and evaluates a run directory, for tables, summaries and reports."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from netwarp.errors import InputError, ResultError, RunDirectoryError
from netwarp.estimate.criteria import Criteria
from netwarp.estimate.staging import Look, older_looks
from netwarp.execution.outcome import Outcome, read_outcome
from netwarp.kept_runs import KeptRuns
from netwarp.metrics.competing import CONFORMANCE_RATIO
from netwarp.plan.randomness import REAL_TIME, randomness
from netwarp.results import ComparedBy, Results, from_plan
from netwarp.results.comparisons import Comparisons, compare_contenders, main_metrics
from netwarp.results.conformance import with_conformance
from netwarp.results.harm import with_harm
from netwarp.results.two_modes import bimodal_text
from netwarp.run_directory import Clock, RunDirectory, clock_of
from netwarp.study import Study, study_from_mapping
from netwarp.suggestions import did_you_mean
from netwarp.units import older_sizes_in_bytes, parse_ratio, span_text
from netwarp.wire import Job, Record

if TYPE_CHECKING:
    from netwarp.claims import ClaimResult, ExpectationResult


@dataclass(frozen=True)
class RunData:
    """A run directory, read and evaluated: its results, and the comparisons and texts made from
    them, each computed once.
    """

    directory: Path
    """The run directory, with the path that the user gave."""
    results: Results
    provenance: dict[str, Any]
    damage: Mapping[Path, str] = field(default_factory=dict)
    """Files that could not be read and were left out, each with the reason."""
    given_study: Study | None = None
    """The study, if it is already loaded; otherwise it is read when needed."""
    place: Path | None = None
    """The absolute path of the directory, so that it stays right if the working directory
    changes.
    """

    not_done: tuple[str, ...] = ()
    """Names of the planned runs that have not ended yet."""

    @property
    def kept(self) -> RunDirectory:
        """The files of the run directory, for data that is not in memory."""
        return RunDirectory(self.place or self.directory)

    @property
    def clock(self) -> Clock:
        """The clock of the results: virtual or real time."""
        return clock_of(self.provenance)

    @property
    def unfinished_text(self) -> str | None:
        """Return a note that planned runs are missing; None if all have ended."""
        if not self.not_done:
            return None
        done = len(self.results.runs)
        return (
            f"{done} of {done + len(self.not_done)} runs; the rest was not done. The same command"
            " again goes on."
        )

    @property
    def left_by_limit(self) -> tuple[str, ...]:
        """Names of the replicates that were not added because of a time limit."""
        left = self.provenance.get("time_limit_left")
        return tuple(map(str, left)) if isinstance(left, list) else ()

    @property
    def limit_text(self) -> str | None:
        """Return a note that replicates were not added because of a time limit; None if none was
        left out.
        """
        length_s = self.provenance.get("time_limit_s")
        if length_s is None:
            return None
        return (
            f"The time limit of {span_text(length_s)} was reached before all was decided: more"
            " replicates would have been added. The same command with a longer --max-time goes on."
        )

    @cached_property
    def study(self) -> Study:
        """The study that was run.

        Raises:
            RunDirectoryError: the directory has no study.
            ResultError: the study is damaged.
            StudyError: this version of netwarp cannot read the study.
        """
        return self.given_study or read_study(self.kept)

    @property
    def raw(self) -> Mapping[str, Any]:
        """The tables of the study file; empty if there is none."""
        if self.given_study is not None:
            return self.given_study.raw
        return self.kept.study() or {}

    @cached_property
    def fixed(self) -> dict[str, str]:
        """The conditions that all cells share, by study key, defaults included."""
        from netwarp.results.fixed_conditions import fixed_conditions

        runs = self.results.runs
        job = self.job(runs[0].run) if runs else None
        return fixed_conditions(self.raw, job)

    @cached_property
    def comparisons(self) -> Comparisons:
        """Comparisons of all contenders with the first one, in the study's main metric."""
        return self.answers[0]

    @cached_property
    def answers(self) -> list[Comparisons]:
        """The comparisons of contenders (the levels that are compared, such as transports), for
        each of the study's main metrics; p-values are adjusted within each metric.
        """
        return [compare_contenders(self.results, metric) for metric in main_metrics(self.results)]

    def asked(self, metrics: Sequence[str], against: Mapping[str, str]) -> RunData:
        """Return the same results, evaluated by other main metrics, or compared against another
        level.

        Args:
            metrics: main metrics; empty for those of the study.
            against: the level to compare against, by its factor; empty for that of the study.

        Raises:
            InputError: no run has such a metric, or such a level.
        """
        for metric in metrics:
            if metric not in self.results.metrics:
                remedy = did_you_mean(metric, self.results.metrics)
                raise InputError(f"--metric {metric}: no run has it; {remedy}")
        for factor, level in against.items():
            levels = self.results.factors.get(factor)
            if levels is None or level not in levels:
                word, known = (factor, self.results.factors) if levels is None else (level, levels)
                remedy = did_you_mean(word, known)
                raise InputError(f"--against {factor}={level}: no run has it; {remedy}")
        before = self.results.compared_by
        compared_by = ComparedBy(tuple(metrics) or before.metrics, against or before.against)
        return replace(self, results=replace(self.results, compared_by=compared_by))

    def expecting(self, texts: Sequence[str]) -> RunData:
        """Return the same results with more expectations; see `netwarp.study.expecting`.

        Raises:
            StudyError: an expectation cannot be read, or names something that the study does not
                have.
        """
        from netwarp.study.expecting import expecting

        return replace(self, given_study=expecting(self.study, texts)) if texts else self

    @property
    def bimodal_text(self) -> str | None:
        """Return a note on cells whose values of a main metric form two groups (modes); None if
        there are none.
        """
        return bimodal_text(self.results, [compared.metric for compared in self.answers])

    @cached_property
    def claims(self) -> list[ClaimResult]:
        """The verdicts on the study's claims."""
        from netwarp.claims import evaluate_claims

        return evaluate_claims(self.study.claims, self.results)

    @cached_property
    def expectations(self) -> list[ExpectationResult]:
        """The results of the study's expectations."""
        from netwarp.claims import evaluate_expectations

        return evaluate_expectations(self.study.expectations, self.results)

    @cached_property
    def records_sha256(self) -> str | None:
        """Hash of the records of all runs that succeeded: it is equal if and only if all records
        are.

        None in real time, in which records never repeat, and if records were not kept.
        """
        succeeded = [run.run for run in self.results.runs if run.outcome == "ok"]
        if self.clock == "real" or not succeeded:
            return None
        return self.kept.records_sha256(succeeded)

    def job(self, run: str) -> Job | None:
        """Return a run's job; None if its directory was not kept."""
        return self._kept.job(run)

    def records(self, run: str) -> list[Record]:
        """Return a run's records; empty if its directory was not kept."""
        return self._kept.records(run)

    def console_tail(self, run: str, lines: int = 15) -> str:
        """Return the last lines of a run's console."""
        return self._kept.console_tail(run, lines)

    @property
    def _kept(self) -> KeptRuns:
        return KeptRuns(self.kept.runs)


def load(
    directory: Path, outcomes: Mapping[str, Outcome] | None = None, study: Study | None = None
) -> RunData:
    """Read a run directory, finished or not, and compute the metrics of its runs.

    Args:
        directory: the run directory.
        outcomes: outcomes that are already known, by run name; the others are read.
        study: the study, if it is already loaded.

    Raises:
        RunDirectoryError: no study was planned here, or nothing of the plan is intact.
    """
    paths = RunDirectory(directory)
    lines = paths.plan_lines()
    if not lines:
        raise RunDirectoryError(_missing_text(paths, paths.plan_file))
    known = dict(outcomes or {})
    for line in lines:
        if line["run"] not in known:
            outcome = read_outcome(paths, line["run"])
            if outcome is not None:
                known[line["run"]] = outcome
    results = from_plan(
        lines,
        {run: (outcome.status.outcome, outcome.status.reason) for run, outcome in known.items()},
        {run: outcome.metrics for run, outcome in known.items()},
        criteria_of(paths),
        random_by_cell(paths, lines, {run: each.status.virtual_s for run, each in known.items()}),
        read_compared_by(paths),
    )
    results = with_harm(results)
    if asks_for_conformance(paths.study() or {}):
        results = with_conformance(results, KeptRuns(paths.runs))
    data = RunData(
        directory, results, paths.provenance(), paths.damage, study,
        directory.absolute(), tuple(line["run"] for line in lines if line["run"] not in known),
    )  # fmt: skip
    if any(not outcome.failed and not outcome.status.records_sha256 for outcome in known.values()):
        _note_changed_records(data, paths)
    return data


def asks_for_conformance(study: Mapping[str, Any]) -> bool:
    """Return whether a study's tables name the metric of conformance, for which records have to be
    read.
    """
    named = (study.get(table) for table in ("metrics", "figure", "claim", "expect"))
    return CONFORMANCE_RATIO.name in json.dumps(list(named), default=str)


def _note_changed_records(data: RunData, paths: RunDirectory) -> None:
    """Record as damage that records have changed since results were computed from them, in a
    directory that has no hashes of single runs.
    """
    known = paths.known_records_sha256()
    if known is not None and data.records_sha256 not in (None, known):
        paths.damage[paths.runs] = (
            "some records there are not those that the results were made of: records_sha256 in"
            f" {paths.summary_file.name} is another"
        )


def random_by_cell(
    directory: RunDirectory,
    lines: Sequence[Mapping[str, Any]],
    lasted_s: Mapping[str, float] | None = None,
) -> dict[int, tuple[str, ...]]:
    """Return what is random in each cell's runs, by the cell's index: from the plan, or for older
    plans from a kept job. Older plans list separately what stacks draw by themselves.

    In real time everything is random. A cell with neither plan nor job is left out.

    Args:
        directory: the run directory.
        lines: the lines of its plan.
        lasted_s: how long runs took on their own clock, in s, by their names.
    """
    cells = {line["cell"]: line for line in reversed(lines)}
    if clock_of(directory.provenance()) == "real":
        return dict.fromkeys(cells, (REAL_TIME,))
    kept = KeptRuns(directory.runs)
    longest_s: dict[int, float] = {}
    for line in lines:
        took_s = (lasted_s or {}).get(line["run"], 0.0)
        longest_s[line["cell"]] = max(took_s, longest_s.get(line["cell"], 0.0))
    found = {}
    for cell, line in cells.items():
        if "random" in line:
            later = line.get("random_later", {})
            found[cell] = (
                *line["random"],
                *line.get("own_draws", ()),
                *(name for name, after_s in later.items() if longest_s.get(cell, 0.0) > after_s),
            )
        elif (job := kept.job(line["run"])) is not None:
            jobs = [job, *filter(None, (kept.job(run) for run in _second_of(lines, line)))]
            found[cell] = randomness(
                job,
                start=len({tuple(one.start_ns for one in each.workloads) for each in jobs}) > 1,
                events=len({each.timeline.model_dump_json() for each in jobs}) > 1,
            )
    return found


def _second_of(lines: Sequence[Mapping[str, Any]], first: Mapping[str, Any]) -> list[str]:
    """Return a list with the name of one other run of the same cell; empty if there is none. If the
    jobs of both runs are compared, the times that differ are the random ones.
    """
    others = (each["run"] for each in lines if each["cell"] == first["cell"])
    return [run for run in others if run != first["run"]][:1]


def criteria_of(directory: RunDirectory) -> Criteria:
    """Return the criteria by which a run directory's results are judged.

    Args:
        directory: the run directory. In an older one, the error probability is divided evenly among
            its looks (interim tests).
    """
    usual = Criteria()
    relevant = (directory.study() or {}).get("relevant")
    looks = directory.provenance().get("looks", usual.looks)
    by_look: tuple[Look, ...] = ()
    if shares := directory.provenance().get("look_shares"):
        if sizes := directory.provenance().get("look_sizes"):
            by_look = tuple(map(Look, sizes, shares))
        else:
            by_look = older_looks((directory.study() or {}).get("replicates", 10), shares)
    return Criteria(usual.relevant if relevant is None else parse_ratio(relevant), looks, by_look)


def read_compared_by(directory: RunDirectory) -> ComparedBy:
    """Return what a run directory's study compares: its metrics, and the level to compare
    against.
    """
    raw = directory.study() or {}
    return ComparedBy(tuple(raw.get("metrics", ())), dict(raw.get("against", {})))


def read_study(directory: RunDirectory) -> Study:
    """Return the study of a run directory; see :attr:`RunData.study`."""
    raw = directory.study()
    file = directory.study_json
    if raw is None:
        error = ResultError if file in directory.damage else RunDirectoryError
        raise error(_missing_text(directory, file))
    as_read_then = older_sizes_in_bytes(raw)
    return study_from_mapping(as_read_then, file=str(file), question=directory.question())


def _missing_text(directory: RunDirectory, file: Path) -> str:
    """Return the reason why a file of a run directory cannot be read: it is damaged, or missing."""
    if file in directory.damage:
        return (
            f"{file} is damaged ({directory.damage[file]}): the command that made {directory.path}"
            " writes it anew, and does no run again"
        )
    return (
        f"{directory.path} is not a run directory (no {file.name}): name one that `netwarp run`"
        " made"
    )
