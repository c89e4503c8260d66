"""What a study asks of its results: figures and claims, checked against its factors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

from pydantic import Field

from netwarp.errors import StudyError
from netwarp.metrics import METRICS
from netwarp.study.cells.factors import Factor, factor_key, flattened
from netwarp.study.sections.diagnose import did_you_mean
from netwarp.study.sections.fields import RatioField, Section

Levels = dict[str, Any]


class Figure(Section):
    """A chart of a metric over the cells. Factors it does not name get one chart per level.

    A `timeline` has no metric: it shows what happened in single runs over time, delay and goodput,
    and what a player did. Factors that are neither `series` nor in `where` may have one level only.
    """

    kind: Literal["line", "bar", "heatmap", "box", "cdf", "scatter", "timeline"] = "line"
    """What is drawn: means with 95 % confidence intervals (line, bar), means as colours over two
    factors (heatmap), the distribution of the samples (box, cdf), one metric against another
    (scatter), or runs over time (timeline)."""
    x: str | None = None
    """Factor along the horizontal axis; of a scatter chart, the metric there. A cdf and a timeline
    have none."""
    y: str | None = None
    """Metric that is shown; needed by all but a timeline."""
    series: str | None = None
    """Factor that is told apart by colour; of a timeline, whose levels have a row each."""
    where: Levels = Field(default_factory=dict)
    """Of a timeline: levels of the runs it shows, by factor."""
    replicate: Annotated[int, Field(ge=0)] | None = None
    """Of a timeline: which replicate it shows, from 0. Default: 0."""
    title: str | None = None
    """Title. Default: made from `y` and `x`."""
    x_scale: Literal["linear", "log"] | None = None
    """Scale of the horizontal axis. Default: log where the levels span more than two decades."""
    y_scale: Literal["linear", "log"] | None = None
    """Scale of the metric's axis. Default: log where its values span more than two decades."""

    @property
    def metric(self) -> str:
        """The metric that is shown.

        Raises:
            ValueError: a timeline has none.
        """
        if self.y is None:
            raise ValueError(f"a {self.kind} figure has no metric")
        return self.y


class Claim(Section):
    """A sentence that the results can support or contradict, in one of five forms: `less` and
    `than`, the same with `grows_with`, `equal`, `flat_over`, `linear_over`. A sentence that nothing
    here can test says why in `not_testable`.
    """

    text: str
    """The sentence."""
    id: str | None = None
    """Short name, unique in the study. Default: `claim-1` and so on."""
    source: str | None = None
    """Who says so: document and figure."""
    why: str | None = None
    """One line on what may make today's result another one; shown where the claim is not
    reproduced."""
    not_testable: str | None = None
    """Why nothing here can test the claim; it then has no metric and no relation."""
    metric: str | None = None
    """Metric that is compared."""
    less: Levels | None = None
    """Levels of the cells that should have less, by factor."""
    than: Levels | None = None
    """Levels of the cells that should have more, of the same factors."""
    by_at_least: RatioField | None = None
    """How much less, of what `than` has. Default: any difference counts."""
    grows_with: str | None = None
    """Factor with whose level the ratio of `than` to `less` should grow."""
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


def checked_figure(figure: Figure, index: int, factors: Sequence[Factor], file: str) -> Figure:
    """See that a figure can be drawn: its factors are the study's, its metric is one."""
    key = f"figure.{index}"
    keys = [factor.key for factor in factors]
    if figure.kind == "timeline":
        return _checked_timeline(figure, key, factors, file)
    for name in ("where", "replicate"):
        if name in figure.model_fields_set:
            reason, remedy = f"only a timeline has {name}", "drop it"
            raise StudyError(reason, file=file, key=f"{key}.{name}", remedy=remedy)
    if figure.y is None:
        reason, remedy = "missing", "add it: the metric that is shown"
        raise StudyError(reason, file=file, key=f"{key}.y", remedy=remedy)
    _refuse_unknown_metric(figure.y, f"{key}.y", file)
    if (figure.x is None) != (figure.kind == "cdf"):
        remedy = "drop x" if figure.x else f"add x, one of: {', '.join(keys) or 'no factors'}"
        reason = "a cdf has its metric along x" if figure.x else f"a {figure.kind} chart needs x"
        raise StudyError(reason, file=file, key=f"{key}.x", value=figure.x, remedy=remedy)
    if figure.kind == "scatter" and figure.x is not None:
        _refuse_unknown_metric(figure.x, f"{key}.x", file)
    elif figure.kind == "heatmap" and figure.series is None:
        reason = "a heatmap needs a second factor"
        remedy = f"add series, one of: {', '.join(keys)}"
        raise StudyError(reason, file=file, key=f"{key}.series", remedy=remedy)
    factors_named = [("series", figure.series)]
    if figure.kind != "scatter":
        factors_named.append(("x", figure.x))
    for name, value in factors_named:
        _refuse_unknown_factor(value, keys, f"{key}.{name}", file)
    return figure


def _checked_timeline(figure: Figure, key: str, factors: Sequence[Factor], file: str) -> Figure:
    """See that a timeline names its runs: one for each level of its series."""
    for name in ("x", "y", "x_scale", "y_scale"):
        if getattr(figure, name) is not None:
            reason = f"a timeline has no {name}"
            raise StudyError(reason, file=file, key=f"{key}.{name}", remedy="drop it")
    _refuse_unknown_factor(figure.series, [f.key for f in factors], f"{key}.series", file)
    where = resolve_levels(figure.where, factors, f"{key}.where", file)
    if figure.series in where:
        reason, remedy = "stands in series as well", "keep it in one place"
        raise StudyError(reason, file=file, key=f"{key}.where", value=figure.series, remedy=remedy)
    for factor in factors:
        if factor.key != figure.series and factor.key not in where and len(factor.levels) > 1:
            raise StudyError(
                f"a timeline shows one run for each level of its series, and {factor.key} has"
                f" {len(factor.levels)} levels",
                file=file,
                key=f"{key}.where",
                remedy=f'choose one, such as where = {{ "{factor.key}" ='
                f' "{factor.levels[0].label}" }}',
            )
    return figure.model_copy(update={"where": where})


def _refuse_unknown_factor(value: str | None, keys: Sequence[str], key: str, file: str) -> None:
    if value is not None and value not in keys:
        raise StudyError(
            "not a factor of this study",
            file=file,
            key=key,
            value=value,
            remedy=did_you_mean(value, keys),
        )


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
            _refuse_unknown_metric(claim.metric, f"{key}.metric", file)
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
    forms = [
        name
        for name in ("less", "equal", "flat_over", "linear_over")
        if getattr(claim, name) is not None
    ]
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
        for name in ("than", "by_at_least", "grows_with"):
            if getattr(claim, name) is not None:
                reason = f"{name} has no effect without less"
                raise StudyError(
                    reason, file=file, key=f"{key}.{name}", remedy="add less or drop it"
                )
    elif "tolerance" in claim.model_fields_set:
        raise StudyError(
            "tolerance has no effect beside less",
            file=file,
            key=f"{key}.tolerance",
            remedy="drop it; by_at_least says how much less",
        )


def _refuse_overlap(claim: Claim, spelled: Mapping[str, Any], key: str, file: str) -> None:
    compared = set(spelled.get("less", {})) | set(spelled.get("equal", [{}])[0])
    compared |= {name for name in (claim.grows_with, claim.flat_over, claim.linear_over) if name}
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
    for name in ("grows_with", "flat_over", "linear_over"):
        factor = getattr(claim, name)
        if factor is not None and factor not in keys:
            raise StudyError(
                "not a factor of this study",
                file=file,
                key=f"{key}.{name}",
                value=factor,
                remedy=did_you_mean(factor, keys),
            )


def resolve_levels(
    wanted: Mapping[str, Any], factors: Sequence[Factor], key: str, file: str
) -> dict[str, str]:
    """Find the levels a selection means, and spell them as the factors do.

    Raises:
        StudyError: no such factor, or no such level of it.
    """
    by_key = {factor.key: factor for factor in factors}
    labels = {}
    for name, value in flattened(wanted).items():
        if name not in by_key:
            raise StudyError(
                "not a factor of this study",
                file=file,
                key=key,
                value=name,
                remedy=did_you_mean(name, by_key),
            )
        level = by_key[name].find(value)
        if level is None:
            known = [level.label for level in by_key[name].levels]
            raise StudyError(
                f"not a level of {factor_key(name)}",
                file=file,
                key=f"{key}.{name}",
                value=value,
                remedy=did_you_mean(str(value), known),
            )
        labels[name] = level.label
    return labels


def _refuse_unknown_metric(metric: str, key: str, file: str) -> None:
    if metric not in METRICS:
        raise StudyError(
            "not a metric", file=file, key=key, value=metric, remedy=did_you_mean(metric, METRICS)
        )
