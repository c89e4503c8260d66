"""Builds the cells of a study from factors and levels, and validates each cell as a whole.

`factors.py` and `design.py` determine which cells there are, `builder.py` builds a cell, and
`competing_builder.py` one in which several workloads share the path or, by `several_hosts.py` and
`network_of_layout.py`, a network. `cell_sections.py` checks a cell as a whole, `cell_transport.py`,
`association.py` (SCTP at handovers), `path_direction.py` (queues) and `buffers.py` check its parts,
and `template.py` makes the job that its runs share, without seeds, which the plan adds.
"""
