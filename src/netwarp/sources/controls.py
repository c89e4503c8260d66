"""Makes the study of a control: the cells of its claims with one thing changed."""

from __future__ import annotations

from dataclasses import replace

from netwarp.study import Study, study_from_mapping
from netwarp.study.claims import Control
from netwarp.study.overrides import apply_quick


def control_study(study: Study, control: Control) -> Study:
    """Make the study that a control runs; its claims are those that name the control.

    Raises:
        StudyError: the changed study is invalid, or lacks a claim's levels.
    """
    claims = [
        {
            **{key: value for key, value in raw.items() if key not in ("control", "why")},
            "id": claim.id,
        }
        for raw, claim in zip(study.raw["claim"], study.claims, strict=True)
        if claim.control == control.id
    ]
    unchanged = {key: value for key, value in study.raw.items() if key not in ("figure", "control")}
    tables = apply_quick(
        {**unchanged, "title": f"{study.title}: {control.text}", "claim": claims,
         "quick": control.change}
    )  # fmt: skip
    changed = study_from_mapping(tables, file=f"{study.file} (control {control.id})")
    return replace(changed, question=control.text)
