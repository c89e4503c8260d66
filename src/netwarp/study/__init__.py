"""Reads and validates studies, from TOML files or from command-line options.

TOML or options become a validated `Study`. `load.py` reads the file, `tables.py` keeps each value
with the place where it was written, `study.py` has all of it, `questions.py` its figures,
`claims.py` its claims, `variants.py` its controls and sensitivities. Options come by
`overrides.py`, `compare.py` and `exec.py`; `outside.py` reads files and stacks that a study names.
`bounds.py` says how large one may be, `refusal.py` what is wrong, `toml_lines.py` in which line.

Invariant: a key that is read is a key that acts. Unknown keys are refused, and so are combinations
that a transport cannot do.
"""

from netwarp.study.load import load_study
from netwarp.study.study import Study, StudyFile, study_from_mapping
