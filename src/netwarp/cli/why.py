"""The command that explains how long a cell's transfers take, or the difference of two cells."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from netwarp.cli.command import Argument, command
from netwarp.options.running import JSON, METRIC, REPLICATES

if TYPE_CHECKING:
    from netwarp.evaluation import RunData
    from netwarp.results import CellResult


@command(
    Argument("directory", "DIR", "A run directory of virtual time.", type=Path),
    Argument(
        "cell", "[CELL]", "A cell: c003, or levels such as transport=tcp,path.loss=1%. Default: the"
        " only one.", required=False,
    ),
    Argument(
        "other", "[OTHER]", "A second cell: explain the difference from the first to it.",
        required=False,
    ),
    replace(METRIC, help="The metric that is explained. Default: the study's first."),
    replace(REPLICATES, help="Use the first N runs of a cell. Default: all."),
    JSON,
)  # fmt: skip
def why(
    directory: Path,
    cell: str | None = None,
    other: str | None = None,
    metric: Any = (),
    replicates: int | None = None,
    as_json: bool = False,
) -> None:
    """Explain why a transfer takes as long as it does, by lifting its limits one at a time.

    netwarp why netwarp-out/DIR transport=tcp,path.loss=1%

    Each limit that the cell's transfers have (a window, losses, a queue, a controller, …) is lifted
    by itself, the same seeds are run again, and each run is compared with its pair. A limit is
    named as a reason only where the whole interval of its gain is beyond the smallest relevant
    difference. With OTHER, factors that differ are changed one at a time in all orders; if it is
    one factor only, each limit is lifted in both cells, to see which one makes them differ.
    Nothing is written to DIR.
    """
    from netwarp.cli.interruption import interruption
    from netwarp.library import open_run
    from netwarp.why.cells import cell_named, metric_of

    interruption.kept_text = lambda: f"nothing was written, and {directory} is as it was"
    data = open_run(directory).data
    if metric:
        data = data.asked([metric] if isinstance(metric, str) else list(metric), {})
    explained = metric_of(data)
    first = cell_named(data, cell)
    if other is None:
        _one(data, first, explained, replicates, as_json=as_json)
    else:
        _two(data, (first, cell_named(data, other)), explained, replicates, as_json=as_json)


def _one(
    data: RunData, cell: CellResult, metric: str, replicates: int | None, *, as_json: bool
) -> None:
    from netwarp.cli.terminal import answer_console, print_json
    from netwarp.library import backend_for
    from netwarp.output.why_lines import answer_json, answer_lines
    from netwarp.why.answer import explain
    from netwarp.why.cells import base_runs

    runs = base_runs(data, cell, metric, replicates)
    backend = backend_for(data.study)
    backend.check(1)
    relevant = data.results.criteria.relevant
    found = explain(runs, metric, relevant, backend, counting("lifting limits"))
    if as_json:
        print_json(answer_json(found, cell))
        return
    put = answer_console(highlight=False, soft_wrap=True, markup=False).print
    for line in answer_lines(found, cell, runs):
        put(line)


def _two(
    data: RunData,
    cells: tuple[CellResult, CellResult],
    metric: str,
    replicates: int | None,
    *,
    as_json: bool,
) -> None:
    from netwarp.cli.terminal import answer_console, print_json
    from netwarp.errors import InputError
    from netwarp.library import backend_for
    from netwarp.output.why_lines import (
        contrast_json,
        contrast_lines,
        parts_json,
        parts_lines,
    )
    from netwarp.why.cells import base_runs
    from netwarp.why.contrast import contrast
    from netwarp.why.swap import parts

    differing = [key for key, level in cells[0].factors.items() if cells[1].factors[key] != level]
    if not differing:
        raise InputError("why: CELL and OTHER are the same cell; name two")
    put = answer_console(highlight=False, soft_wrap=True, markup=False).print
    if len(differing) > 1:
        divided = parts(data.results, *cells, metric)
        if as_json:
            print_json(parts_json(divided, cells, metric))
        else:
            for line in parts_lines(divided, cells, metric):
                put(line)
        return
    backend = backend_for(data.study)
    backend.check(1)
    one, other = (base_runs(data, cell, metric, replicates) for cell in cells)
    relevant = data.results.criteria.relevant
    found = contrast(one, other, metric, relevant, backend, counting("lifting limits in both"))
    if as_json:
        print_json(contrast_json(found, cells, metric))
        return
    for line in contrast_lines(found, cells, metric):
        put(line)


def counting(what: str) -> Callable[[int], None]:
    """Return a function that shows on a terminal how many runs have ended. A negative argument
    announces further runs, a positive one says that so many ended. Elsewhere it prints nothing.
    """
    from netwarp.cli.terminal import console

    shown = console()
    if not shown.is_terminal:
        return lambda _: None
    lock = threading.Lock()
    state = {"all": 0, "done": 0}

    def count(change: int) -> None:
        with lock:
            state["all" if change < 0 else "done"] += abs(change)
            end = "\n" if state["done"] == state["all"] else ""
            shown.file.write(f"\r{what}: {state['done']} of {state['all']} runs{end}")
            shown.file.flush()

    return count
