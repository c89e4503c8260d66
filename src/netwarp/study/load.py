"""Loads a study file, and applies the changes of the command line."""

import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

from netwarp.errors import StudyError
from netwarp.fields import KeyValueError
from netwarp.regular_files import UnreadableFileError, read_regular_file
from netwarp.run_directory import question_in
from netwarp.study.bounds import read_tables, refuse_unbounded, too_deep, too_large
from netwarp.study.overrides import apply_overrides, apply_quick
from netwarp.study.refusal import Refusals
from netwarp.study.study import Study, study_from_mapping
from netwarp.study.toml_lines import key_lines, key_of_long_number, study_lines, syntax_remedy
from netwarp.study.variants import refuse_loose_reasons

MOST_BYTES = 8 << 20
"""Maximum size of a study file in bytes: some hundred thousand levels."""


def load_study(
    path: str | PathLike[str],
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
        replicates: replaces the file's number.
        seed: replaces the file's seed.
        quick: whether to apply the file's ``[quick]`` table.

    Raises:
        StudyError: the file is unreadable, not TOML, or not a study that can be run.
    """
    file = Path(path)
    source = _Source(file, *read_toml(file))
    given = {"replicates": replicates, "seed": seed}
    named = [*overrides, *(name for name, value in given.items() if value is not None)]

    def change(raw: Mapping[str, Any]) -> dict[str, Any]:
        return apply_overrides(raw, overrides, replicates=replicates, seed=seed)

    study = source.study(change, quick=quick, overridden=named)
    with study.refusals.as_study_errors():
        refuse_loose_reasons(study.claims, study.controls, study.sensitivities)
    if not quick and "quick" in source.raw:
        _refuse_bad_quick(source, overridden=bool(named))
    return study


def read_toml(path: Path) -> tuple[str, dict[str, Any]]:
    """Read a TOML file of a study or source document; return its text and its tables.

    Raises:
        StudyError: the file is unreadable, not TOML, or exceeds the bounds of a study.
    """
    with Refusals(str(path)).as_study_errors():
        try:
            text = read_regular_file(path, MOST_BYTES).decode("utf-8-sig")
        except UnreadableFileError as error:
            raise KeyValueError(None, None, error.reason, "name a readable TOML file") from None
        except UnicodeDecodeError as error:
            reason = f"not UTF-8 from byte {error.start} on"
            raise KeyValueError(None, None, reason, "save it as UTF-8") from None
        try:
            raw = read_tables(text)
        except RecursionError:
            raise too_deep() from None
        except tomllib.TOMLDecodeError as error:
            reason = f"not TOML: {error}"
            raise KeyValueError(None, None, reason, syntax_remedy(text, str(error))) from None
        except KeyValueError:
            raise
        except ValueError:  # Python refuses to read a number of more than 4300 digits
            with Refusals(str(path), key_lines(text)).as_study_errors():
                raise too_large(key_of_long_number(text)) from None
    try:
        refuse_unbounded(raw)
    except KeyValueError as error:
        raise Refusals(str(path), key_lines(text)).study_error(error) from None
    return text, raw


@dataclass(frozen=True)
class _Source:
    """The contents of a study file."""

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
        """Validate the study after a change of its tables, and return it."""
        lines = study_lines(self.text, overridden, quick=quick)
        with Refusals(str(self.path), lines).as_study_errors():
            raw = apply_quick(self.raw) if quick else self.raw
        return study_from_mapping(
            change(raw),
            file=str(self.path),
            lines=lines,
            folder=self.path.parent,
            question=question_in(self.text),
        )


def _refuse_bad_quick(source: _Source, *, overridden: bool) -> None:
    """Refuse a study that is not valid with its ``[quick]`` table, whether or not `--quick` is
    given.

    If a file is valid only with an override of the command line, this is not checked.
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
