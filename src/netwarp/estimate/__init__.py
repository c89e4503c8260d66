"""Statistics: estimates with confidence intervals, and comparisons of samples.

`stats.py` and `location.py` say what can be said of a mean, `comparison.py` of two samples;
`criteria.py` and `staging.py` when replicates are added. `student.py` and `signed_rank.py` are
distributions, `levels.py` orders and spaces a factor's levels.

Invariant: no number of replicates is chosen by looking at a verdict, but for looks whose error is
shared out beforehand.
"""
