"""The command that compares a run directory with an earlier one."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Optional

import typer

from netwarp.cli import options


def diff(
    before: Annotated[Path, typer.Argument(metavar="BEFORE", help="The earlier run directory.")],
    after: Annotated[Path, typer.Argument(metavar="AFTER", help="The one held against it.")],
    metric: Annotated[
        Optional[str],  # noqa: UP045 - typer reads the annotation at run time
        typer.Option(help="Which metric. Default: the main one of AFTER.", metavar="NAME"),
    ] = None,
    as_json: options.Json = False,
) -> None:
    """Say which cells changed between two run directories, by tests, and what else differs."""
    from netwarp.cli.printing import print_difference
    from netwarp.cli.terminal import answer_console, print_json
    from netwarp.evaluation import load
    from netwarp.output.diff import difference, difference_json

    found = difference(load(before), load(after), metric)
    if as_json:
        print_json(difference_json(found))
    else:
        print_difference(found, answer_console())
