"""Judges the claims of a study by its results.

`conditions.py` groups cells, and `evidence.py` and `trends.py` test a claim in one condition.
`joining.py` combines conditions into a verdict, and adjusts the claims of a study as one family,
and `sentences.py` writes the result as text. `expectations.py` judges bounds with the same tests,
and `expected_sentences.py` writes the result as text. `effects.py` estimates how a control alters
an effect, using `contrasts.py`; `bounds.py` tests claims that bound a lead (how much better one
cell is than another), `open_questions.py` selects the cells that need more replicates, and
`too_few.py` finds the questions that the planned ones cannot answer. `published.py` tests claims
that give a number.
"""

from netwarp.claims.claims import ClaimResult, evaluate_claims, not_tested
from netwarp.claims.expectations import ExpectationResult, Kept, evaluate_expectations
from netwarp.claims.joining import ClaimVerdict
