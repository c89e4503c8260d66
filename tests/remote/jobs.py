"""Jobs for a server, sound and not."""

from __future__ import annotations

from typing import Any

from netwarp.plan import plan_study
from netwarp.study import study_from_mapping
from netwarp.wire import Job


def job(transport: Any = "tcp", size: str = "1MB", **workload: Any) -> Job:
    """Give a job over a path that asks for nothing."""
    study = {
        "title": "remote test",
        "replicates": 1,
        "transport": {"buffer": "200KiB"},
        "workload": {"kind": "bulk", "size": size} | workload,
        "factors": {"transport": [transport]},
    }
    return plan_study(study_from_mapping(study))[0].job


def changed(sound: Job, **workload: Any) -> Job:
    """Give a job whose workload no planner would make."""
    return sound.with_only(workload=sound.only.workload.model_copy(update=workload))
