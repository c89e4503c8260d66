"""Draws runs over time from jobs and records, in a chart of several panels.

`run_timeline.py`, `paths.py` and `sampled.py` read a run, purely; panels are made of
that, and `figure.py` puts them together.
"""
