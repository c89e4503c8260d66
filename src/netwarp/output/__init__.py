"""Output of a study's results: tables, a JSON object, other formats, and comparisons.

`table.py` prints to a terminal, `summary.py` writes an object for scripts, and `export.py` converts
to formats of other programs. `diff.py` compares two directories, `agreement.py` virtual time with
real time, and `disagreement.py` finds reasons why cells differ. `program_runs.py` makes the texts
that `exec` prints.
"""
