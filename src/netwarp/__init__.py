"""Race transport protocols over a real Linux kernel in virtual time.

import netwarp

run = netwarp.compare(transport=["tcp", "quic"], size="10MB", rtt="100ms", loss=["0%", "1%"])
for cell in run.cells:
    print(dict(cell.factors), cell.estimate("completion_time_s").mean)
run.figure(0)

Modules are imported when they are first used, so that `import netwarp` is fast.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from netwarp.version import __version__ as __version__

if TYPE_CHECKING:
    from netwarp.errors import (
        BackendError,
        InputError,
        NetwarpError,
        RecordError,
        ResultError,
        RunDirectoryError,
        StudyError,
    )
    from netwarp.execution import Interrupted, Observer, Unobserved
    from netwarp.library import ProgramsRun, Run, compare, exec, run  # noqa: A004
    from netwarp.library import open_run as open  # noqa: A004
    from netwarp.metrics import METRICS, Metric, metrics_from_records
    from netwarp.plan import PlannedRun, plan_study
    from netwarp.plan.treatment import equal_treatment
    from netwarp.study import Study, load_study, study_from_mapping
    from netwarp.study.compare import study_from_compare
    from netwarp.wire import Job, Record, read_records

__all__ = [
    "METRICS",
    "BackendError",
    "InputError",
    "Interrupted",
    "Job",
    "Metric",
    "NetwarpError",
    "Observer",
    "PlannedRun",
    "ProgramsRun",
    "Record",
    "RecordError",
    "ResultError",
    "Run",
    "RunDirectoryError",
    "Study",
    "StudyError",
    "Unobserved",
    "compare",
    "equal_treatment",
    "exec",
    "load_study",
    "metrics_from_records",
    "open",
    "plan_study",
    "read_records",
    "run",
    "study_from_compare",
    "study_from_mapping",
]

_MODULES = {
    "netwarp.execution": ("Interrupted", "Observer", "Unobserved"),
    "netwarp.library": ("ProgramsRun", "Run", "compare", "exec", "run"),
    "netwarp.metrics": ("METRICS", "Metric", "metrics_from_records"),
    "netwarp.plan": ("PlannedRun", "plan_study"),
    "netwarp.plan.treatment": ("equal_treatment",),
    "netwarp.study": ("Study", "load_study", "study_from_mapping"),
    "netwarp.study.compare": ("study_from_compare",),
    "netwarp.wire": ("Job", "Record", "read_records"),
}
_PLACES = {name: (module, name) for module, names in _MODULES.items() for name in names}
_PLACES["open"] = ("netwarp.library", "open_run")


def __getattr__(name: str) -> Any:
    """Import a public name on first use. The module of errors, which is quick to import, provides
    the rest of `__all__`.
    """
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module, attribute = _PLACES.get(name, ("netwarp.errors", name))
    return getattr(import_module(module), attribute)


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
