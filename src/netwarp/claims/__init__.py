"""Judges the claims of a study by its results.

`evidence.py` and `trends.py` say what a condition shows, `joining.py` joins conditions to a verdict
and claims to a family, `sentences.py` says it. `effects.py` tells what a control alters, over
`contrasts.py`; `bounds.py` is about leads that are bounded, `open_questions.py` about cells that
need more.
"""

from netwarp.claims.claims import ClaimResult, evaluate_claim, evaluate_claims, not_tested
from netwarp.claims.joining import ClaimVerdict
