"""Controls and sensitivities, in which a study's claims are judged again with one change."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from pydantic import Field

from netwarp.fields import KeyValueError, Section, Switch
from netwarp.study.claims import Claim
from netwarp.suggestions import did_you_mean


class Control(Section):
    """The cells of some claims, run again with one change, to show what causes the results.
    `netwarp reproduce` runs them with the study's seeds and replicates, and compares the effect of
    each claim that names the control with and without the change.
    """

    id: str
    """Short name, unique in the study."""
    text: str
    """What is changed, in words."""
    change: dict[str, Any]
    """Keys as they stand in the file, with new values, as in `[quick]`: `transport.sctp.rto_min =
    "200ms"`, or other levels in `factors`."""
    quick: Switch = True
    """Whether the control is part of `--quick`. If it is not, the scorecard of a quick run leaves
    out the reason that it would confirm, and says that it was not tried."""


class Sensitivity(Section):
    """The claims of a study, judged again with another choice for something that the source does
    not state, so that the study had to choose it. A claim that is contradicted then `depends` on
    that choice. `netwarp reproduce` runs them.
    """

    id: str
    """Short name, unique in the study."""
    chosen: str
    """What the study chose, as text that follows "depends on": "the rate"."""
    here: str
    """The study's own choice, as text: "100 Mbit/s"."""
    text: str | None = None
    """The other choice in words, if there is only one. With `over`, its levels are printed
    instead."""
    change: dict[str, Any] = Field(default_factory=dict)
    """Keys as they stand in the file, with new values, as in `[quick]`."""
    lead: Literal["ratio", "gap"] | None = None
    """The other interpretation of what grows or shrinks, as `lead` of a claim; nothing is run for
    it."""
    over: str | None = None
    """Key that gets other levels, such as `path.rate`. The study itself does not vary it."""
    levels: list[Any] = Field(default_factory=list)
    """The other levels of `over`; the claims are judged at each."""
    claims: list[str] = Field(default_factory=list)
    """Ids of the claims. Default: all claims of the source that can be tested; with `lead`, those
    of them with a lead that grows or shrinks."""
    quick: Switch = True
    """Whether the sensitivity is part of `--quick`; if it is not, the scorecard says that it was
    not tried."""


def checked_controls(controls: Sequence[Control], claims: Sequence[Claim]) -> tuple[Control, ...]:
    """Check controls, and return them: they have distinct ids, and each is named by a claim.

    Raises:
        KeyValueError: an id is used twice, no claim names a control, or a claim names a control
            that does not exist.
    """
    named = {claim.control for claim in claims} - {None}
    known: list[str] = []
    for index, control in enumerate(controls):
        key = f"control.{index}.id"
        if control.id in known:
            raise KeyValueError(key, control.id, "two controls of this id", "rename one")
        if control.id not in named:
            remedy = f'add control = "{control.id}" to the claims whose cells it runs again'
            raise KeyValueError(key, control.id, "no claim names it", remedy)
        known.append(control.id)
    for index, claim in enumerate(claims):
        if claim.control is not None and claim.control not in known:
            reason, remedy = "not a control of this study", did_you_mean(claim.control, known)
            raise KeyValueError(f"claim.{index}.control", claim.control, reason, remedy)
    return tuple(controls)


def checked_sensitivities(
    sensitivities: Sequence[Sensitivity], claims: Sequence[Claim], factors: Sequence[str]
) -> tuple[Sensitivity, ...]:
    """Check sensitivities, and return them: they have distinct ids, change something, and name
    claims of the study.

    Args:
        sensitivities: the sensitivities of the study file.
        claims: the study's claims, with their ids.
        factors: keys of the study's factors.

    Returns:
        The same sensitivities, each with the ids of its claims.

    Raises:
        KeyValueError: one of these conditions is not met.
    """
    known = {claim.id or "": claim for claim in claims}
    usual = [name for name, claim in known.items() if claim.authors and not claim.not_testable]
    checked: dict[str, Sensitivity] = {}
    for index, each in enumerate(sensitivities):
        key = f"sensitivity.{index}"
        if each.id in checked:
            raise KeyValueError(f"{key}.id", each.id, "two sensitivities of this id", "rename one")
        for name in each.claims:
            if name not in known:
                reason = "no claim of this study"
                raise KeyValueError(f"{key}.claims", name, reason, did_you_mean(name, list(known)))
        _refuse_no_change(each, key, factors)
        fitting = [name for name in usual if each.lead is None or known[name].trend is not None]
        checked[each.id] = each.model_copy(update={"claims": each.claims or fitting})
    return tuple(checked.values())


def _refuse_no_change(each: Sensitivity, key: str, factors: Sequence[str]) -> None:
    if (each.over is None) != (not each.levels) or (each.over is None) == (each.text is None):
        reason = "it takes over and levels, or text and change, or text and lead"
        remedy = 'such as over = "path.rate", levels = ["10mbit", "1gbit"]'
        raise KeyValueError(key, each.id, reason, remedy)
    if each.over is None and bool(each.change) == (each.lead is not None):
        raise KeyValueError(f"{key}.change", None, "change or lead", "say what is different")
    if each.over in factors:
        remedy = "give its other levels in change, with text"
        raise KeyValueError(f"{key}.over", each.over, "the study varies it already", remedy)


def refuse_loose_reasons(
    claims: Sequence[Claim], controls: Sequence[Control], sensitivities: Sequence[Sensitivity]
) -> None:
    """Refuse reasons of claims that no control can confirm, and variants with their own number of
    replicates.

    Studies in run directories are not checked, because older versions accepted others.

    Raises:
        KeyValueError: a reason has no control, or lacks the expected effect of the control's
            change; or a variant has its own number of replicates.
    """
    for index, claim in enumerate(claims):
        _refuse_loose_why(claim, f"claim.{index}")
    for index, control in enumerate(controls):
        _refuse_replicates(control.change, f"control.{index}.change")
    for index, each in enumerate(sensitivities):
        _refuse_replicates(each.change, f"sensitivity.{index}.change")


def _refuse_loose_why(claim: Claim, key: str) -> None:
    """Refuse a claim that has only some of these keys: a reason, its control, and the effect that
    would confirm the reason.
    """
    together = {name: getattr(claim, name) for name in ("why", "control", "under_control")}
    missing = [name for name, value in together.items() if value is None]
    if len(missing) in (0, len(together)):
        if claim.control is not None and claim.linear_over is not None:
            reason = "a claim about a line has no effect that a control could alter"
            raise KeyValueError(f"{key}.control", claim.control, reason, "drop it and the why")
        return
    raise KeyValueError(
        f"{key}.{missing[0]}",
        None,
        "missing beside " + " and ".join(name for name in together if name not in missing),
        "a why needs a control, and how its change alters the effect (under_control);"
        " without them drop it",
    )


def _refuse_replicates(change: dict[str, Any], key: str) -> None:
    if "replicates" in change:
        reason = "it has the study's replicates, so that both sides are as precise"
        raise KeyValueError(f"{key}.replicates", change["replicates"], reason, "drop it")
