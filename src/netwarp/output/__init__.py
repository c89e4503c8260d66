"""Output of a study's results: tables, a JSON object, other formats, and comparisons.

`table.py` is for a terminal, `summary.py` for scripts, `export.py` for other programs. `diff.py`
compares two directories, `agreement.py` virtual time with real time, `disagreement.py` says why
cells differ, `program_runs.py` what `exec` tells.
"""
