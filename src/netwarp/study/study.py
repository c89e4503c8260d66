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
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, ValidationError

from netwarp.errors import StudyError
from netwarp.study.cells.factors import Cell, Factor, build_design, flattened
from netwarp.study.overrides import apply_overrides, apply_quick
from netwarp.study.questions import Claim, Figure, checked_claims, checked_figure
from netwarp.study.sections.diagnose import Display, study_error
from netwarp.study.sections.fields import Kind, Section
from netwarp.study.toml_lines import line_of, study_lines
from netwarp.study.traces import with_traces

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
    given = {"replicates": replicates, "seed": seed}
    set_elsewhere = [*overrides, *(name for name, value in given.items() if value is not None)]
    lines = study_lines(text, set_elsewhere, quick=quick)
    try:
        study = study_from_mapping(changed, file=file, folder=path.parent, question=_question(text))
    except StudyError as error:
        if error.file != file:
            raise
        raise error.at_line(line_of(lines, error.key or "")) from None
    return replace(study, lines=lines)


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
    tables = with_traces(_normalised(raw, folder), file, partial(_absolute, folder=folder), display)
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
            checked_figure(figure, index, design.factors, file)
            for index, figure in enumerate(header.figure)
        ),
        claims=checked_claims(header.claim, design.factors, file),
        raw=tables,
    )


def _normalised(raw: Mapping[str, Any], folder: Path | None) -> dict[str, Any]:
    """Bring the short forms into the long one, and relative files to where they are."""
    tables = copy.deepcopy(dict(raw))
    if isinstance(tables.get("transport"), str):
        tables["transport"] = {"kind": tables["transport"]}
    factors = tables.get("factors")
    if isinstance(factors, dict):
        tables["factors"] = factors = flattened(factors)
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


def _absolute(name: str, folder: Path | None) -> str:
    if folder is None:
        return name
    return os.path.abspath(folder / Path(name).expanduser())  # noqa: PTH100 - keeps symlinks


def _question(text: str) -> str | None:
    first = text.partition("\n")[0].strip()
    return first.lstrip("# ") or None if first.startswith("#") else None
