"""Bisects a regression of the kernel: which commit broke an expectation of a study.

`search.py` decides which commit is examined next, and when the search is over; `log.py` writes and
reads the log, by which a search is resumed; `steps.py` examines one commit: builds it, runs the
study on it and judges the expectations; `found.py` words the result.

Invariant: the search itself is pure. Commits, builds and runs come in as arguments.
"""
