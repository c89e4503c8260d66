"""Carries out jobs on a backend by an executor, and writes their results to a run directory.

`executor.py` carries out all runs of a plan, with an executor that `opening.py` opens by its name:
`local.py` on this machine, or `cluster/` on others. `outcome.py` carries out one job and reads its
outcome. `cost.py` estimates how long runs take, `provenance.py` records what results depend on, and
`program_output.py` passes on what programs print.

Invariant: a run gets its final name only once its `end` record is written, so an interrupted
execution can be resumed.
"""

from netwarp.execution.executor import Executor, Interrupted, execute, kept_outcomes, refuse_jobs
from netwarp.execution.local import LocalExecutor
from netwarp.execution.observer import Observer, Unobserved
from netwarp.execution.outcome import Outcome, read_outcome, run_job
