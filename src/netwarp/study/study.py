"""Validates a study's tables.

A study is checked as a whole before anything runs. Every level of every factor is in some cell, and
every cell is built completely. An error is one line that names file, key, value and remedy
(:class:`netwarp.errors.StudyError`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Field

from netwarp.backend_table import OF_STUDIES
from netwarp.collector import paused_collector
from netwarp.estimate.comparison import RELEVANT
from netwarp.fields import KernelField, KeyValueError, Kind, RatioField, SamplingField, Section
from netwarp.metrics import METRICS, metrics_of_workloads, printed_by_workloads
from netwarp.metrics.links import names_of_links
from netwarp.study.bounds import refuse_unbounded
from netwarp.study.cells.design import Cell, build_design
from netwarp.study.cells.factors import Factor, flat_factors, what_can_vary
from netwarp.study.claims import Claim, checked_claims
from netwarp.study.expectations import Expect, Expectation, checked_expectations
from netwarp.study.figures import Figure, checked_figure, refuse_unknown_metric, resolve_levels
from netwarp.study.outside import refuse_contents, with_contents
from netwarp.study.refusal import Display, Refusals
from netwarp.study.sections.competing import named_workloads
from netwarp.study.sections.diagnose import validated
from netwarp.study.tables import Table, Written
from netwarp.study.variants import Control, Sensitivity, checked_controls, checked_sensitivities
from netwarp.workloads import workload_of

MOST_REPLICATES = 10_000
Replicates = Annotated[
    int,
    Field(ge=1, le=MOST_REPLICATES, strict=True),
    Kind(f"a whole number from 1 to {MOST_REPLICATES}"),
]
Seed = Annotated[
    int, Field(ge=0, lt=2**63, strict=True), Kind("a whole number from 0 to 9223372036854775807")
]


Tables = Annotated[tuple[dict[str, Any], ...], Field(strict=False), Kind("`[[…]]` for each")]
Workloads = Annotated[Any, Kind("a table, or `[[workload]]` for each of several")]

if TYPE_CHECKING:
    StudyBackend = str
else:
    StudyBackend = Literal[OF_STUDIES]


class StudyFile(Section):
    """The top level of a study file."""

    title: str
    """The subject of the study, in one line."""
    description: str | None = None
    """The reason for the study, in a few sentences."""
    replicates: Replicates = 10
    """Number of runs of each cell, each with its own seeds."""
    seed: Seed = 1
    """The seed from which all randomness follows: the same seed gives the same records."""
    relevant: RatioField = RELEVANT
    """The smallest relevant difference: a smaller one is not called a difference, however exactly
    it was measured."""
    metrics: list[str] = Field(default_factory=list)
    """The main metrics, whose comparisons answer the study's question: `["completion_time_s",
    "rtt_under_load_s_p95"]`. Default: a metric that suits the workloads, such as the completion
    time; and the round-trip time under load if queue, discipline or congestion control varies."""
    against: dict[str, Any] = Field(default_factory=dict)
    """The level of a factor against which the others are compared, such as `{
    "transport.congestion" = "cubic" }`. Default: the first transport; if there are not several, the
    first congestion control or another setting of transports, then the queueing discipline, then
    the first level of the first factor."""
    backend: StudyBackend = OF_STUDIES[0]
    """Where the study runs unless `--backend` says otherwise: a guest in virtual time, or this
    host's own kernel in real time, for what depends on the CPU."""
    kernel: KernelField | None = None
    """The guest kernel of all runs: a version, such as "6.12", or a name of `netwarp kernel list`.
    It is a factor if it is a list under `[factors]`. Default: this machine's default kernel."""
    capture: Literal["pcap"] | None = None
    """`pcap`: each run writes a packet capture of the routers' links beside its records."""
    sampling: SamplingField = "auto"
    """How often queues and connections are sampled during a run. `auto`: each half round-trip time
    at first, then as often as costs at most 3 % of the run's CPU time. A duration: that often.
    `off`: never; then there is no queueing delay, and charts over time show only the events of the
    timeline. Samples shift what follows by about a microsecond, so that runs in which flows compete
    differ as with another seed if they are sampled at another rate."""
    path: dict[str, Any] = Field(default_factory=dict)
    """The path between client, router and server: delay, rate, loss and other impairments of
    packets."""
    topology: dict[str, Any] = Field(default_factory=dict)
    """Several hosts instead of one client and one server."""
    host: Tables = ()
    """The hosts of a network that the study defines."""
    router: Tables = ()
    """The routers of a network that the study defines."""
    link: Tables = ()
    """The links of a network that the study defines, instead of `[path]`."""
    transport: dict[str, Any] = Field(default_factory=dict)
    """Options of the transports."""
    workload: Workloads = Field(default_factory=dict)
    """Which data is transferred, and when. Several `[[workload]]` tables compete for the path."""
    limits: dict[str, Any] = Field(default_factory=dict)
    """Limits beyond which a run is ended as failed."""
    factors: dict[str, list[Any]] = Field(default_factory=dict)
    """The factors that are varied: lists of levels by key, such as `transport` or `"path.loss"`.
    All combinations are run, except those in `leave_out`."""
    leave_out: Tables = ()
    """Combinations of levels that are not run, such as a congestion control that one of the
    transports lacks: `[{ transport = "s2n-quic", "transport.congestion" = ["reno"] }]`, with a
    level or a list of levels for each of two factors or more."""
    figure: list[Figure] = Field(default_factory=list)
    """Figures, in the order of the report."""
    claim: list[Claim] = Field(default_factory=list)
    """Statements that the results can support or contradict; the report says which."""
    expect: list[Expect] = Field(default_factory=list)
    """Bounds that the results must meet; the exit status reports whether they do."""
    control: list[Control] = Field(default_factory=list)
    """Cells of claims that are run again with one thing changed, to show why results are what they
    are."""
    sensitivity: list[Sensitivity] = Field(default_factory=list)
    """Claims that are judged again with another value of something that the study chose."""
    quick: dict[str, Any] = Field(default_factory=dict)
    """Changes that `--quick` makes: keys as they stand in the file, such as `replicates = 3`,
    `workload.size = "1MB"`, or fewer levels in `[quick.factors]`."""


@dataclass(frozen=True)
class Study:
    """A validated study with all its cells."""

    refusals: Refusals
    """Converts errors that are found later in the study into errors with file and line."""
    question: str | None
    """The comment in the first line of the file."""
    title: str
    description: str | None
    replicates: int
    seed: int
    relevant: float
    """The smallest relevant difference, as a ratio."""
    metrics: tuple[str, ...]
    """The main metrics that the study names; empty for the usual ones."""
    against: Mapping[str, str]
    """The level against which the others are compared, by its factor; empty for the usual one."""
    backend: StudyBackend
    capture: Literal["pcap"] | None
    factors: tuple[Factor, ...]
    cells: tuple[Cell, ...]
    """The cells in the order of the factors' levels; the last factor varies fastest."""
    figures: tuple[Figure, ...]
    claims: tuple[Claim, ...]
    """The claims, with ids and with levels spelled as the factors spell them."""
    expectations: tuple[Expectation, ...]
    own_metrics: tuple[str, ...]
    """Names of the metrics that the study itself defines."""
    controls: tuple[Control, ...]
    sensitivities: tuple[Sensitivity, ...]
    """The sensitivities, each with the ids of its claims."""
    raw: Mapping[str, Any]
    """The tables, overrides applied, as JSON types; `study_from_mapping` makes the same study from
    them."""

    @property
    def file(self) -> str:
        """The study's file, or the command whose options define the study."""
        return self.refusals.file

    def factor(self, key: str) -> Factor:
        """Return the factor with this key.

        Raises:
            KeyError: the study does not vary it.
        """
        for factor in self.factors:
            if factor.key == key:
                return factor
        raise KeyError(key)


@paused_collector()
def study_from_mapping(
    raw: Mapping[str, Any],
    *,
    file: str = "study",
    lines: Mapping[str, int] | None = None,
    folder: Path | None = None,
    question: str | None = None,
    display: Display = str,
    is_closed: bool = False,
) -> Study:
    """Validate a study that is given as tables. Other files are read only if the study names them,
    such as traces and pages.

    Args:
        raw: a study file as `tomllib` reads it.
        file: the file name in messages.
        lines: line of each dotted key, for messages.
        folder: the folder to which relative paths of workloads and traces belong; None leaves them
            relative.
        question: the comment in the file's first line.
        display: converts dotted keys to what the user wrote, for messages.
        is_closed: whether a study that names files or programs is refused, before any is opened.

    Raises:
        StudyError: it is not a study that can be run.
    """
    refusals = Refusals(file, lines or {}, display)
    with refusals.as_study_errors():
        refuse_unbounded(raw)
        written = _with_short_forms(Table.of(raw))
        try:
            header = validated(StudyFile, written)
        except KeyValueError as error:
            raise _with_section_remedy(error) from None
        if is_closed:
            refuse_contents(written)
        written = with_contents(written, folder)
        workloads = named_workloads(written)
        design = build_design(written, workloads, header.leave_out)
        templates = [cell.template for cell in design.cells]
        of_links = names_of_links(templates)
        own_metrics = (
            (*metrics_of_workloads(tuple(workloads)), *printed_by_workloads(templates), *of_links)
            if workloads
            else _own_metrics(design.cells[0])
        )
        claims = checked_claims(header.claim, design.factors, own_metrics)
        for metric in header.metrics:
            refuse_unknown_metric(metric, "metrics", own_metrics)
        against = _against(header.against, design.factors)
        tables = written.plain()
        if against:
            tables["against"] = against
        return Study(
            refusals=refusals,
            question=question,
            title=header.title,
            description=header.description,
            replicates=header.replicates,
            seed=header.seed,
            relevant=header.relevant,
            metrics=tuple(header.metrics),
            against=against,
            backend=header.backend,
            capture=header.capture,
            factors=design.factors,
            cells=design.cells,
            figures=tuple(
                checked_figure(figure, index, design.factors, own_metrics)
                for index, figure in enumerate(header.figure)
            ),
            claims=claims,
            expectations=checked_expectations(
                header.expect, design.factors, own_metrics, design.cells
            ),
            own_metrics=tuple(own_metrics),
            controls=checked_controls(header.control, header.claim),
            sensitivities=checked_sensitivities(
                header.sensitivity, claims, [factor.key for factor in design.factors]
            ),
            raw=tables,
        )


def _against(wanted: Mapping[str, Any], factors: Sequence[Factor]) -> dict[str, str]:
    """Return the level against which the others are compared, with the spelling that it has in its
    factor.

    Raises:
        KeyValueError: several levels are given, or one that the study does not have.
    """
    found = resolve_levels(wanted, factors, "against")
    if len(found) > 1:
        reason, remedy = "one level of one factor is compared against", "keep one of them"
        raise KeyValueError("against", None, reason, remedy)
    return found


def _with_section_remedy(error: KeyValueError) -> KeyValueError:
    """Return the error, with a remedy if its key stands outside of the key's section: the remedy
    names the key with the section, such as `path.rtt` for `rtt`.
    """
    if error.reason == "unknown key" and error.key is not None:
        found = [key for key in what_can_vary() if key.partition(".")[2] == error.key]
        if found:
            remedy = f'did you mean "{found[0]}"?'
            return KeyValueError(error.key, error.value, error.reason, remedy)
    return error


def _own_metrics(cell: Cell) -> tuple[str, ...]:
    """Return the names of the metrics that a study itself defines, which are the same in all cells.

    Raises:
        KeyValueError: a name is already that of another metric.
    """
    own = [each.name for each in workload_of(cell.template).own_metrics(cell.template)]
    for name in own:
        if name in METRICS:
            key, remedy = f"workload.metrics.{name}", "choose another name"
            raise KeyValueError(key, None, "netwarp itself has a metric of this name", remedy)
    return tuple(own)


def _with_short_forms(study: Table) -> Table:
    """Return the study with short forms replaced by full ones: ``transport = "tcp"``, and tables
    inside `[factors]`.
    """
    kind = study.text("transport")
    if kind is not None:
        named = Table.of({"kind": kind}, "transport")
        study = study.replaced({"transport": Written(named, "transport")})
    if isinstance(study.find("factors").value, Table):
        factors = flat_factors(study.table("factors"))
        study = study.replaced({"factors": Written(factors, "factors")})
    return study
