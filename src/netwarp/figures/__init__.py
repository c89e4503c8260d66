"""Draws the figures of a study as charts.

`figures.py` says which figures there are, `kinds/` has a file for each kind, over `marks.py`,
`layout.py`, `rows.py`, `encodings.py` and `style.py`; `drift.py` draws a path by the time of day.
"""

from netwarp.figures.figures import default_figures, draw_all, write_chart
