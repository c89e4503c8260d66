"""Draws runs over time from jobs and records, in a chart of several panels.

`run_timeline.py`, `paths.py`, `sampled.py` and `shares.py` read a run, purely; panels are made of
that, and `figure.py` puts them together.
"""
