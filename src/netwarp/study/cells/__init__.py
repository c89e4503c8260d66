"""Builds the cells of a study from factors and levels, and validates each cell as a whole.

Sections and levels become cells: `factors.py` and `design.py` say which ones there are,
`builder.py` builds one, `competing.py` one in which several workloads share the path. `spec.py`
looks at a cell as a whole; `transport.py`, `association.py` (SCTP at handovers) and `sizing.py`
(queues, buffers) at its parts; `template.py` makes the job of its runs, but for seeds.
"""
