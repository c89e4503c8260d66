"""Output of the commands: results go to standard output, everything else to standard error."""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import sys
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

import click

from netwarp.cli.checks import NO_CHECKS, Checks, baseline_json, status_of
from netwarp.errors import InputError, ResultError, one_line

if TYPE_CHECKING:
    from rich.console import Console

    from netwarp.evaluation import RunData
    from netwarp.library import Run
    from netwarp.output.baseline import BaselineComparison

SCREENFUL = 24 * 80
"""Maximum number of characters of an error message."""
BOLD_RED, PLAIN = "\x1b[1;31m", "\x1b[0m"


def print_and_end(
    finished: Run, as_json: bool, *, anew: bool = False, checks: Checks = NO_CHECKS
) -> None:
    """Print the results of a study, write its report, and end the process with an exit status, see
    `checks.status_of`.

    Args:
        finished: the study that was run.
        as_json: whether to print one JSON object (`--json`) instead of a table.
        anew: whether to rewrite results, figures and report even if they are up to date.
        checks: the checks of the results, and the files to which they are written.
    """
    from netwarp.pipeline import write_outputs

    data = finished.data
    compared, problem = None, None
    try:
        compared = checks.compared(data)
    except Exception as error:  # noqa: BLE001 - It is raised below, after the answer.
        problem = error
    # Print the answer first, because writing the rest takes longer.
    try:
        print_answer(finished, as_json, compared)
    finally:  # even if nobody reads the output any more, which rich turns into SystemExit
        write_outputs(data, anew=anew)
        if problem is None:
            _write_checks(checks, data, compared)
    if problem is not None:
        raise _as_result_error(problem)
    if not as_json:
        report = data.directory / finished.report_file.name
        answer_console().print(f"report: {report}", soft_wrap=True)
    end_by(status_of(data, compared))


def _write_checks(checks: Checks, data: RunData, compared: BaselineComparison | None) -> None:
    try:
        checks.write(data, compared)
    except InputError as error:
        raise _as_result_error(error) from None


def _as_result_error(error: Exception) -> Exception:
    """Convert an input error to a result error. It was found after runs had been carried out, so
    the exit status must not be the one of a refused command.
    """
    return ResultError(str(error)) if isinstance(error, InputError) else error


def end_by(status: int) -> None:
    """End the process with an exit status; do nothing if the status is 0."""
    if status:
        raise click.exceptions.Exit(status)


def print_answer(finished: Run, as_json: bool, compared: BaselineComparison | None = None) -> None:
    """Print results, and how they compare with a baseline if there is one."""
    if as_json:
        print_json(finished.summary() | baseline_json(compared))
    else:
        from netwarp.cli.printing import print_baseline, print_results

        print_results(finished.data, answer_console())
        if compared is not None:
            print_baseline(compared, finished.data.directory, answer_console())
    sys.stdout.flush()


def print_damage(opened: Run) -> None:
    """Print which files of a run directory are left out because they cannot be read."""
    for path, why in opened.damage.items():
        console().print(
            f"[yellow]left out:[/] {escaped(one_line(f'{path} ({why})', SCREENFUL))}",
            soft_wrap=True,
        )


class Answer:
    """Stores whether the JSON object of `--json` has been printed. If so, an error that occurs
    later must not print a second one.
    """

    is_given = False


answer = Answer()
"""The state of this process: whether its JSON object has been printed."""


NOT_ASCII = re.compile(r"[^\x00-\x7e]")
"""Characters that JSON may contain as they are; it escapes the control characters of ASCII."""


def print_json(value: Any) -> None:
    """Print the JSON object of `--json`, with escapes for characters that the output's encoding
    does not have, and for those that a terminal would obey.
    """
    answer.is_given = True
    encoding = sys.stdout.encoding or "utf-8"
    text = json.dumps(value, indent=2, ensure_ascii=not encoding.lower().startswith("utf"))
    sys.stdout.write(NOT_ASCII.sub(_escaped_if_unprintable, text) + "\n")


def _escaped_if_unprintable(found: re.Match[str]) -> str:
    character = found[0]
    return character if character.isprintable() else json.dumps(character)[1:-1]


def accept_any_encoding() -> None:
    """Make output print a question mark for each character that its encoding does not have."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")


def print_error(message: str) -> None:
    """Print why a command failed: one line, no longer than a screen.

    It is printed without rich, whose import takes longer than everything before it.
    """
    if sys.stderr is None:  # the caller has closed it
        return
    is_coloured = sys.stderr.isatty() and not os.environ.get("NO_COLOR")
    head = f"{BOLD_RED}error:{PLAIN}" if is_coloured else "error:"
    with contextlib.suppress(OSError):  # Standard error may be closed.
        sys.stderr.write(f"{head} {one_line(message, SCREENFUL - len(head) - 1)}\n")


def console() -> Console:
    """Return the console for everything except results: standard error."""
    from netwarp.cli.printable import PrintableConsole

    return PrintableConsole(stderr=True, emoji=False)


def answer_console(
    *, highlight: bool = True, soft_wrap: bool = False, markup: bool = True
) -> Console:
    """Return the console for results, on standard output. Texts like `:x:` in a path do not become
    emoji.
    """
    from netwarp.cli.printable import PrintableConsole

    return PrintableConsole(emoji=False, highlight=highlight, soft_wrap=soft_wrap, markup=markup)


def planning() -> AbstractContextManager[object]:
    """Show on a terminal that a study is being planned, which takes seconds for tens of thousands
    of cells.
    """
    if sys.stderr is None or not sys.stderr.isatty():
        return contextlib.nullcontext()  # without the progress display, whose import takes a while
    return console().status("planning")


def escaped(text: str) -> str:
    """Return a text with escapes, so that rich does not interpret brackets in it as markup."""
    return text.replace("[", r"\[")
