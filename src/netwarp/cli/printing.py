"""Prints results on a terminal: tables, differences, scorecards."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from rich.console import Console, RenderableType

    from netwarp.evaluation import RunData
    from netwarp.output.agreement import Agreement
    from netwarp.output.baseline import BaselineComparison
    from netwarp.output.diff import Difference
    from netwarp.sources.reproduction import Reproduction

WIDTH = 100
"""Maximum width of printed text, in characters."""


def print_results(data: RunData, console: Console) -> None:
    """Print the tables of a run directory, the verdicts on its claims, and notes."""
    from netwarp.output.table import result_blocks

    width = min(console.width, WIDTH)
    for block in result_blocks(data, width):
        _print_trimmed(block, console, width)


def print_expectations(data: RunData, console: Console) -> None:
    """Print whether the results meet a study's expectations; nothing if it has none."""
    from netwarp.output.expectation_lines import expectation_lines

    for line in expectation_lines(data.expectations) if data.expectations else ():
        _print_trimmed(line, console, min(console.width, WIDTH))


def print_baseline(compared: BaselineComparison, directory: Path, console: Console) -> None:
    """Print how the results of a run directory compare with a baseline."""
    from netwarp.output.baseline_lines import baseline_lines

    for line in baseline_lines(compared, directory):
        _print_trimmed(line, console, min(console.width, WIDTH))


def print_differences(found: Sequence[Difference], console: Console) -> None:
    """Print how a run directory differs from an earlier one."""
    from netwarp.output.diff_lines import difference_lines

    width = min(console.width, WIDTH)
    for line in difference_lines(found, width):
        _print_trimmed(line, console, width)


def print_agreement(found: Agreement, console: Console) -> None:
    """Print the comparison of virtual time with real time."""
    from rich.text import Text

    from netwarp.output.agreement_lines import agreement_blocks

    for block in agreement_blocks(found):
        if isinstance(block, Text):
            console.print(block, soft_wrap=True)
        else:
            _print_trimmed(block, console, console.width)


def print_scorecard(done: Reproduction, console: Console) -> None:
    """Print the conclusions of a source document with their verdicts."""
    from netwarp.sources.scorecard import scorecard_lines

    for line in scorecard_lines(done):
        console.print(line, width=min(console.width, WIDTH))


def _print_trimmed(block: RenderableType, console: Console, width: int) -> None:
    """Print a table without the trailing spaces of its lines."""
    from rich.segment import Segment, Segments

    options = console.options.update(width=width)
    for line in console.render_lines(block, options, pad=False):
        segments = list(line)
        while segments and not segments[-1].text.strip():
            segments.pop()
        if segments:
            last = segments[-1]
            segments[-1] = Segment(last.text.rstrip(), last.style, last.control)
        console.print(Segments([*segments, Segment.line()]), end="", soft_wrap=True)
