"""Bisects a regression of the kernel: which commit broke an expectation of a study.

`search.py` decides which commit is examined next, and when the search is over; it is pure, so
commits and their answers are its arguments. `bisection.py` carries the search out, `log.py` writes
and reads the log by which it is resumed, `judging.py` turns a study's expectations, or differences
from the good commit, into an answer, and `picture.py` draws what was measured before and after.
"""
