"""The claims of a study, which its results can support or contradict."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, ClassVar, Literal

from pydantic import Field

from netwarp.fields import KeyValueError, RatioField, Section, Switch
from netwarp.metrics import metric_named
from netwarp.study.cells.factors import Factor
from netwarp.study.figures import (
    Levels,
    refuse_unknown_factor,
    refuse_unknown_metric,
    resolve_levels,
)
from netwarp.units import UnitError, parse_value

FORMS = ("less", "equal", "flat_over", "linear_over", "published")
LOWER_BOUNDS = ("by_at_least", "up_to")
OF_LESS = (
    "than", "by_at_least", "by_at_most", "up_to", "grows_with", "shrinks_with", "stays_over",
    "lead", "overall", "needs_difference",
)  # fmt: skip


_NO_BOUND = (
    "there are no absolute bounds: a claim compares cells with each other (less and than,"
    ' by_at_most = "10%" of what `than` has), or with a number (published = "12")'
)


class Claim(Section):
    """A statement that the results can support or contradict, in one of seven forms: `less` and
    `than`, the same with `grows_with` or `shrinks_with`, `equal`, `flat_over`, `linear_over`,
    `published`. If netwarp cannot test a statement, `not_testable` says why.
    """

    impossible: ClassVar[Mapping[str, str]] = dict.fromkeys(
        ("at_most", "at_least", "above", "below", "max", "min", "value", "threshold"), _NO_BOUND
    )
    text: str
    """What the source says, in a sentence."""
    id: str | None = None
    """Short name, unique in the study. Default: `claim-1` and so on."""
    source: str | None = None
    """Who says so: document and figure."""
    authors: Switch = True
    """Whether the source makes the claim. `false` for a hypothesis of the study itself, whose
    verdicts are worded `supported` and `not-supported`, and are counted separately."""
    claimed: str | None = None
    """The finding of the source, in its numbers, and where it contradicts itself."""
    why: str | None = None
    """The reason for the result, in one line. It is printed only if the `control` confirms it."""
    control: str | None = None
    """The control that is to confirm the `why`: the id of a `[[control]]`."""
    under_control: Literal["higher", "lower"] | None = None
    """How the control's change alters the effect if the `why` is right: `higher` or `lower`. The
    effect is the ratio of `less` to `than`, of the first of `equal` to the second, or of the
    highest level of `flat_over` to the lowest. For a lead that grows or shrinks it is the ratio at
    the highest level divided by that at the lowest; with `lead = "gap"`, the difference of the gaps
    (`less` minus `than`)."""
    not_testable: str | None = None
    """Why netwarp cannot test the claim; it then has no metric and no relation."""
    metric: str | None = None
    """Metric that is compared."""
    less: Levels | None = None
    """Levels of the cells that should have smaller values, by factor."""
    than: Levels | None = None
    """Levels of the cells that should have larger values, of the same factors."""
    by_at_least: RatioField | None = None
    """Minimum lead of `less` in every condition, as a share of the value of `than`. Default: a
    relevant difference."""
    up_to: RatioField | None = None
    """Largest lead of `less`, as a share of the value of `than`: in at least one condition the lead
    must reach it."""
    by_at_most: RatioField | None = None
    """Upper bound of the lead of `less` in every condition, as a share of the value of `than`.
    Beside `by_at_least` or `up_to` both must hold. Alone it can be `"0%"`, for a source that says
    "not less"; whether there is a lead at all is then not tested."""
    needs_difference: Switch | None = None
    """`true`: the claim says that there is a difference, so it is refuted if no difference is
    relevant.
    """
    grows_with: str | None = None
    """Factor with whose level the lead of `less` should grow."""
    shrinks_with: str | None = None
    """Factor with whose level the lead of `less` should shrink."""
    stays_over: str | None = None
    """Factor over whose levels the gap between `than` and `less`, in the metric's unit, should stay
    the same, within `tolerance` of the mean gap."""
    lead: Literal["ratio", "gap"] | None = None
    """What grows or shrinks: the ratio of `than` to `less`, or the gap between them in the metric's
    unit. Default: `ratio`."""
    equal: list[Levels] | None = None
    """Levels of two cells that should have the same value, within `tolerance`."""
    flat_over: str | None = None
    """Factor over whose levels the metric should stay the same, within `tolerance`."""
    linear_over: str | None = None
    """Factor over whose levels the metric should grow along a line, within `tolerance`."""
    published: str | None = None
    """The number in the source, above 0, with the unit of the metric: `"17.22 Mbit/s"`, or `"12"`
    for a count. The mean should be the same, within `tolerance`."""
    of_one_run: Switch | None = None
    """`true`: the number in `published` is of a single run. Instead of a `tolerance`, it should lie
    within the range that contains 95 % of such runs; of twenty numbers from the same distribution
    one does not."""
    tolerance: RatioField = 0.05
    """Largest deviation that still counts as the same, as a share: of the value; for `published`,
    of that number; for `linear_over`, of the growth."""
    overall: str | None = None
    """Factor over whose levels the lead is averaged (geometric mean), for a statement of a source
    about a whole figure. Without it the claim must hold at every level."""
    relevant: RatioField | None = None
    """The smallest relevant difference of this claim, if it is about differences that are smaller
    than the study's."""
    without: dict[str, list[Any]] = Field(default_factory=dict)
    """Levels that are left out, by factor: those that the source itself discards, or about which it
    says nothing."""
    where: Levels = Field(default_factory=dict)
    """Levels that all cells have. Factors that are not named are compared level by level, and the
    claim must hold in every such condition."""

    @property
    def published_number(self) -> float:
        """The number in `published`, in the unit in which the metric is stored.

        Raises:
            UnitError: it is not a number in that unit.
        """
        return parse_value(self.published or "", metric_named(self.metric or "").unit)

    @property
    def trend(self) -> str | None:
        """The factor with which the lead grows or shrinks; None if the claim has no trend."""
        return self.grows_with or self.shrinks_with


def checked_claims(
    claims: Sequence[Claim], factors: Sequence[Factor], own_metrics: Collection[str] = ()
) -> tuple[Claim, ...]:
    """Check that claims can be judged, and return them with ids and with levels spelled as in the
    factors.

    Args:
        claims: the claims of the study file.
        factors: the study's factors.
        own_metrics: metrics that the study itself defines.
    """
    checked: dict[str, Claim] = {}
    for index, claim in enumerate(claims):
        key = f"claim.{index}"
        name = claim.id or f"claim-{index + 1}"
        if name in checked:
            raise KeyValueError(f"{key}.id", name, "two claims of this id", "rename one")
        _refuse_mixed_forms(claim, key)
        if claim.metric is not None:
            refuse_unknown_metric(claim.metric, f"{key}.metric", own_metrics)
        _refuse_bad_number(claim, key)
        spelled: dict[str, Any] = {
            part: resolve_levels(levels, factors, f"{key}.{part}")
            for part in ("less", "than", "where")
            if (levels := getattr(claim, part)) is not None
        }
        if claim.equal is not None:
            spelled["equal"] = [
                resolve_levels(levels, factors, f"{key}.equal") for levels in claim.equal
            ]
        spelled["without"] = {
            factor: [resolve_levels({factor: each}, factors, f"{key}.without")[factor]
                     for each in levels]
            for factor, levels in claim.without.items()
        }  # fmt: skip
        _refuse_overlap(claim, spelled, key)
        _refuse_unknown_trend(claim, factors, key)
        checked[name] = claim.model_copy(update={"id": name, **spelled})
    return tuple(checked.values())


def _refuse_mixed_forms(claim: Claim, key: str) -> None:
    """Refuse a claim that has no form or several, or a key of another form."""
    forms = [name for name in FORMS if getattr(claim, name) is not None]
    if claim.not_testable is not None:
        if forms or claim.metric is not None or claim.where:
            reason = "a claim that is not testable compares nothing"
            remedy = "drop it, or metric, where and the relation"
            raise KeyValueError(f"{key}.not_testable", claim.not_testable, reason, remedy)
        return
    if claim.metric is None:
        reason, remedy = "missing", "add it: the metric that is compared"
        raise KeyValueError(f"{key}.metric", None, reason, remedy)
    if len(forms) != 1:
        reason = "a claim has one form" if forms else "a claim without a relation"
        remedy = "give one of: less and than, equal, flat_over, linear_over, published"
        raise KeyValueError(key, None, reason, remedy)
    if claim.equal is not None and (
        len(claim.equal) != 2 or set(claim.equal[0]) != set(claim.equal[1]) or not claim.equal[0]
    ):
        reason = "equal takes two selections of the same factors"
        remedy = 'such as equal = [{ transport = "quic" }, { transport = "tcp" }]'
        raise KeyValueError(f"{key}.equal", claim.equal, reason, remedy)
    if claim.less is not None and (not claim.less or set(claim.less) != set(claim.than or {})):
        reason = "less and than must name the same factors"
        remedy = 'such as less = { transport = "quic" }, than = { transport = "tcp" }'
        raise KeyValueError(f"{key}.than", claim.than, reason, remedy)
    if claim.less is None:
        for name in OF_LESS:
            if getattr(claim, name) is not None:
                reason = f"{name} has no effect without less"
                raise KeyValueError(f"{key}.{name}", None, reason, "add less or drop it")
        return
    if "tolerance" in claim.model_fields_set and claim.stays_over is None:
        remedy = "drop it; by_at_least says how much less"
        raise KeyValueError(f"{key}.tolerance", None, "tolerance has no effect beside less", remedy)
    _refuse_mixed_trend(claim, key)


def _refuse_bad_number(claim: Claim, key: str) -> None:
    """Refuse a published number that is not in the metric's unit, and keys that do not belong to
    it.
    """
    if claim.published is None:
        if claim.of_one_run is not None:
            reason = "of_one_run has no effect without published"
            raise KeyValueError(f"{key}.of_one_run", claim.of_one_run, reason, "add it or drop it")
        return
    if claim.of_one_run and "tolerance" in claim.model_fields_set:
        reason = "a number of one run is compared with the range of runs"
        raise KeyValueError(f"{key}.tolerance", claim.tolerance, reason, "drop one of the two")
    try:
        value = claim.published_number
    except UnitError as error:
        place = f"{key}.published"
        raise KeyValueError(place, claim.published, error.reason, error.remedy) from None
    if value <= 0:
        reason = "a share of 0 is 0, so nothing is near it"
        remedy = "compare cells with each other: less and than"
        raise KeyValueError(f"{key}.published", claim.published, reason, remedy)


def _refuse_mixed_trend(claim: Claim, key: str) -> None:
    """Refuse a lead with more than one trend, and keys that the claim's form does not use."""
    if claim.grows_with is not None and claim.shrinks_with is not None:
        reason, remedy = "a lead grows or shrinks", "drop one of grows_with and shrinks_with"
        raise KeyValueError(f"{key}.shrinks_with", claim.shrinks_with, reason, remedy)
    sizes = ("by_at_least", "by_at_most", "up_to", "overall", "stays_over", "needs_difference")
    for name in ("lead",) if claim.trend is None else sizes:
        if getattr(claim, name) is not None:
            beside = "without" if claim.trend is None else "beside"
            reason = f"{name} has no effect {beside} grows_with or shrinks_with"
            raise KeyValueError(f"{key}.{name}", getattr(claim, name), reason, "drop it")
    for alone, allowed in (("by_at_most", LOWER_BOUNDS), ("stays_over", ())):
        others = [
            name
            for name in sizes
            if name not in (alone, *allowed) and getattr(claim, name) is not None
        ]
        if getattr(claim, alone) is not None and others:
            reason = f"{alone} cannot stand beside {others[0]}"
            remedy = "make two claims of it"
            raise KeyValueError(f"{key}.{alone}", getattr(claim, alone), reason, remedy)
    _refuse_crossed_bounds(claim, key)


def _refuse_crossed_bounds(claim: Claim, key: str) -> None:
    """Refuse bounds of a lead that exclude each other."""
    if claim.by_at_most is None:
        return
    least, reached = claim.by_at_least, claim.up_to
    for name, bound in (("by_at_least", least), ("up_to", reached)):
        if bound == 0:
            reason = "0 % is no lower bound, and by_at_most beside it would not be the only one"
            raise KeyValueError(f"{key}.{name}", bound, reason, "drop it, or give one above 0 %")
    is_crossed = least is not None and least >= claim.by_at_most
    if is_crossed or (reached is not None and reached > claim.by_at_most):
        reason = "no lead is as large as the lower bound and not larger than this"
        remedy = "give an upper bound above by_at_least and up_to, or drop one of them"
        raise KeyValueError(f"{key}.by_at_most", claim.by_at_most, reason, remedy)


def _refuse_overlap(claim: Claim, spelled: Mapping[str, Any], key: str) -> None:
    compared = set(spelled.get("less", {})) | set(spelled.get("equal", [{}])[0])
    compared |= {
        name
        for name in (
            claim.trend,
            claim.overall,
            claim.stays_over,
            claim.flat_over,
            claim.linear_over,
        )
        if name
    }
    both = compared & set(spelled["where"])
    if both:
        reason = f"{min(both)} is what the claim compares, and stands in where as well"
        raise KeyValueError(f"{key}.where", claim.where, reason, "keep it in one place")


def _refuse_unknown_trend(claim: Claim, factors: Sequence[Factor], key: str) -> None:
    keys = [factor.key for factor in factors]
    trends = ("grows_with", "shrinks_with", "stays_over", "overall", "flat_over", "linear_over")
    for name in trends:
        refuse_unknown_factor(getattr(claim, name), keys, f"{key}.{name}")
