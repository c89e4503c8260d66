"""TOML → validated Study: a question as data.

A study is checked as a whole before anything runs: every level of every factor ends up in a cell,
and every cell is built completely. What is wrong is said in one line that names file, key, value
and remedy (:class:`netwarp.errors.StudyError`).
"""

from __future__ import annotations

import copy
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, ValidationError

from netwarp.errors import StudyError
from netwarp.estimate.comparison import RELEVANT
from netwarp.regular_files import UnreadableFileError, located, read_regular_file
from netwarp.study.bounds import refuse_unbounded, too_deep
from netwarp.study.cells.factors import Cell, Factor, build_design, factor_key, flattened
from netwarp.study.claims import Claim, Control, checked_claims, checked_controls
from netwarp.study.overrides import apply_overrides, apply_quick
from netwarp.study.questions import Figure, checked_figure
from netwarp.study.sections.diagnose import Display, study_error
from netwarp.study.sections.fields import Kind, RatioField, Section
from netwarp.study.toml_lines import line_of, study_lines
from netwarp.study.traces import with_traces

MOST_BYTES = 8 << 20
"""A study file may be as large as this: some hundred thousand levels."""
Replicates = Annotated[
    int, Field(ge=1, le=10_000, strict=True), Kind("a whole number from 1 to 10000")
]
Seed = Annotated[
    int, Field(ge=0, lt=2**63, strict=True), Kind("a whole number from 0 to 9223372036854775807")
]


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
    relevant: RatioField = RELEVANT
    """The smallest relevant difference: nothing below it is called a difference, however exactly it
    was measured."""
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
    control: list[Control] = Field(default_factory=list)
    """Cells of claims run again with one thing changed, to show why results are what they are."""
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
    relevant: float
    """The smallest relevant difference, as a share."""
    backend: Literal["virtual", "native"]
    capture: Literal["pcap"] | None
    factors: tuple[Factor, ...]
    cells: tuple[Cell, ...]
    """In the order of the factors' levels, the last factor fastest."""
    figures: tuple[Figure, ...]
    claims: tuple[Claim, ...]
    """With ids, and levels spelled as the factors spell them."""
    controls: tuple[Control, ...]
    raw: Mapping[str, Any]
    """The tables, overrides applied, JSON-able: `study_from_mapping` makes the same study of it."""
    lines: Mapping[str, int] = field(default_factory=dict, compare=False, repr=False)
    """Where its keys stand in the file, if it came from one; see :mod:`.toml_lines`."""

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
        overrides: ``KEY=VALUE`` each, see :func:`netwarp.study.overrides.apply_overrides`.
        replicates: instead of the file's.
        seed: instead of the file's.
        quick: whether to apply what the file's ``[quick]`` changes.

    Raises:
        StudyError: unreadable, not TOML, or not a study that can be run.
    """
    source = _Source(path, *read_toml(path))
    given = {"replicates": replicates, "seed": seed}
    named = [*overrides, *(name for name, value in given.items() if value is not None)]

    def change(raw: Mapping[str, Any]) -> dict[str, Any]:
        return apply_overrides(raw, overrides, replicates=replicates, seed=seed)

    study = source.study(change, quick=quick, overridden=named)
    if not quick and "quick" in source.raw:
        _refuse_bad_quick(source, overridden=bool(named))
    return study


@dataclass(frozen=True)
class _Source:
    """A study file as it was read."""

    path: Path
    text: str
    raw: Mapping[str, Any]

    def study(
        self,
        change: Callable[[Mapping[str, Any]], dict[str, Any]] = dict,
        *,
        quick: bool = False,
        overridden: Sequence[str] = (),
    ) -> Study:
        """Validate the study; what is wrong is said with its line."""
        file = str(self.path)
        tables = change(apply_quick(self.raw) if quick else self.raw)
        lines = study_lines(self.text, overridden, quick=quick)
        try:
            study = study_from_mapping(
                tables, file=file, folder=self.path.parent, question=_question(self.text)
            )
        except StudyError as error:
            if error.file != file:
                raise
            raise error.at_line(line_of(lines, error.key or "")) from None
        return replace(study, lines=lines)


def _refuse_bad_quick(source: _Source, *, overridden: bool) -> None:
    """See that a study could be run with ``--quick``, whether or not it is.

    A file that needs an override to be a study at all cannot be told by this, and passes.
    """
    try:
        source.study(quick=True)
    except StudyError:
        if overridden:
            try:
                source.study()
            except StudyError:
                return
        raise


def read_toml(path: Path) -> tuple[str, dict[str, Any]]:
    """Read a TOML file of a study or source: its text, and its tables.

    Raises:
        StudyError: unreadable, not TOML, or beyond what a study holds.
    """
    file = str(path)
    try:
        text = read_regular_file(path, MOST_BYTES).decode()
    except UnreadableFileError as error:
        raise StudyError(error.reason, file=file, remedy="name a readable TOML file") from None
    except UnicodeDecodeError as error:
        reason = f"not UTF-8 from byte {error.start} on"
        raise StudyError(reason, file=file, remedy="save it as UTF-8") from None
    try:
        raw = tomllib.loads(text)
    except RecursionError:
        raise too_deep(file) from None
    except tomllib.TOMLDecodeError as error:
        raise StudyError(f"not TOML: {error}", file=file, remedy="mend the syntax there") from None
    except ValueError:  # Python reads no number of more than 4300 digits
        reason, remedy = "a number beyond 64 bits", "write a smaller one"
        raise StudyError(reason, file=file, remedy=remedy) from None
    refuse_unbounded(raw, file)
    return text, raw


def study_from_mapping(
    raw: Mapping[str, Any],
    *,
    file: str = "study",
    folder: Path | None = None,
    question: str | None = None,
    display: Display = str,
) -> Study:
    """Validate a study given as tables. Reads no file but the rate traces they name.

    Args:
        raw: as `tomllib` reads a study file.
        file: for messages.
        folder: where relative paths of the workload and traces start; None leaves them relative.
        question: the comment in line one.
        display: translates dotted keys in messages.

    Raises:
        StudyError: not a study that can be run.
    """
    refuse_unbounded(raw, file)
    tables = with_traces(_normalised(raw, file, folder, display), file, folder, display)
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
        relevant=header.relevant,
        backend=header.backend,
        capture=header.capture,
        factors=design.factors,
        cells=design.cells,
        figures=tuple(
            checked_figure(figure, index, design.factors, file)
            for index, figure in enumerate(header.figure)
        ),
        claims=checked_claims(header.claim, design.factors, file),
        controls=checked_controls(header.control, header.claim, file),
        raw=tables,
    )


def _normalised(
    raw: Mapping[str, Any], file: str, folder: Path | None, display: Display
) -> dict[str, Any]:
    """Bring the short forms into the long one, and relative files to where they are."""

    def absolute(name: Any, key: str) -> Any:
        try:
            return located(name, folder) if isinstance(name, str) else name
        except UnreadableFileError as error:
            remedy = "name a readable file"
            raise StudyError(
                error.reason, file=file, key=display(key), value=name, remedy=remedy
            ) from None

    tables = copy.deepcopy(dict(raw))
    if isinstance(tables.get("transport"), str):
        tables["transport"] = {"kind": tables["transport"]}
    factors = tables.get("factors")
    if isinstance(factors, dict):
        tables["factors"] = factors = flattened(factors)
    workload = tables.get("workload")
    if isinstance(workload, dict) and "file" in workload:
        workload["file"] = absolute(workload["file"], "workload.file")
    if isinstance(factors, dict) and isinstance(factors.get("workload.file"), list):
        key = factor_key("workload.file")
        factors["workload.file"] = [absolute(name, key) for name in factors["workload.file"]]
    return tables


def _question(text: str) -> str | None:
    first = text.partition("\n")[0].strip()
    return first.lstrip("# ") or None if first.startswith("#") else None
