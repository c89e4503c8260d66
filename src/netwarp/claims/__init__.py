"""Estimates × claims → verdicts."""

from netwarp.claims.claims import (
    ClaimResult,
    ClaimVerdict,
    evaluate_claim,
    evaluate_claims,
    not_tested,
)

__all__ = [
    "ClaimResult",
    "ClaimVerdict",
    "evaluate_claim",
    "evaluate_claims",
    "not_tested",
]
