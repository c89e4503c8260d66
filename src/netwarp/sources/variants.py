"""Makes the studies of controls and sensitivities: a study's cells with one change."""

import copy
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from netwarp.estimate.comparison import ALPHA
from netwarp.estimate.unseen import least_different
from netwarp.regular_files import is_file
from netwarp.sources.shipped import PLACES, SOURCE_FILE
from netwarp.study import Study, study_from_mapping
from netwarp.study.claims import Claim
from netwarp.study.overrides import apply_quick
from netwarp.study.variants import Control, Sensitivity


def not_run_text(study: Study) -> str:
    """Return a note that `run` does not run a study's controls or sensitivities, with the command
    that does; empty if it has none.
    """
    names = []
    if controls := len(study.controls):
        names.append(f"{controls} control{'s' * (controls > 1)}")
    if others := len(study.sensitivities):
        names.append(f"{others} {'sensitivities' if others > 1 else 'sensitivity'}")
    folder = Path(study.file).parent
    remedy = (
        f"`netwarp reproduce FOLDER` runs them, where a {SOURCE_FILE} beside the study names it"
    )
    if is_file(folder / SOURCE_FILE):
        name = folder.name if folder.parent in PLACES else folder.absolute()
        remedy = f"`netwarp reproduce {name}` runs them"
    return (
        f"`netwarp run` leaves out the study's {' and '.join(names)}, so no claim gets a reason or"
        f" is judged under other choices: {remedy}"
    )


def control_study(study: Study, control: Control) -> Study:
    """Return the study of a control. It has no claims, because effects are compared and not
    verdicts.

    It has the study's first replicates, but at most as many as are needed for Student's t to have
    half of each effect's error probability. It needs fewer than the study, because it is tested
    only once, with the whole error probability.

    Raises:
        StudyError: the changed study is invalid.
    """
    effects = sum(claim.control is not None for claim in study.claims)
    enough = least_different(ALPHA / 2 / max(1, effects))
    change = {"replicates": min(enough, study.replicates), **control.change}
    return _variant_study(study, control.id, control.text, change, [])


def sensitivity_study(study: Study, sensitivity: Sensitivity) -> Study:
    """Return the study of a sensitivity analysis: it has the study's claims once for each level of
    `over`.

    Raises:
        StudyError: the changed study is invalid, or does not have a claim's levels.
    """
    title = sensitivity.text or f"other levels of {sensitivity.chosen}"
    over = sensitivity.over
    change = copy.deepcopy(sensitivity.change)
    if over is None:
        claims = _claims(study, sensitivity.claims)
        return _variant_study(study, sensitivity.id, title, change, claims)
    change["factors"] = {**change.get("factors", {}), over: sensitivity.levels}
    claims = [
        {
            **claim,
            "id": claim_at_level(claim["id"], position),
            "where": {**claim.get("where", {}), over: level},
        }
        for position, level in enumerate(sensitivity.levels)
        for claim in _claims(study, sensitivity.claims)
    ]
    return _variant_study(study, sensitivity.id, title, change, claims, without=over)


def other_reading(study: Study, sensitivity: Sensitivity) -> tuple[Claim, ...]:
    """Return the claims of a sensitivity that changes only how claims are evaluated, so that the
    study's own runs are judged again.
    """
    update = {"lead": sensitivity.lead}
    return tuple(
        claim.model_copy(update=update) for claim in study.claims if claim.id in sensitivity.claims
    )


def claim_at_level(claim: str, position: int) -> str:
    """Return the id that a claim has in a sensitivity's study for the level with this index."""
    return f"{claim}@{position}"


def _claims(study: Study, wanted: list[str]) -> list[dict[str, Any]]:
    """Return the tables of the wanted claims with their ids, and without the keys that belong to
    controls.
    """
    unneeded = ("control", "why", "under_control")
    return [
        {
            **{key: value for key, value in raw.items() if key not in unneeded},
            "id": claim.id,
        }
        for raw, claim in zip(study.raw["claim"], study.claims, strict=True)
        if claim.id in wanted
    ]


def _variant_study(
    study: Study, name: str, text: str, change: Mapping[str, Any], claims: list[dict[str, Any]],
    without: str | None = None,
) -> Study:  # fmt: skip
    """Return the study of a variant: the given study with a change, and with these claims only."""
    dropped = ("figure", "expect", "control", "sensitivity")
    unchanged = {key: value for key, value in study.raw.items() if key not in dropped}
    if without is not None:
        unchanged = _without_key(unchanged, without)
    title = f"{study.title}: {text}"
    tables = apply_quick({**unchanged, "title": title, "claim": claims, "quick": change})
    changed = study_from_mapping(tables, file=f"{study.file} ({name})")
    return replace(changed, question=text)


def _without_key(tables: Mapping[str, Any], dotted: str) -> dict[str, Any]:
    """Return a study's tables without the value of a key, which a factor replaces."""
    found = copy.deepcopy(dict(tables))
    *parents, last = dotted.split(".")
    table: Any = found
    for part in parents:
        table = table.get(part) if isinstance(table, dict) else None
    if isinstance(table, dict):
        table.pop(last, None)
    return found
