"""The command that compares a run directory with an earlier one."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Optional

import typer

from netwarp.cli import options


def diff(
    before: Annotated[Path, typer.Argument(metavar="BEFORE", help="The earlier run directory.")],
    after: Annotated[Path, typer.Argument(metavar="AFTER", help="The one held against it.")],
    metric: options.Metric = None,
    against: Annotated[
        Optional[str],  # noqa: UP045 - typer reads the annotation at run time
        typer.Option(
            help="How the ratio of each cell to the one of this level changed, instead of its"
            " value: transport=tcp.",
            metavar="FACTOR=LEVEL",
        ),
    ] = None,
    as_json: options.Json = False,
) -> None:
    """Say which cells changed between two run directories, by tests, and what else differs."""
    from netwarp.cli.printing import print_differences
    from netwarp.cli.terminal import answer_console, print_json
    from netwarp.evaluation import load
    from netwarp.output.diff import differences, differences_json

    metrics, level = options.levels(metric), options.against_level(against)
    found = differences(load(before), load(after), metrics, level)
    if as_json:
        print_json(differences_json(found))
    else:
        print_differences(found, answer_console())
