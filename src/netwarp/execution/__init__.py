"""Jobs × backend × executor → run directory.

`executor.py` carries many runs out, in `local.py` here or in `cluster/` elsewhere, by the name that
`opening.py` knows; `outcome.py` reads what came of one. `cost.py` expects what a run takes,
`provenance.py` notes what numbers depend on, `program_output.py` passes on what programs print.

Invariant: a run has its proper name only when its `end` record is there, so what is interrupted can
go on.
"""

from netwarp.execution.executor import (
    Executor,
    Interrupted,
    execute,
    kept_outcomes,
    refuse_jobs,
)
from netwarp.execution.local import LocalExecutor
from netwarp.execution.observer import Observer, Unobserved
from netwarp.execution.outcome import Outcome, read_outcome, run_job
