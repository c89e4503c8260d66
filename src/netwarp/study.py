"""TOML → validated Study: a question as data.

A study is checked as a whole before anything runs: every level of every factor ends up in a cell,
and every cell is built completely. What is wrong is said in one line that names file, key, value
and remedy (:class:`netwarp.errors.StudyError`).
"""

from __future__ import annotations

import copy
import os
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, ValidationError

from netwarp.diagnose import Display, did_you_mean, study_error
from netwarp.errors import StudyError
from netwarp.factors import Cell, Factor, build_design, factor_key
from netwarp.fields import Kind, RatioField, Section
from netwarp.metrics import METRICS
from netwarp.overrides import apply_overrides, apply_quick

Replicates = Annotated[
    int, Field(ge=1, le=10_000, strict=True), Kind("a whole number from 1 to 10000")
]
Seed = Annotated[
    int, Field(ge=0, lt=2**63, strict=True), Kind("a whole number from 0 to 9223372036854775807")
]
Levels = dict[str, Any]


class Figure(Section):
    """A chart of a metric over the cells. Factors it does not name get one chart per level."""

    kind: Literal["line", "bar", "heatmap", "box", "cdf", "scatter"] = "line"
    """What is drawn: means with 95 % confidence intervals (line, bar), means as colours over two
    factors (heatmap), the distribution of the samples (box, cdf), or one metric against another
    (scatter)."""
    x: str | None = None
    """Factor along the horizontal axis; of a scatter chart, the metric there. A cdf has none."""
    y: str
    """Metric that is shown."""
    series: str | None = None
    """Factor that is told apart by colour."""
    title: str | None = None
    """Heading. Default: made from `y` and `x`."""
    x_scale: Literal["linear", "log"] | None = None
    """Scale of the horizontal axis. Default: log where the levels span more than two decades."""
    y_scale: Literal["linear", "log"] | None = None
    """Scale of the metric's axis. Default: log where its values span more than two decades."""


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


class StudyFile(Section):
    """A study file's top level."""

    title: str
    """One line: what is studied."""
    description: str | None = None
    """Why, in a few sentences."""
    replicates: Replicates = 10
    """Runs of each cell, each with seeds of its own."""
    seed: Seed = 1
    """All randomness follows from it: the same seed gives the same records."""
    backend: Literal["virtual", "native"] = "virtual"
    """Where it runs unless `--backend` says otherwise: a guest in virtual time, or this host's own
    kernel in real time, for what depends on the CPU."""
    capture: Literal["pcap"] | None = None
    """`pcap`: each run writes a packet capture of the routers' links beside its records."""
    path: dict[str, Any] = Field(default_factory=dict)
    """Client, router, server, and what happens to packets in between."""
    transport: dict[str, Any] = Field(default_factory=dict)
    """Options of the transports."""
    workload: dict[str, Any] = Field(default_factory=dict)
    """What is sent."""
    limits: dict[str, Any] = Field(default_factory=dict)
    """When a run is given up."""
    factors: dict[str, list[Any]] = Field(default_factory=dict)
    """What is varied: lists of levels by key, such as `transport` or `"path.loss"`. All
    combinations are run."""
    figure: list[Figure] = Field(default_factory=list)
    """Charts, in the order of the report."""
    claim: list[Claim] = Field(default_factory=list)
    """Sentences to check."""
    quick: dict[str, Any] = Field(default_factory=dict)
    """What `--quick` changes: keys as they stand in the file, such as `replicates = 3`,
    `workload.size = "1MB"`, or fewer levels in `[quick.factors]`."""


@dataclass(frozen=True)
class Study:
    """A question, validated down to each cell."""

    file: str
    """Where it came from, for messages."""
    question: str | None
    """The comment in line one of the file."""
    title: str
    description: str | None
    replicates: int
    seed: int
    backend: Literal["virtual", "native"]
    capture: Literal["pcap"] | None
    factors: tuple[Factor, ...]
    cells: tuple[Cell, ...]
    """In the order of the factors' levels, the last factor fastest."""
    figures: tuple[Figure, ...]
    claims: tuple[Claim, ...]
    """With ids, and levels spelled as the factors spell them."""
    raw: Mapping[str, Any]
    """The tables, overrides applied, JSON-able: `study_from_mapping` makes the same study of it."""

    def factor(self, key: str) -> Factor:
        """Find a factor.

        Raises:
            KeyError: the study does not vary it.
        """
        for factor in self.factors:
            if factor.key == key:
                return factor
        raise KeyError(key)


def load_study(
    path: Path,
    *,
    overrides: Sequence[str] = (),
    replicates: int | None = None,
    seed: int | None = None,
    quick: bool = False,
) -> Study:
    """Read a study file.

    Args:
        path: the TOML file.
        overrides: ``KEY=VALUE`` each, see :func:`netwarp.overrides.apply_overrides`.
        replicates: instead of the file's.
        seed: instead of the file's.
        quick: whether to apply what the file's ``[quick]`` changes.

    Raises:
        StudyError: unreadable, not TOML, or not a study that can be run.
    """
    file = str(path)
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise StudyError("no such file", file=file, remedy="name a study file") from None
    except (OSError, UnicodeDecodeError) as error:
        raise StudyError(f"cannot be read: {error}", file=file, remedy="mend that first") from None
    try:
        raw = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise StudyError(f"not TOML: {error}", file=file, remedy="mend the syntax there") from None
    raw = apply_quick(raw) if quick else raw
    changed = apply_overrides(raw, overrides, replicates=replicates, seed=seed)
    return study_from_mapping(changed, file=file, folder=path.parent, question=_question(text))


def study_from_mapping(
    raw: Mapping[str, Any],
    *,
    file: str = "study",
    folder: Path | None = None,
    question: str | None = None,
    display: Display = str,
) -> Study:
    """Validate a study given as tables. Reads no file.

    Args:
        raw: as `tomllib` reads a study file.
        file: for messages.
        folder: where relative paths of the workload start; None leaves them relative.
        question: the comment in line one.
        display: translates dotted keys in messages.

    Raises:
        StudyError: not a study that can be run.
    """
    tables = _normalised(raw, folder)
    try:
        header = StudyFile.model_validate(tables)
    except ValidationError as error:
        raise study_error(error, StudyFile, tables, file, display) from None
    design = build_design(tables, file, display)
    return Study(
        file=file,
        question=question,
        title=header.title,
        description=header.description,
        replicates=header.replicates,
        seed=header.seed,
        backend=header.backend,
        capture=header.capture,
        factors=design.factors,
        cells=design.cells,
        figures=tuple(
            _checked_figure(figure, index, design.factors, file)
            for index, figure in enumerate(header.figure)
        ),
        claims=_checked_claims(header.claim, design.factors, file),
        raw=tables,
    )


def _normalised(raw: Mapping[str, Any], folder: Path | None) -> dict[str, Any]:
    """Bring the short forms into the long one, and relative files to where they are."""
    tables = copy.deepcopy(dict(raw))
    if isinstance(tables.get("transport"), str):
        tables["transport"] = {"kind": tables["transport"]}
    factors = tables.get("factors")
    if isinstance(factors, dict):
        tables["factors"] = factors = _flattened(factors)
    workload = tables.get("workload")
    if folder is not None:
        if isinstance(workload, dict) and isinstance(workload.get("file"), str):
            workload["file"] = _absolute(workload["file"], folder)
        if isinstance(factors, dict) and isinstance(factors.get("workload.file"), list):
            factors["workload.file"] = [
                _absolute(name, folder) if isinstance(name, str) else name
                for name in factors["workload.file"]
            ]
    return tables


def _flattened(factors: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Read ``path.loss = […]`` under [factors] like ``"path.loss" = […]``."""
    flat: dict[str, Any] = {}
    for key, value in factors.items():
        if isinstance(value, dict):
            flat |= _flattened(value, f"{prefix}{key}.")
        else:
            flat[f"{prefix}{key}"] = value
    return flat


def _absolute(name: str, folder: Path) -> str:
    return os.path.abspath(folder / Path(name).expanduser())  # noqa: PTH100 - keeps symlinks


def _question(text: str) -> str | None:
    first = text.partition("\n")[0].strip()
    return first.lstrip("# ") or None if first.startswith("#") else None


def _checked_figure(figure: Figure, index: int, factors: Sequence[Factor], file: str) -> Figure:
    key = f"figure.{index}"
    _refuse_unknown_metric(figure.y, f"{key}.y", file)
    keys = [factor.key for factor in factors]
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
        if value is not None and value not in keys:
            raise StudyError(
                "not a factor of this study",
                file=file,
                key=f"{key}.{name}",
                value=value,
                remedy=did_you_mean(value, keys),
            )
    return figure


def _checked_claims(
    claims: Sequence[Claim], factors: Sequence[Factor], file: str
) -> tuple[Claim, ...]:
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
    for name, value in _flattened(wanted).items():
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
