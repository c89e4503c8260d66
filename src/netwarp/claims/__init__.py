"""Judges the claims of a study by its results.

`evidence.py` and `trends.py` test a claim in one condition. `joining.py` joins conditions to a
verdict and claims to a family, and `sentences.py` words the result. `effects.py` estimates how a
control alters an effect, using `contrasts.py`; `bounds.py` tests claims that bound a lead, and
`open_questions.py` selects the cells that need more replicates.
"""

from netwarp.claims.claims import ClaimResult, evaluate_claim, evaluate_claims, not_tested
from netwarp.claims.joining import ClaimVerdict
