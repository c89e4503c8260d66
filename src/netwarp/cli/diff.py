"""The command that compares a run directory with an earlier one."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from netwarp.cli.command import Argument, command
from netwarp.options import Option
from netwarp.options.running import JSON, METRIC


@command(
    Argument("before", "BEFORE", "The earlier run directory.", type=Path),
    Argument("after", "AFTER", "The one held against it.", type=Path),
    METRIC,
    Option(
        name="against",
        help="How the ratio of each cell to the one of this level changed, instead of its value:"
        " transport=tcp.",
        metavar="FACTOR=LEVEL",
    ),
    JSON,
)
def diff(
    before: Path,
    after: Path,
    metric: Sequence[str] = (),
    against: str | None = None,
    as_json: bool = False,
) -> None:
    """Say which cells changed between two run directories, by tests, and what else differs."""
    from netwarp.cli.printing import print_differences
    from netwarp.cli.terminal import answer_console, print_json
    from netwarp.evaluation import load
    from netwarp.output.diff import differences, differences_json
    from netwarp.study.overrides import against_level

    found = differences(load(before), load(after), list(metric), against_level(against))
    if as_json:
        print_json(differences_json(found))
    else:
        print_differences(found, answer_console())
