"""Runs small studies in real guests and hands their records back."""

from __future__ import annotations

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from netwarp.backends.virtual import VirtualBackend
from netwarp.execution import run_job
from netwarp.metrics import metrics_from_records
from netwarp.plan import PlannedRun, plan_study
from netwarp.run_directory import RECORDS_FILE
from netwarp.run_status import Status
from netwarp.study import study_from_mapping
from netwarp.wire import Calibration, Connection, Record, read_records

ALL = ("tcp", "tls", "sctp", "quic")


@dataclass(frozen=True)
class Measured:
    """One run that was carried out."""

    planned: PlannedRun
    status: Status
    path: Path

    @property
    def transport(self) -> str:
        return self.planned.cell.levels["transport"]

    @property
    def records(self) -> list[Record]:
        return read_records(self.path / RECORDS_FILE)

    @property
    def metrics(self) -> dict[str, float]:
        return metrics_from_records(self.planned.job, self.records)

    def calibration(self, direction: str) -> Calibration:
        (found,) = (
            record
            for record in self.records
            if isinstance(record, Calibration) and record.direction == direction
        )
        return found

    def connection(self, side: str) -> Connection:
        (found,) = (
            record
            for record in self.records
            if isinstance(record, Connection) and record.side == side
        )
        return found


def run_study_cells(
    place: Path,
    path: dict[str, Any],
    *,
    transports: Sequence[Any] = ALL,
    replicates: int = 1,
    seed: int = 1,
    capture: bool = False,
    **workload: Any,
) -> list[Measured]:
    """Carry out a study of one condition, all CPUs busy; every run must succeed."""
    study = study_from_mapping(
        {
            "title": "guest test",
            "replicates": replicates,
            "seed": seed,
            "path": path,
            "workload": workload if "kind" in workload else {"size": "1MB", **workload},
            "factors": {"transport": list(transports)},
            **({"capture": "pcap"} if capture else {}),
        }
    )
    measured = run_study(plan_study(study), place)
    for run in measured:
        assert run.status.outcome == "ok", f"{run.planned.run}: {run.status.reason}"
    return measured


def run_study(plan: Sequence[PlannedRun], place: Path, jobs: int | None = None) -> list[Measured]:
    """Carry out runs, however they end."""
    backend = VirtualBackend()

    def one(numbered: tuple[int, PlannedRun]) -> Measured:
        number, planned = numbered
        path = place / planned.run
        outcome = run_job(backend, planned.job, path, slot=number)
        return Measured(planned, outcome.status, path)

    with ThreadPoolExecutor(max_workers=jobs or len(os.sched_getaffinity(0))) as pool:
        return list(pool.map(one, enumerate(plan)))
