"""The scorecard of a source document: conclusions with verdicts, printed and as a page."""

from __future__ import annotations

from importlib.resources import files
from typing import TYPE_CHECKING

import jinja2
from markupsafe import Markup
from rich.padding import Padding
from rich.text import Text

from netwarp import __version__
from netwarp.claims import ClaimVerdict
from netwarp.units import span_text

if TYPE_CHECKING:
    from rich.console import Console

    from netwarp.claims import ClaimResult
    from netwarp.sources.reproduce import Reproduction

WIDTH = 100
WORDS = {
    ClaimVerdict.REPRODUCED: "reproduced",
    ClaimVerdict.REVERSED: "reversed",
    ClaimVerdict.NO_DIFFERENCE: "no significant difference",
    ClaimVerdict.NOT_TESTABLE: "not testable here",
}
STYLES = {
    ClaimVerdict.REPRODUCED: "green",
    ClaimVerdict.REVERSED: "red",
    ClaimVerdict.NO_DIFFERENCE: "yellow",
    ClaimVerdict.NOT_TESTABLE: "dim",
}


def print_scorecard(done: Reproduction, console: Console) -> None:
    """Print each conclusion as a sentence, its verdict, the numbers, and why it differs."""
    width = min(console.width, WIDTH)
    index = done.source.index
    console.print(Text(f"{index.authors}: {index.title}", style="bold"), width=width)
    for study in done.studies:
        console.print(Text(f"\n{study.study.title}", style="bold"), width=width)
        if study.refused is not None:
            console.print(Text(f"not run: {study.refused}", style="red"), width=width)
        for claim in study.claims:
            _print_claim(claim, console, width)
    console.print(Text(f"\n{score_text(done)}", style="bold"), width=width)
    console.print(clock_text(done), width=width, highlight=False)


def score_text(done: Reproduction) -> str:
    """Count the verdicts: `9 conclusions: 5 reproduced, 3 reversed, …`."""
    counts = [f"{done.count(verdict)} {words}" for verdict, words in WORDS.items()]
    return f"{len(done.claims)} conclusions: {', '.join(counts)}"


def clock_text(done: Reproduction) -> str:
    """Say how much time was covered, and how long that took."""
    text = f"virtual time {span_text(done.virtual_s)}, wall time {span_text(done.wall_s)}"
    return f"{text}; smaller versions of the studies (--quick)" if done.quick else text


def render(done: Reproduction, report_file: str) -> str:
    """Render the page: the scorecard, and every figure of the source."""
    environment = jinja2.Environment(
        loader=jinja2.FunctionLoader(_resource), autoescape=True, undefined=jinja2.StrictUndefined,
        trim_blocks=True, lstrip_blocks=True,
    )  # fmt: skip
    return environment.get_template("scorecard.html").render(
        done=done,
        index=done.source.index,
        words=WORDS,
        score=score_text(done),
        clocks=clock_text(done),
        report_file=report_file,
        style=Markup(_resource("style.css")),  # noqa: S704 - ours, no user's text in it
        version=__version__,
    )


def _print_claim(claim: ClaimResult, console: Console, width: int) -> None:
    style = STYLES[claim.verdict]
    console.print(
        Text.assemble((f"{WORDS[claim.verdict]}: ", style), claim.text),
        width=width,
        highlight=False,
    )
    for line in filter(None, (claim.why, claim.reason)):
        console.print(Padding(Text(line, style="dim"), (0, 0, 0, 4)), width=width)


def _resource(name: str) -> str:
    return (files("netwarp.report") / name).read_text(encoding="utf-8")
