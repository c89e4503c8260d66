"""What the commands print: answers to standard output, everything else to standard error."""

from __future__ import annotations

import io
import json
import sys
from typing import TYPE_CHECKING, Any

import typer
from rich.console import Console

from netwarp.errors import one_line

if TYPE_CHECKING:
    from netwarp.pipeline import StudyRun

SCREENFUL = 24 * 80
"""Characters of a message at most."""


def tell(finished: StudyRun, as_json: bool) -> None:
    """Print what came of a study; exit status 1 when a run failed."""
    from netwarp.output.table import print_results

    if as_json:
        print_json(finished.summary)
    else:
        console = Console()
        print_results(finished.results, console, finished.directory.clock)
        console.print(f"report: {finished.directory.path / 'report.html'}", soft_wrap=True)
    if finished.results.failed:
        raise typer.Exit(1)


def print_json(value: Any) -> None:
    """Print the one object of `--json`, escaped where the output cannot have all characters."""
    encoding = sys.stdout.encoding or "utf-8"
    json.dump(value, sys.stdout, indent=2, ensure_ascii=not encoding.lower().startswith("utf"))
    sys.stdout.write("\n")


def accept_any_encoding() -> None:
    """Let an output whose encoding lacks a character have a question mark in its place."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")


def print_error(message: str) -> None:
    """Print why nothing came of a command: one line, no longer than a screen."""
    console().print(f"[bold red]error:[/] {escaped(one_line(message, SCREENFUL))}", soft_wrap=True)


def console() -> Console:
    """Everything that is not the answer goes to standard error."""
    return Console(stderr=True, emoji=False)


def escaped(text: str) -> str:
    """Keep rich from reading brackets as markup."""
    return text.replace("[", r"\[")
