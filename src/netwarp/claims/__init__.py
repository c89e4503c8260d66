"""Judges the claims of a study by its results."""

from netwarp.claims.claims import ClaimResult, evaluate_claim, evaluate_claims, not_tested
from netwarp.claims.joining import ClaimVerdict

__all__ = [
    "ClaimResult",
    "ClaimVerdict",
    "evaluate_claim",
    "evaluate_claims",
    "not_tested",
]
