"""Study → ordered Cells and seeds → jobs.

Runs are ordered by replicate first: whatever drifts on the host while a study runs meets all cells
alike, and a study cut short has whole replicates.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from netwarp import wire
from netwarp.errors import StudyError
from netwarp.plan.seeds import content_seed, path_seed, redraw_seed, run_seed
from netwarp.regular_files import UnreadableFileError, regular_file_size
from netwarp.study import Study
from netwarp.study.cells.conditions import Conditions
from netwarp.study.cells.factors import DIRECTIONS, Cell, select_cells
from netwarp.study.cells.sizing import buffer_bytes, limit_packets, shaper_queue_bytes
from netwarp.study.questions import resolve_levels
from netwarp.study.sections.fields import Gemodel, LossModel
from netwarp.study.sections.workload import WorkloadSection
from netwarp.study.toml_lines import line_of
from netwarp.units import NS_PER_S
from netwarp.wire import FORMAT, Direction, Job, job_sha256, job_to_json

FileSize = Callable[[str], int]


@dataclass(frozen=True)
class PlannedRun:
    """One replicate of one cell, ready for a backend."""

    cell: Cell
    replicate: int
    """Counted from 0."""
    job: Job

    @property
    def run(self) -> str:
        """Its name, such as ``c003-r01``."""
        return self.job.run

    @cached_property
    def job_json(self) -> str:
        """The job as its file has it."""
        return job_to_json(self.job)

    @cached_property
    def job_sha256(self) -> str:
        """Hash of what the run does: equal hashes give equal measurements."""
        return job_sha256(self.job)

    def to_json(self) -> dict[str, Any]:
        """Fields for the plan file."""
        return {
            "run": self.run,
            "cell": self.cell.index,
            "replicate": self.replicate,
            "seed": self.job.seed,
            "factors": dict(self.cell.levels),
            "job_sha256": self.job_sha256,
        }


def file_size(path: str) -> int:
    """Look up the size of a workload's file in bytes.

    Raises:
        UnreadableFileError: it cannot be read.
    """
    return regular_file_size(Path(path))


def plan_study(
    study: Study, *, filters: Sequence[str] = (), size_of: FileSize = file_size
) -> list[PlannedRun]:
    """Plan all runs of a study, in the order to run them.

    Args:
        study: validated.
        filters: ``FACTOR=LEVEL`` each, see :func:`filter_cells`.
        size_of: looks up the size of a workload's file.

    Raises:
        StudyError: a filter that selects nothing, or a file that cannot be read.
    """
    cells = filter_cells(study, filters)
    sizes_bytes = {
        cell.index: _content_size_bytes(cell.conditions, study, size_of) for cell in cells
    }
    return [
        PlannedRun(cell, replicate, _job(study, cell, replicate, sizes_bytes[cell.index]))
        for replicate in range(study.replicates)
        for cell in cells
    ]


def filter_cells(study: Study, filters: Iterable[str]) -> list[Cell]:
    """Select cells by ``FACTOR=LEVEL`` or ``FACTOR=LEVEL,LEVEL``.

    Levels of one factor add up, different factors restrict each other. Cells keep their indices.

    Raises:
        StudyError: not FACTOR=LEVEL, or no such factor or level.
    """
    wanted: dict[str, list[str]] = {}
    for text in filters:
        key, equals, levels = text.partition("=")
        key = key.strip().replace('"', "")
        if not equals:
            raise StudyError(
                "not FACTOR=LEVEL",
                file="command line",
                key="--filter",
                value=text,
                remedy="such as --filter transport=quic",
            )
        for level in levels.split(","):
            found = resolve_levels({key: level}, study.factors, "--filter", study.file)
            wanted.setdefault(key, []).append(found[key])
    return list(select_cells(study.cells, wanted))


def _content_size_bytes(conditions: Conditions, study: Study, size_of: FileSize) -> int:
    workload = conditions.workload
    if workload.file is None:
        return workload.size_bytes or 0  # a medium has no size of its own

    def refusal(reason: str, remedy: str) -> StudyError:
        key, value = "workload.file", workload.file
        line = line_of(study.lines, key)
        return StudyError(reason, file=study.file, line=line, key=key, value=value, remedy=remedy)

    try:
        size_bytes = size_of(workload.file)
    except UnreadableFileError as error:
        raise refusal(error.reason, "name a readable file") from None
    if size_bytes == 0:
        raise refusal("the file is empty", "name one with content")
    if conditions.chunks > size_bytes:
        reason = f"a file of {size_bytes} bytes has no {conditions.chunks} parts"
        raise refusal(reason, "choose fewer chunks or a larger file")
    return size_bytes


def _job(study: Study, cell: Cell, replicate: int, size_bytes: int) -> Job:
    conditions = cell.conditions
    return Job(
        format=FORMAT,
        run=f"c{cell.index:03d}-r{replicate:02d}",
        seed=run_seed(study.seed, replicate),
        paths=tuple(
            wire.Path(
                mtu_bytes=path.mtu_bytes,
                attached=index == 0 or not conditions.has_handovers,
                down=_impairments(conditions, "down", index, study.seed, replicate),
                up=_impairments(conditions, "up", index, study.seed, replicate),
            )
            for index, path in enumerate(conditions.paths)
        ),
        transport=_transport(conditions),
        workload=_workload(conditions, content_seed(study.seed, replicate), size_bytes),
        timeline=_timeline(conditions, study.seed, replicate),
        capture=study.capture is not None,
        limits=wire.Limits(virtual_ns=conditions.limits.virtual_s * NS_PER_S),
    )


def _impairments(
    conditions: Conditions, direction: Direction, index: int, study_seed: int, replicate: int
) -> wire.Impairments:
    impairments = conditions.paths[index].impairments(direction)
    return wire.Impairments(
        delay_ns=impairments.delay_ns,
        jitter_ns=impairments.jitter_ns,
        jitter_correlation=impairments.jitter_correlation,
        distribution=impairments.distribution,
        loss=_loss(impairments.loss, impairments.loss_correlation),
        rate_bit_s=impairments.rate_bit_s,
        limit_packets=limit_packets(conditions, direction, index),
        shaper_queue_bytes=shaper_queue_bytes(conditions, direction, index),
        reorder=wire.Reorder(
            ratio=impairments.reorder.ratio,
            correlation=impairments.reorder.correlation,
            gap=impairments.reorder.gap,
        ),
        duplicate_ratio=impairments.duplicate_ratio,
        corrupt_ratio=impairments.corrupt_ratio,
        seed=path_seed(study_seed, replicate, index, direction),
    )


def _loss(loss: LossModel, correlation: float) -> wire.Loss:
    if isinstance(loss, Gemodel):
        return wire.GemodelLoss(
            kind="gemodel", p=loss.p, r=loss.r, loss_bad=loss.loss_bad, loss_good=loss.loss_good
        )
    if loss.ratio == 0:
        return wire.NoLoss(kind="none")
    return wire.RandomLoss(kind="random", ratio=loss.ratio, correlation=correlation)


def _transport(conditions: Conditions) -> wire.Transport:
    transport = conditions.transport
    return wire.Transport(
        kind=transport.kind,
        congestion=transport.resolved_congestion,
        buffer_bytes=buffer_bytes(conditions),
        initial_window_packets=transport.resolved_initial_window_packets(conditions.path.mtu_bytes),
        mss_bytes=transport.resolved_mss_bytes,
        nodelay=transport.nodelay,
        resume=transport.resume,
        reconnect=conditions.reconnect,
        tcp=transport.resolved_tcp,
        sctp=transport.resolved_sctp,
    )


def _timeline(conditions: Conditions, study_seed: int, replicate: int) -> wire.Timeline:
    return wire.Timeline(
        events=conditions.events,
        redraws=tuple(
            wire.Redraw(
                path=index,
                period_ns=path.redraw.period_ns,
                mean_ns=path.base_rtt_ns,
                deviation_ns=path.redraw.deviation_ns,
                seed=redraw_seed(study_seed, replicate, index),
            )
            for index, path in enumerate(conditions.paths)
            if path.redraw is not None
        ),
        traces=tuple(
            wire.Trace(
                path=index,
                direction=direction,
                step_ns=trace.step_ns,
                rates_bit_s=trace.rates_bit_s,
            )
            for index, path in enumerate(conditions.paths)
            for direction in DIRECTIONS
            if (trace := path.impairments(direction).trace) is not None
        ),
    )


def _workload(conditions: Conditions, seed: int, size_bytes: int) -> wire.Workload:
    if conditions.workload.kind == "stream":
        return _stream(conditions.workload, seed)
    workload = conditions.workload
    content: wire.Content
    if workload.file is None:
        content = wire.Seeded(kind="seeded", seed=seed, size_bytes=size_bytes)
    else:
        content = wire.FileContent(kind="file", path=workload.file, size_bytes=size_bytes)
    return wire.Bulk(
        kind="bulk",
        direction=workload.direction,
        content=content,
        verify=workload.verify,
        chunks=conditions.chunks,
        dial=workload.dial,
        transfers=workload.transfers,
    )


def _stream(workload: WorkloadSection, seed: int) -> wire.Stream:
    return wire.Stream(
        kind="stream",
        seed=seed,
        segments=workload.segments,
        segment_ns=workload.segment_ns,
        qualities=tuple(
            wire.Quality(name=name, segment_bytes=size_bytes)
            for name, size_bytes in workload.qualities.items()
        ),
        rule=workload.wire_rule,
        watch_ns=workload.watch_ns,
        start_buffer_ns=workload.resolved_start_buffer_ns,
        buffer_ns=workload.resolved_buffer_ns,
        seek_ratio=workload.seek_ratio,
        verify=workload.verify,
    )
