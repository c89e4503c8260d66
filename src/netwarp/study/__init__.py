"""Reads and validates studies, from TOML files or from command-line options, and builds their cells
with a job template for each.

TOML or options become a validated `Study`. `load.py` reads the file, `tables.py` keeps each value
with its place in the file, and `study.py` has the complete model, with its figures in
`figures.py`, its claims in `claims.py`, its bounds in `expectations.py`, and its controls and
sensitivities in `variants.py`. The folder `cells/` makes the cells: combinations of levels, with a
job template for each. Options are applied by `overrides.py`, `compare.py`, `exec.py` and
`expecting.py`; `outside.py` reads files and stacks that a study names. `bounds.py` limits a study's
size; `refusal.py` words errors, with the line from `toml_lines.py`.

Invariant: every key that is read has an effect. Unknown keys are refused, and so are combinations
that a transport cannot do.
"""

from netwarp.study.load import load_study
from netwarp.study.study import Study, StudyFile, study_from_mapping
