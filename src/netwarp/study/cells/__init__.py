"""Builds the cells of a study from factors and levels, and validates each cell as a whole.

`factors.py` and `design.py` determine which cells there are, `builder.py` builds a cell, and
`competing.py` one in which several workloads share the path. `cell_sections.py` checks a cell as a
whole, `transport.py`, `association.py` (SCTP at handovers) and `sizing.py` (queues, buffers) check
its parts, and `template.py` makes the job that its runs share, with seeds still missing.
"""
