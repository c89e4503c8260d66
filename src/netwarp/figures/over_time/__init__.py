"""Draws runs over time from jobs and records, in a chart of several panels.

`run_timeline.py`, `paths.py` and `sampled.py` read a run and are pure. `plots.py`, `panels.py`,
`sampled_panels.py` and `waterfall.py` make panels from that, and `figure.py` combines the panels to
a figure.
"""
