"""Expands a study into its runs, in the order in which they are carried out.

Runs are ordered by replicate first. So slow changes on the host while a study runs affect all cells
alike, and a study that is ended early has complete replicates.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from netwarp.collector import paused_collector
from netwarp.fields import KeyValueError
from netwarp.plan.job_text import EVENTS, START, JobText, JobWriter
from netwarp.plan.random_times import drawn_slots, drawn_times
from netwarp.plan.randomness import drawn_later, randomness
from netwarp.plan.seeds import replicate_seeds
from netwarp.regular_files import regular_file_size
from netwarp.study import Study
from netwarp.study.cells.design import Cell, select_cells
from netwarp.study.figures import resolve_levels
from netwarp.study.overrides import COMMAND_LINE
from netwarp.study.refusal import Refusals
from netwarp.wire import Exchange, Job, job_from_json
from netwarp.workloads import WORKLOADS, FileSize


@dataclass(frozen=True)
class PlannedRun:
    """One replicate of one cell, ready for a backend."""

    cell: Cell
    replicate: int
    """Number of the replicate, from 0."""
    text: JobText = field(repr=False)
    """The job of the cell's runs as JSON, with slots for values that differ from run to run."""
    seeds: Mapping[str, int] = field(repr=False)
    """Seeds by the name of their slot; they are the same in all runs of the replicate."""
    times: Mapping[str, int | str] = field(repr=False, default_factory=dict)
    """Random times by the name of their slot, in ns of the run's clock; empty if the cell has
    none.
    """

    random: tuple[str, ...] = ()
    """What is random in the cell's runs, such as `loss`; empty if all replicates are the same."""
    random_later: Mapping[str, float] = field(default_factory=dict)
    """What is random only in runs that last longer than a time: that time in s, by its name."""

    @cached_property
    def run(self) -> str:
        """The run's name, such as ``c003-r01``."""
        return f"c{self.cell.index:03d}-r{self.replicate:02d}"

    @property
    def job(self) -> Job:
        """The run's job, which is made at each access: a hundred thousand jobs would take a
        gigabyte.
        """
        return job_from_json(self.job_json, self.run)

    @property
    def job_json(self) -> str:
        """The text of the run's `job.json`."""
        return self.text.job_json(self.run, {**self.seeds, **self.times})

    @cached_property
    def job_sha256(self) -> str:
        """Hash of the job without the run's name: equal hashes mean equal measurements."""
        return self.text.job_sha256({**self.seeds, **self.times})

    def to_json(self) -> dict[str, Any]:
        """Return the run's line in `plan.jsonl`."""
        return {
            "run": self.run,
            "cell": self.cell.index,
            "replicate": self.replicate,
            "seed": self.seeds["run"],
            "factors": dict(self.cell.levels),
            "job_sha256": self.job_sha256,
            "random": list(self.random),
            **({"random_later": dict(self.random_later)} if self.random_later else {}),
        }


def file_size(path: str) -> int:
    """Return the size of a workload's file in bytes.

    Raises:
        UnreadableFileError: it cannot be read.
    """
    return regular_file_size(Path(path))


@paused_collector()
def plan_study(
    study: Study, *, filters: Sequence[str] = (), size_of: FileSize = file_size
) -> list[PlannedRun]:
    """Return all runs of a study, in the order in which they are carried out.

    Args:
        study: the study, which has been validated.
        filters: ``FACTOR=LEVEL`` each, see :func:`filter_cells`.
        size_of: returns the size of a workload's file in bytes.

    Raises:
        StudyError: a filter selects nothing, or a file cannot be read.
    """
    writer = JobWriter()
    with study.refusals.as_study_errors():
        texts = [
            (cell, writer.text(_with_file_sizes(cell, size_of), drawn_slots(cell), _places(cell)))
            for cell in filter_cells(study, filters)
        ]
    paths = max((len(cell.template.paths) for cell, _ in texts), default=0)
    workloads = max((place + 1 for cell, _ in texts for place in _places(cell)), default=1)
    randoms = [(randomness_of(cell), drawn_later(cell.template)) for cell, _ in texts]
    runs = []
    for replicate in range(study.replicates):
        seeds = replicate_seeds(study.seed, replicate, paths, workloads)
        runs += [
            PlannedRun(
                cell, replicate, text, seeds, drawn_times(cell, study.seed, replicate), *random
            )
            for (cell, text), random in zip(texts, randoms, strict=True)
        ]
    return runs


def randomness_of(cell: Cell) -> tuple[str, ...]:
    """Return what is random in a cell's runs, by name; empty if replicates in virtual time are the
    same.
    """
    drawn = drawn_slots(cell)
    starts = any(slot.startswith(START) for slot in drawn)
    return randomness(cell.template, start=starts, events=EVENTS in drawn)


def filter_cells(study: Study, filters: Iterable[str]) -> list[Cell]:
    """Return the cells that ``FACTOR=LEVEL`` or ``FACTOR=LEVEL,LEVEL`` select.

    A cell is selected if it has one of the listed levels of every factor that is named. Cells keep
    their indices.

    Raises:
        StudyError: a filter is not FACTOR=LEVEL, or there is no such factor or level.
    """
    wanted: dict[str, list[str]] = {}
    with Refusals(COMMAND_LINE).as_study_errors():
        for text in filters:
            key, equals, levels = text.partition("=")
            key = key.strip().replace('"', "")
            if not equals:
                remedy = "such as --filter transport=quic"
                raise KeyValueError("--filter", text, "not FACTOR=LEVEL", remedy)
            for level in levels.split(","):
                found = resolve_levels({key: level}, study.factors, "--filter")
                wanted.setdefault(key, []).append(found[key])
    return list(select_cells(study.cells, wanted))


def _places(cell: Cell) -> list[int]:
    """Return the index in the study of each of a cell's workloads."""
    return [each.index for each in cell.workloads] or [0]


def _with_file_sizes(cell: Cell, size_of: FileSize) -> Job:
    """Return the cell's job with the sizes of files that it sends, in bytes."""
    job = cell.template
    sized = tuple(_sized(each, size_of) for each in job.workloads)
    unchanged = all(one is other for one, other in zip(sized, job.workloads, strict=True))
    return job if unchanged else job.model_copy(update={"workloads": sized})


def _sized(one: Exchange, size_of: FileSize) -> Exchange:
    workload = WORKLOADS[one.workload.kind].with_file_size(one.workload, size_of)
    return one if workload is one.workload else one.model_copy(update={"workload": workload})
