"""The command for baselines: small files of results with which later results are compared."""

from __future__ import annotations

from pathlib import Path

from netwarp.cli.command import Argument, Group, command
from netwarp.errors import InputError

baseline = Group(
    "baseline",
    help="Save measured values in a small file, with which `run --baseline` compares.",
)


@baseline.add
@command(
    Argument("file", "FILE", "The file to write, such as baseline.json.", type=Path),
    Argument(
        "directory", "[DIR]", "A run directory. Default: the newest in netwarp-out.", type=Path,
        required=False,
    ),
    name="save",
)  # fmt: skip
def baseline_save(file: Path, directory: Path | None = None) -> None:
    """Save the values of a run directory's main metrics, a line for each cell, to be committed.

    The file also contains the seed and the programs. `netwarp run STUDY --baseline FILE` then
    reports for each cell whether it is unchanged byte for byte, changed by less than the relevant
    difference, better or worse, and exits with 1 if one is worse or missing.
    """
    from netwarp.cli.terminal import answer_console, escaped
    from netwarp.evaluation import load
    from netwarp.output.baseline import baseline_of
    from netwarp.output.baseline_file import write_baseline
    from netwarp.output.own_files import BASELINE_START, refuse_foreign

    refuse_foreign("baseline save", file, BASELINE_START)
    place = directory or _newest()
    made = baseline_of(load(place))
    write_baseline(made, file)
    said = f"{file}: {len(made.cells)} cells of {place}, by {', '.join(made.metrics)}"
    answer_console(highlight=False, soft_wrap=True).print(escaped(said))


def _newest() -> Path:
    """Return the run directory in netwarp-out that was written to last.

    Raises:
        InputError: there is no run directory.
    """
    from netwarp.pipeline import DEFAULT_PARENT
    from netwarp.run_directory import RunDirectory

    found = [RunDirectory(each).provenance_file for each in DEFAULT_PARENT.glob("*/")]
    written = [(file.stat().st_mtime_ns, file) for file in found if file.is_file()]
    if not written:
        raise InputError(f"baseline save: no run directory in {DEFAULT_PARENT}; name one")
    return max(written)[1].parent
