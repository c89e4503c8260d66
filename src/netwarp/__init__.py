"""Race transport protocols over a real Linux kernel in virtual time.

from pathlib import Path
import netwarp

study = netwarp.load_study(Path("studies/loss-sweep.toml"))
for planned in netwarp.plan_study(study):
    print(planned.run, dict(planned.cell.levels))
"""

from netwarp.errors import (
    BackendError,
    InputError,
    NetwarpError,
    RecordError,
    ResultError,
    RunDirectoryError,
    StudyError,
)
from netwarp.metrics import METRICS, Metric, metrics_from_records
from netwarp.plan import PlannedRun, plan_study
from netwarp.plan.treatment import equal_treatment
from netwarp.study import Study, load_study, study_from_mapping
from netwarp.study.compare import study_from_compare
from netwarp.wire import Job, Record, read_records

__version__ = "0.1.0"

__all__ = [
    "METRICS",
    "BackendError",
    "InputError",
    "Job",
    "Metric",
    "NetwarpError",
    "PlannedRun",
    "Record",
    "RecordError",
    "ResultError",
    "RunDirectoryError",
    "Study",
    "StudyError",
    "equal_treatment",
    "load_study",
    "metrics_from_records",
    "plan_study",
    "read_records",
    "study_from_compare",
    "study_from_mapping",
]
