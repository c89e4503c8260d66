"""The command that runs the QUIC interop runner's cases over all pairs of stacks."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from netwarp.cli.command import command
from netwarp.errors import InputError
from netwarp.options import Option, Takes
from netwarp.options.running import JOBS, JSON, OUT, SEED

if TYPE_CHECKING:
    from netwarp.backends.base import Backend
    from netwarp.interop import Asked, Field, Grid

RESULT_FILE = "result.json"
PAGE_FILE = "interop.html"
DEFAULT_SEED = 1


def _list(name: str, metavar: str, text: str) -> Option:
    return Option(name=name, help=text, metavar=metavar, takes=Takes.LEVELS)


@command(
    _list(
        "stacks", "LIST",
        "Stacks at both ends: names of `netwarp stack list`, or programs such as ./run_endpoint.sh."
        " Default: all that are built here and keep the runner's contract.",
    ),
    _list("clients", "LIST", "Only these at the client's end. Default: all of them."),
    _list("servers", "LIST", "Only these at the server's end. Default: all of them."),
    _list("cases", "LIST", "The runner's cases, such as handshake,transferloss. Default: all."),
    Option(
        name="seeds", help="Loss patterns that each pair meets in each case. Default: 1.",
        metavar="N", takes=Takes.WHOLE, least=1,
    ),
    Option(
        name="pattern",
        help="Run only this loss pattern of the cases again, and keep its capture with keys, and"
        " the programs' logs.",
        metavar="K", takes=Takes.WHOLE, least=1,
    ),
    Option(
        name="against", help="An earlier result.json, the runner's or netwarp's: say what changed.",
        metavar="FILE", takes=Takes.PATH,
    ),
    SEED,
    OUT,
    JOBS,
    JSON,
)  # fmt: skip
def interop(
    *,
    stacks: list[str] | None = None,
    clients: list[str] | None = None,
    servers: list[str] | None = None,
    cases: list[str] | None = None,
    seeds: int = 1,
    seed: int = DEFAULT_SEED,
    pattern: int | None = None,
    against: Path | None = None,
    out: Path | None = None,
    jobs: int | None = None,
    as_json: bool = False,
) -> None:
    """Run the QUIC interop runner's test cases over all pairs of stacks."""
    from netwarp.backends.registry import open_backend
    from netwarp.backends.watch import Bounds
    from netwarp.interop import Asked
    from netwarp.interop.runner_json import read_results

    asked = Asked.of(
        stacks=stacks or (),
        clients=clients or (),
        servers=servers or (),
        cases=cases or (),
        seeds=seeds,
        seed=seed,
        folder=Path.cwd(),
    )
    before = None if against is None else read_results(against)
    backend = open_backend("virtual", Bounds())
    place = out or Path("netwarp-out") / f"interop-{_hash(asked)}"
    if pattern is not None:
        _repeat(asked, pattern, backend, place)
        return
    grid = _run(asked, backend, place, jobs)
    _write_and_print(grid, place, before, as_json=as_json)


def _hash(asked: Asked) -> str:
    stacks = sorted(f"{name} {each.version}" for name, each in asked.stacks.items())
    named = repr((stacks, asked.clients, asked.servers, asked.seed))
    return sha256(named.encode()).hexdigest()[:8]


def _run(asked: Asked, backend: Backend, place: Path, jobs: int | None) -> Grid:
    """Run the interop grid with guests in parallel, and print each test case as it begins."""
    from netwarp.cli.terminal import console
    from netwarp.execution.opening import open_executor
    from netwarp.interop import run_grid

    with open_executor(jobs=jobs) as executor:
        return run_grid(
            asked,
            backend,
            executor,
            place,
            at_a_time=executor.at_a_time(backend),
            on_case=lambda case: console().print(f"running {case}", highlight=False),
        )


def _write_and_print(
    grid: Grid, place: Path, before: dict[tuple[str, str, str], str] | None, *, as_json: bool
) -> None:
    """Write the files of the interop grid, and print it."""
    from netwarp.cli.terminal import answer_console, escaped, print_json
    from netwarp.interop.page import render
    from netwarp.interop.runner_json import changes, runner_json
    from netwarp.interop.wording import facts, repeat_command
    from netwarp.run_files import write_json, write_text

    changed = [] if before is None else changes(before, grid)
    found = runner_json(grid, place)
    place.mkdir(parents=True, exist_ok=True)
    write_json(place / RESULT_FILE, found)
    write_text(place / PAGE_FILE, render(grid, place, changed))
    if as_json:
        print_json({**found, "changed": [_change(field, was) for field, was in changed]})
        return
    answers = answer_console()

    def say(text: str) -> None:
        answers.print(escaped(text), soft_wrap=True, highlight=False)

    answers.print(_table(grid))
    for field in grid.fields.values():
        if field.result == "failed":
            say(f"{field.case}, {field.client} to {field.server}: {field.reason}")
            if field.failed:
                say(f"    {repeat_command(field, place, grid.asked)}")
    for field, was in changed:
        say(f"changed: {field.case}, {field.client} to {field.server}: {was} → {field.result}")
    if before is not None and not changed:
        say("nothing changed")
    for name, text in facts(grid):
        say(f"{name}: {text}")
    say(f"page: {place / PAGE_FILE}, as the runner's: {place / RESULT_FILE}")


def _change(field: Field, was: str) -> dict[str, Any]:
    return {
        "client": field.client, "server": field.server, "case": field.case,
        "before": was, "now": field.result,
    }  # fmt: skip


def _table(grid: Grid) -> Any:
    """Return the interop grid as the runner's table: clients are rows, servers are columns."""
    from rich import box
    from rich.table import Column, Table
    from rich.text import Text

    from netwarp.interop.page import MARKS
    from netwarp.interop.wording import cell_lines

    colours = {"succeeded": "green", "failed": "bold red", "unsupported": "dim"}
    # A list of cases is longer than a column, and has no spaces.
    columns = (Column(server, overflow="fold") for server in grid.asked.servers)
    table = Table("client \\ server", *columns, box=box.SQUARE, show_lines=True)
    for client in grid.asked.clients:
        cells = []
        for server in grid.asked.servers:
            cell = Text()
            for result, names in cell_lines(grid, client, server):
                cell.append(f"{MARKS[result]}({names})\n", style=colours[result])
            cell.rstrip()
            cells.append(cell)
        table.add_row(client, *cells)
    return table


def _repeat(asked: Asked, pattern: int, backend: Backend, place: Path) -> None:
    """Run the test case once more with one loss pattern, and print which files this left."""
    from netwarp.cli.terminal import answer_console, escaped
    from netwarp.interop.run import repeat

    backend.check(1)
    is_wrong = False
    for case in asked.cases:
        found = repeat(asked, case, pattern, backend, place)
        if not found:
            missing = "; ".join(asked.missing.values()) or "there is no pair"
            raise InputError(f"nothing was run of {case}: {missing}")
        is_wrong |= any(each.wrong is not None for each in found)
        for each in found:
            wrong = "succeeded" if each.wrong is None else each.wrong
            left = {
                "capture with keys": place / each.run / "capture.pcapng",
                "what the programs logged": place / each.run / "logs",
            }
            lines = [f"    {what}: {path}" for what, path in left.items() if path.exists()]
            for line in (f"{each.run}: {wrong}", *lines):
                answer_console().print(escaped(line), soft_wrap=True, highlight=False)
    if is_wrong:
        raise click.exceptions.Exit(1)
