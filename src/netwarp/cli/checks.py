"""The checks of a command's results (expectations, a baseline), and the files to which their
outcomes are written.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from netwarp.errors import ResultError
from netwarp.output.own_files import JUNIT_START, MARKDOWN_START, refuse_foreign

if TYPE_CHECKING:
    from netwarp.evaluation import RunData
    from netwarp.output.baseline import Baseline, BaselineComparison


@dataclass(frozen=True)
class Checks:
    """The baseline with which a command compares its results, and the files that it writes for
    CI.
    """

    baseline: Baseline | None = None
    file: str = ""
    """Path of the baseline's file."""
    junit: Path | None = None
    """The file to which JUnit's XML is written; None if it is not written."""
    markdown: Path | None = None
    """The file to which the summary in Markdown is written; None if it is not written."""

    @classmethod
    def taken_from(cls, how: dict[str, Any]) -> Checks:
        """Remove the options about checks from a command's options, and read the files that they
        name.

        Raises:
            InputError: a file is not valid; nothing was run.
        """
        file: Path | None = how.pop("baseline", None)
        written = {option: how.pop(option, None) for option in ("junit", "markdown")}
        starts = {"junit": JUNIT_START, "markdown": MARKDOWN_START}
        for option, path in written.items():
            if path is not None:
                refuse_foreign(f"--{option}", path, starts[option])
        if file is None:
            return cls(**written)
        from netwarp.output.baseline_file import read_baseline

        return cls(read_baseline(file), str(file), **written)

    def compared(self, data: RunData) -> BaselineComparison | None:
        """Return the comparison of the results with the baseline; None if there is no baseline."""
        if self.baseline is None:
            return None
        from netwarp.output.baseline import compare_with_baseline

        return compare_with_baseline(self.baseline, data, self.file)

    def write(self, data: RunData, compared: BaselineComparison | None) -> None:
        """Write the files for CI.

        Raises:
            ResultError: a file cannot be written.
        """
        if self.junit is None and self.markdown is None:
            return
        from netwarp.output.cases import cases
        from netwarp.output.junit import junit_xml
        from netwarp.output.markdown import markdown
        from netwarp.run_files import write_text

        listed = cases(data, compared)
        for path, written in ((self.junit, junit_xml), (self.markdown, markdown)):
            if path is None:
                continue
            try:
                write_text(path, written(data, listed))
            except OSError as error:
                raise ResultError(f"cannot write {path}: {error.strerror}") from None


NO_CHECKS = Checks()
UNDECIDED = 3
"""Exit status if something is undecided and nothing failed."""


def status_of(data: RunData, compared: BaselineComparison | None) -> int:
    """Return the exit status for a study's results.

    It is 1 if a run failed, an expectation does not hold, or a cell is worse than its baseline or
    missing; else 3 if an expectation or a changed cell is undecided, or runs of the plan were not
    done; else 0.
    """
    kinds: set[str] = set()
    if data.raw.get("expect"):
        kinds |= {result.kept.value for result in data.expectations}
    if compared is not None:
        kinds |= {each.value for each in compared.standings}
    if data.results.failed or kinds & {"does-not-hold", "worse", "missing"}:
        return 1
    return UNDECIDED if "undecided" in kinds or data.not_done else 0


def baseline_json(compared: BaselineComparison | None) -> dict[str, Any]:
    """Return the fields that `--json` prints about a baseline, in addition to the results."""
    return {} if compared is None else {"baseline": compared.to_json()}
