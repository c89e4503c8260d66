"""The command that carries out a sample of a run directory again."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from netwarp.cli import options


def verify(
    directory: Annotated[Path, typer.Argument(metavar="DIR", help="A run directory.")],
    runs: Annotated[
        int,
        typer.Option(min=1, help="How many, spread evenly over all that succeeded.", metavar="N"),
    ] = 8,
    jobs: options.Jobs = None,
    as_json: options.Json = False,
) -> None:
    """Carry out a sample of a directory's runs again, and compare the records byte for byte.

    Each run is identical, or its first difference is shown and the exit status is 1.
    """
    from rich.console import Console
    from rich.text import Text

    from netwarp.cli.interruption import interruption
    from netwarp.cli.progress import ProgressBar
    from netwarp.cli.terminal import console, print_json
    from netwarp.library import open_run

    interruption.kept_text = lambda: f"{directory} is as it was"
    found = open_run(directory).verify(runs, jobs=jobs, observer=ProgressBar(console()))
    if as_json:
        print_json(found.to_json())
    else:
        out = Console()
        for part, (then, now) in found.other_programs.items():
            out.print(Text(f"{part}: {then} measured, {now} is here", style="yellow"))
        for run in found.runs:
            style = "green" if run.is_identical else "red"
            out.print(Text.assemble(f"{run.run}  ", (str(run), style)), soft_wrap=True)
        same = sum(run.is_identical for run in found.runs)
        out.print(f"{same} of {len(found.runs)} runs identical, of {found.of} that are kept")
    if not found.is_identical:
        raise typer.Exit(1)
