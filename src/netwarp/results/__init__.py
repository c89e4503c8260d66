"""Results of a study: runs grouped into cells, comparisons, and tables as files.

`results.py` groups runs into cells, `comparisons.py` compares contenders, and `harm.py` computes
how workloads affect each other. `fixed_conditions.py` lists the conditions that all cells share,
and `two_modes.py` finds cells with two modes. `parquet.py` writes the tables as files.
"""

from netwarp.results.results import (
    CellResult,
    ComparedBy,
    Factors,
    Results,
    RunResult,
    from_plan,
    without_levels,
)
