"""netwarp as a library: run or compare, and inspect the results.

The command line is built on it. In a notebook it is used like this::

    import netwarp

    run = netwarp.compare(transport=["tcp", "quic"], size="10MB", rtt="100ms", loss=["0%", "1%"])
    times = run.frame().select("transport", "path.loss", "completion_time_s")
    times.group_by("transport", "path.loss").mean()
    run.figure(0)
"""

from netwarp.library.backends import backend_at, backend_for
from netwarp.library.calls import (
    compare,
    divided,
    exec,  # noqa: A004
    expected,
    load,
    open_run,
    run,
    run_in_real_time,
)
from netwarp.library.results import ProgramsRun, Run
from netwarp.library.staging import staging_of, time_limit

__all__ = [
    "ProgramsRun",
    "Run",
    "backend_at",
    "backend_for",
    "compare",
    "divided",
    "exec",
    "expected",
    "load",
    "open_run",
    "run",
    "run_in_real_time",
    "staging_of",
    "time_limit",
]
