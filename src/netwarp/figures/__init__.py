"""Draws the figures of a study as charts.

`figures.py` selects and draws the figures of a study. `kinds/` has a file for each kind of figure,
which uses `marks.py`, `layout.py`, `rows.py`, `encodings.py` and `style.py`; `drift.py` draws a
path by the time of day.
"""

from netwarp.figures.figures import default_figures, draw_all, write_chart
