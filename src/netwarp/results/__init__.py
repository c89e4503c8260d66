"""Results of a study: runs grouped into cells, comparisons, and tables as files.

`results.py` groups runs, `comparisons.py` says who was ahead, `harm.py` what workloads do to each
other, `fixed_conditions.py` what was the same in all. `parquet.py` writes the tables as files.
"""

from netwarp.results.results import (
    CellResult,
    Factors,
    Question,
    Results,
    RunResult,
    from_plan,
    without_levels,
)
