"""The command that repeats runs in virtual time, or compares virtual time with real time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from netwarp.cli.command import Argument, command
from netwarp.cli.interruption import interruption
from netwarp.errors import InputError
from netwarp.options import Option, Takes
from netwarp.options.running import FILTER, JOBS, JSON, OUT, RELEVANT, REPLICATES, SERVER
from netwarp.units import option_value, parse_ratio

if TYPE_CHECKING:
    from netwarp.library import Run
    from netwarp.verification import Verification

REAL_TIME = ("native", "remote")


@command(
    Argument("directory", "DIR", "A run directory.", type=Path),
    Option(
        name="runs", metavar="N", takes=Takes.WHOLE, least=1,
        help="Number of runs, spread evenly over all that succeeded. Default: 8.",
    ),
    Option(
        name="against", metavar="NAME|DIR",
        help="Compare it, cell by cell, with the same study in real time: on this host's own kernel"
        " (native), between two hosts (remote, with --server), or in a directory made earlier.",
    ),
    Option(
        name="kernel", metavar="NAME",
        help="The guest kernel of runs that name none, such as the one that measured them. Default:"
        " this machine's default.",
    ),
    JOBS, replace(SERVER, is_common=True), OUT, REPLICATES, FILTER, RELEVANT, JSON,
)  # fmt: skip
def verify(
    directory: Path,
    runs: int | None = None,
    jobs: int | None = None,
    against: str | None = None,
    kernel: str | None = None,
    server: str | None = None,
    out: Path | None = None,
    replicates: int | None = None,
    filter: Sequence[str] = (),  # noqa: A002 - what the option is called
    relevant: str | None = None,
    as_json: bool = False,
) -> None:
    """Repeat a sample of a directory's runs, and compare the records byte for byte.

    If a run is not identical, its first difference is shown and the exit status is 1. With
    --against the study of DIR, in virtual time, is compared with the same one in real time: which
    cells agree, which differ, and why. The exit status is then 1 if a cell differs or could not be
    compared.
    """
    from netwarp.library import open_run

    if against is not None:
        if runs is not None or jobs is not None:
            raise InputError("--runs and --jobs: with --against all cells are run, one at a time")
        if kernel is not None:
            raise InputError("--kernel: with --against nothing is run in a guest; drop it")
        least = None if relevant is None else option_value("--relevant", relevant, parse_ratio)
        kept = open_run(directory)
        other = _real_time_run(kept, against, server, out, replicates, filter)
        _print_agreement(kept, other, filter, least, as_json=as_json)
        return
    given = {
        "--server": server, "--out": out, "--replicates": replicates, "--filter": filter,
        "--relevant": relevant,
    }  # fmt: skip
    for name in _given_names(given):
        raise InputError(f"{name}: it says something of --against only; drop it, or add that")
    _repeat_and_print(open_run(directory), runs, jobs, kernel, as_json=as_json)


def _given_names(given: Mapping[str, object]) -> list[str]:
    """Return the names of the options that were given, even with the number 0 or an empty text."""
    return [name for name, value in given.items() if value is not None and value != ()]


def _real_time_run(
    kept: Run,
    against: str,
    server: str | None,
    out: Path | None,
    replicates: int | None,
    filters: Sequence[str],
) -> Run:
    """Return the results of the study in real time: those in a run directory if `against` is one,
    else those of running the study now on the backend that `against` names.
    """
    from netwarp.cli.running import command_line, progress_bar
    from netwarp.library import backend_at, open_run, run_in_real_time

    if against not in REAL_TIME:
        given = {"--server": server, "--out": out, "--replicates": replicates}
        for name in _given_names(given):
            raise InputError(f"{name}: nothing is run with --against {against}; drop it")
        return open_run(Path(against))
    place = backend_at(against, server) or against
    done = run_in_real_time(
        kept, place, out=out, replicates=replicates, filters=filters,
        command_line=command_line(), observer=progress_bar(),
    )  # fmt: skip
    done.report()
    return done


def _print_agreement(
    kept: Run, other: Run, filters: Sequence[str], relevant: float | None, *, as_json: bool
) -> None:
    """Print which cells agree in virtual and real time, and which do not, and set the exit
    status.
    """
    from netwarp.cli.printing import print_agreement
    from netwarp.cli.terminal import answer_console, print_json
    from netwarp.output.agreement import Answer

    found = kept.verify_against(other, filters=filters, relevant=relevant)
    if as_json:
        print_json(found.to_json())
    else:
        print_agreement(found, answer_console())
    if not found.cells or found.count(Answer.DIFFERS) or found.count(Answer.NOT_COMPARED):
        raise click.exceptions.Exit(1)


def _repeat_and_print(
    kept: Run, runs: int | None, jobs: int | None, kernel: str | None, *, as_json: bool
) -> None:
    """Repeat a sample of a directory's runs, and print which have identical records."""
    from netwarp.cli.progress import ProgressBar
    from netwarp.cli.terminal import console, print_json
    from netwarp.verification import DEFAULT_RUNS

    interruption.kept_text = lambda: f"{kept.directory} is as it was"
    found = kept.verify(
        runs or DEFAULT_RUNS, jobs=jobs, kernel=kernel, observer=ProgressBar(console())
    )
    if as_json:
        print_json(found.to_json())
    else:
        _print_again(found)
    if not found.is_identical:
        raise click.exceptions.Exit(1)


def _print_again(found: Verification) -> None:
    """Print the result for each run of a sample, and how many are identical."""
    from rich.text import Text

    from netwarp.cli.terminal import answer_console

    out = answer_console()
    for part, (then, now) in found.other_programs.items():
        out.print(Text(f"{part}: {then} measured, {now} is here", style="yellow"))
    for run in found.runs:
        style = "green" if run.is_identical else "red"
        out.print(Text.assemble(f"{run.run}  ", (str(run), style)), soft_wrap=True)
    same = sum(run.is_identical for run in found.runs)
    out.print(f"{same} of {len(found.runs)} runs identical, of {found.of} that are kept")
