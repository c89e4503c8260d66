"""Run directories as they were written while jobs had format 1."""

from __future__ import annotations

import json
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from netwarp.run_directory import JOB_FILE, RunDirectory

if TYPE_CHECKING:
    from pathlib import Path


def in_format_1(job: dict[str, Any]) -> dict[str, Any]:
    """Write a job with its first workload among its own keys, and the others in `competing`."""
    first, *others = job["workloads"]
    rest = {key: value for key, value in job.items() if key != "workloads"}
    return {**rest, **first, "competing": others, "format": 1}


def rewrite_in_format_1(path: Path) -> None:
    """Rewrite the jobs of a run directory, and their hashes in its plan, in format 1."""
    directory = RunDirectory(path)
    lines = directory.plan_lines()
    for line in lines:
        file = directory.run_path(line["run"]) / JOB_FILE
        job = in_format_1(json.loads(file.read_text()))
        file.write_text(_canonical(job) + "\n")
        hashed = _canonical({key: value for key, value in job.items() if key != "run"})
        line["job_sha256"] = sha256(hashed.encode()).hexdigest()
    directory.write_plan(lines)


def _canonical(value: object) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"))
