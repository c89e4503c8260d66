"""Statistics: estimates with confidence intervals, and comparisons of samples.

`stats.py` and `location.py` estimate means, and `comparison.py` compares two samples; `criteria.py`
and `staging.py` determine when replicates are added. `student.py` and `signed_rank.py` are
distributions, `levels.py` orders and spaces a factor's levels.

Invariant: no number of replicates is chosen by looking at a verdict, except for looks that share
out the error probability beforehand.
"""
