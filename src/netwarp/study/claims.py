"""What a study claims: sentences that its results can support or contradict, and their controls."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from pydantic import Field

from netwarp.errors import StudyError
from netwarp.study.cells.factors import Factor
from netwarp.study.questions import (
    Levels,
    refuse_unknown_factor,
    refuse_unknown_metric,
    resolve_levels,
)
from netwarp.study.sections.diagnose import did_you_mean
from netwarp.study.sections.fields import RatioField, Section

FORMS = ("less", "equal", "flat_over", "linear_over")
OF_LESS = ("than", "by_at_least", "up_to", "grows_with", "shrinks_with", "lead")


class Claim(Section):
    """A sentence that the results can support or contradict, in one of six forms: `less` and
    `than`, the same with `grows_with` or `shrinks_with`, `equal`, `flat_over`, `linear_over`. A
    sentence that nothing here can test says why in `not_testable`.
    """

    text: str
    """The sentence."""
    id: str | None = None
    """Short name, unique in the study. Default: `claim-1` and so on."""
    source: str | None = None
    """Who says so: document and figure."""
    authors: bool = True
    """Whether the source says so. `false` for a hypothesis of the study's own, whose verdicts read
    `supported` and `not-supported` and are counted apart."""
    claimed: str | None = None
    """What the source found, in its numbers, and where it contradicts itself."""
    why: str | None = None
    """One line on what makes the result what it is; its `control` shows it."""
    control: str | None = None
    """The control that shows the `why`: the id of a `[[control]]`."""
    not_testable: str | None = None
    """Why nothing here can test the claim; it then has no metric and no relation."""
    metric: str | None = None
    """Metric that is compared."""
    less: Levels | None = None
    """Levels of the cells that should have less, by factor."""
    than: Levels | None = None
    """Levels of the cells that should have more, of the same factors."""
    by_at_least: RatioField | None = None
    """How much less in every condition, of what `than` has. Default: a relevant difference."""
    up_to: RatioField | None = None
    """How much less where it is most: in some condition the lead must not fall short of it."""
    grows_with: str | None = None
    """Factor with whose level the lead of `less` should grow."""
    shrinks_with: str | None = None
    """Factor with whose level the lead of `less` should shrink."""
    lead: Literal["ratio", "gap"] | None = None
    """What grows or shrinks: the ratio of `than` to `less`, or the gap between them in the metric's
    unit. Default: `ratio`."""
    equal: list[Levels] | None = None
    """Levels of two cells that should have the same, within `tolerance`."""
    flat_over: str | None = None
    """Factor over whose levels the metric should stay the same, within `tolerance`."""
    linear_over: str | None = None
    """Factor over whose levels the metric should grow along a line, within `tolerance`."""
    tolerance: RatioField = 0.05
    """What still counts as the same: a share of the value; for `linear_over`, of the growth."""
    where: Levels = Field(default_factory=dict)
    """Levels all cells share. Factors not named are compared level by level, and the claim must
    hold in every such condition."""

    @property
    def trend(self) -> str | None:
        """The factor that a lead grows or shrinks with."""
        return self.grows_with or self.shrinks_with


class Control(Section):
    """The cells of some claims run again with one thing changed, to show what makes their results
    what they are. `netwarp reproduce` runs them; what comes out stands beside each claim that names
    the control.
    """

    id: str
    """Short name, unique in the study."""
    text: str
    """What is changed, in words."""
    change: dict[str, Any]
    """Keys as they stand in the file, laid over it as `[quick]` is: `transport.sctp.rto_min =
    "200ms"`, or other levels in `factors`."""


def checked_controls(
    controls: Sequence[Control], claims: Sequence[Claim], file: str
) -> tuple[Control, ...]:
    """See that controls are told apart, and that a claim names each.

    Raises:
        StudyError: two of one name, one that no claim names, or a claim that names none of them.
    """
    named = {claim.control for claim in claims} - {None}
    known: list[str] = []
    for index, control in enumerate(controls):
        key = f"control.{index}.id"
        if control.id in known:
            raise StudyError(
                "two controls of this id", file=file, key=key, value=control.id,
                remedy="rename one",
            )  # fmt: skip
        if control.id not in named:
            raise StudyError(
                "no claim names it", file=file, key=key, value=control.id,
                remedy=f'add control = "{control.id}" to the claims whose cells it runs again',
            )  # fmt: skip
        known.append(control.id)
    for index, claim in enumerate(claims):
        if claim.control is not None and claim.control not in known:
            raise StudyError(
                "not a control of this study",
                file=file,
                key=f"claim.{index}.control",
                value=claim.control,
                remedy=did_you_mean(claim.control, known),
            )
    return tuple(controls)


def checked_claims(
    claims: Sequence[Claim], factors: Sequence[Factor], file: str
) -> tuple[Claim, ...]:
    """See that claims can be judged; give them ids, and levels as the factors spell them."""
    checked: dict[str, Claim] = {}
    for index, claim in enumerate(claims):
        key = f"claim.{index}"
        name = claim.id or f"claim-{index + 1}"
        if name in checked:
            raise StudyError(
                "two claims of this id", file=file, key=f"{key}.id", value=name, remedy="rename one"
            )
        _refuse_mixed_forms(claim, key, file)
        if claim.metric is not None:
            refuse_unknown_metric(claim.metric, f"{key}.metric", file)
        spelled: dict[str, Any] = {
            part: resolve_levels(levels, factors, f"{key}.{part}", file)
            for part in ("less", "than", "where")
            if (levels := getattr(claim, part)) is not None
        }
        if claim.equal is not None:
            spelled["equal"] = [
                resolve_levels(levels, factors, f"{key}.equal", file) for levels in claim.equal
            ]
        _refuse_overlap(claim, spelled, key, file)
        _refuse_unknown_trend(claim, factors, key, file)
        checked[name] = claim.model_copy(update={"id": name, **spelled})
    return tuple(checked.values())


def _refuse_mixed_forms(claim: Claim, key: str, file: str) -> None:
    """See that a claim has one form, and no key that another form would need."""
    forms = [name for name in FORMS if getattr(claim, name) is not None]
    if claim.not_testable is not None:
        if forms or claim.metric is not None or claim.where:
            raise StudyError(
                "a claim that is not testable compares nothing",
                file=file,
                key=f"{key}.not_testable",
                value=claim.not_testable,
                remedy="drop it, or metric, where and the relation",
            )
        return
    if claim.metric is None:
        reason, remedy = "missing", "add it: the metric that is compared"
        raise StudyError(reason, file=file, key=f"{key}.metric", remedy=remedy)
    if len(forms) != 1:
        raise StudyError(
            "a claim has one form" if forms else "a claim without a relation",
            file=file,
            key=key,
            remedy="give one of: less and than, equal, flat_over, linear_over",
        )
    if claim.equal is not None and (
        len(claim.equal) != 2 or set(claim.equal[0]) != set(claim.equal[1]) or not claim.equal[0]
    ):
        raise StudyError(
            "equal takes two selections of the same factors",
            file=file,
            key=f"{key}.equal",
            value=claim.equal,
            remedy='such as equal = [{ transport = "quic" }, { transport = "tcp" }]',
        )
    if claim.less is not None and (not claim.less or set(claim.less) != set(claim.than or {})):
        raise StudyError(
            "less and than must name the same factors",
            file=file,
            key=f"{key}.than",
            value=claim.than,
            remedy='such as less = { transport = "quic" }, than = { transport = "tcp" }',
        )
    if claim.less is None:
        for name in OF_LESS:
            if getattr(claim, name) is not None:
                reason = f"{name} has no effect without less"
                raise StudyError(
                    reason, file=file, key=f"{key}.{name}", remedy="add less or drop it"
                )
        return
    if "tolerance" in claim.model_fields_set:
        raise StudyError(
            "tolerance has no effect beside less",
            file=file,
            key=f"{key}.tolerance",
            remedy="drop it; by_at_least says how much less",
        )
    _refuse_mixed_trend(claim, key, file)


def _refuse_mixed_trend(claim: Claim, key: str, file: str) -> None:
    """See that a lead has one trend at most, and no key that only the other kind has."""
    if claim.grows_with is not None and claim.shrinks_with is not None:
        raise StudyError(
            "a lead grows or shrinks", file=file, key=f"{key}.shrinks_with",
            value=claim.shrinks_with, remedy="drop one of grows_with and shrinks_with",
        )  # fmt: skip
    without = ("lead",) if claim.trend is None else ("by_at_least", "up_to")
    for name in without:
        if getattr(claim, name) is not None:
            beside = "without" if claim.trend is None else "beside"
            raise StudyError(
                f"{name} has no effect {beside} grows_with or shrinks_with",
                file=file,
                key=f"{key}.{name}",
                value=getattr(claim, name),
                remedy="drop it",
            )


def _refuse_overlap(claim: Claim, spelled: Mapping[str, Any], key: str, file: str) -> None:
    compared = set(spelled.get("less", {})) | set(spelled.get("equal", [{}])[0])
    compared |= {name for name in (claim.trend, claim.flat_over, claim.linear_over) if name}
    both = compared & set(spelled["where"])
    if both:
        raise StudyError(
            f"{min(both)} is what the claim compares, and stands in where as well",
            file=file,
            key=f"{key}.where",
            value=claim.where,
            remedy="keep it in one place",
        )


def _refuse_unknown_trend(claim: Claim, factors: Sequence[Factor], key: str, file: str) -> None:
    keys = [factor.key for factor in factors]
    for name in ("grows_with", "shrinks_with", "flat_over", "linear_over"):
        refuse_unknown_factor(getattr(claim, name), keys, f"{key}.{name}", file)
