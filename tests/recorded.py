"""A run directory whose runs are all the golden session: for what looks at runs over time."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from netwarp.plan import plan_study
from netwarp.plan.treatment import equal_treatment
from netwarp.run_directory import JOB_FILE, RunDirectory
from netwarp.run_files import write_json
from netwarp.run_status import Status
from netwarp.study import study_from_mapping
from netwarp.wire import Job, Record, job_to_json, record_to_json
from sessions import STREAM_JOB, golden_records

TRANSPORTS = ("tcp", "quic")
STUDY: dict[str, Any] = {
    "title": "A player on the move",
    "replicates": 3,
    "workload": {"kind": "bulk", "size": "1MB"},
    "path": {"rtt": "100ms"},
    "factors": {"transport": list(TRANSPORTS), "path.loss": ["0%", "1%"]},
    "figure": [{"kind": "timeline", "series": "transport", "where": {"path.loss": "1%"}}],
}


class Kept:
    """Every run is the golden session, over its transport."""

    def job(self, run: str) -> Job:
        kind = TRANSPORTS[int(run[1:4]) // 2]
        transport = STREAM_JOB.only.transport.model_copy(update={"kind": kind})
        return STREAM_JOB.with_only(transport=transport).model_copy(update={"run": run})

    def records(self, run: str) -> list[Record]:
        return golden_records()


def write_directory(path: Path) -> Path:
    """Write a run directory whose runs are all the golden session."""
    directory = RunDirectory(path)
    directory.runs.mkdir(parents=True)
    study = study_from_mapping(STUDY)
    plan = plan_study(study)
    write_json(directory.study_json, study.raw)
    directory.write_plan(run.to_json() for run in plan)
    provenance = {"virtual_s": 1.0, "wall_s": 1.0, "equal_treatment": equal_treatment(study)}
    write_json(directory.provenance_file, provenance)
    for planned in plan:
        partial = directory.begin(planned.run)
        (partial / JOB_FILE).write_text(job_to_json(Kept().job(planned.run)))
        lines = "".join(record_to_json(each) + "\n" for each in golden_records())
        (partial / "records.jsonl").write_text(lines)
        directory.finish(planned.run, Status("ok", None, 0.5, 0.4, 90 << 20, 6.0))
    return path
