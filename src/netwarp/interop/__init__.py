"""Interoperability of QUIC implementations: all pairs of stacks × the QUIC interop runner's test
cases.

`plan.py` makes a study of each case, whose contenders are the pairs; `run.py` runs them and judges
each run by its packets (`packets.py`, `checks.py`); `grid.py` combines the runs to a grid of
results, which `runner_json.py` and `page.py` write to files.
"""

from netwarp.interop.grid import Field, Grid
from netwarp.interop.plan import Asked
from netwarp.interop.run import run_grid

__all__ = ["Asked", "Field", "Grid", "run_grid"]
