#!/usr/bin/env python3
"""Writes docs/validation.md and its picture: published numbers, held against ours.

`make validation ARGS=DIR` reads the run directories below a directory (by default those of
`netwarp reproduce`), and runs nothing. Rows of studies that have no run directory there stay as
they were: they are kept in validation_rows.jsonl, with what is known of their runs.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any

from cubic_windows import closed_form, round_by_round
from netwarp.claims import ClaimVerdict
from netwarp.figures.published import Point, interval_of, published_chart
from netwarp.pipeline import DEFAULT_PARENT
from netwarp.sources import find_sources, load_sources
from netwarp.sources.preparation import SCORECARD_JSON
from netwarp.study import load_study
from netwarp.study.claims import Claim
from netwarp.wording import condition_text, count, digits_to_tell, number, percent, quantity

DOCS = Path(__file__).parents[1] / "docs"
TEMPLATE = Path(__file__).with_name("validation_template.md")
ROWS = Path(__file__).with_name("validation_rows.jsonl")
SUMMARY = "summary.json"
PROVENANCE = "provenance.json"
NOT_RECORDED = "not recorded"
VARIANTS = ("controls", "sensitivities", "seeds")
"""Folders of a run directory whose runs are not the study's own."""
HIT = ClaimVerdict.REPRODUCED.value
DEPENDS = ClaimVerdict.DEPENDS.value
WORDS = {"holds": HIT, "reversed": "missed"}
WIDE = 1.2
OF_RUNS = "95 % of runs"
ORDER = {"missed": 0, HIT: 2}
"""Order of rows on the page; rows with other words come in between."""
CUBIC_CELLS = ((1000, 0.1), (10_000, 0.1), (10_000, 0.01))
"""Packets from one loss to the next, and round-trip time in s, of the calculated control."""
CUBIC_LOSSES = 40
RARE_CELL = (1_000_000, 0.01)
"""The same where a run has few losses, and its average depends on how it starts."""
RARE_LOSSES = 12
RARE_START_PACKETS = 7936
"""Its window at the first loss, as the samples of linux-1e-6 have it."""


@dataclass(frozen=True)
class Row:
    """A published number in one condition, with ours."""

    source: str
    text: str
    word: str
    metric: str
    condition: str
    published: float
    ours: float
    interval: Sequence[float] | None
    held_to: str = ""
    """How near ours has to be: a tolerance, or a range of our runs."""
    study: str = ""
    """Title of the study."""
    seed: int | None = None
    """Seed of its runs; as all that follows, empty where that was not recorded."""
    replicates: int | None = None
    """Replicates of its runs."""
    version: str = ""
    """Version of netwarp that ran them."""
    kernel: str = ""
    """Version of the guest kernel."""
    began: str = ""
    """Day on which they began."""
    depends: bool = False
    """Whether its claim has another word in a sensitivity of the study: it hangs on a choice."""

    @property
    def is_wide(self) -> bool:
        """Whether it is met although the interval's ends differ by more than `WIDE`."""
        return (
            self.is_hit and self.interval is not None and self.interval[1] > WIDE * self.interval[0]
        )

    @property
    def is_hit(self) -> bool:
        """Whether it counts as the same."""
        return self.word == HIT

    def point(self, place: int, largest: float) -> Point:
        """Return the point of the picture, in the unit that texts have for its panel's largest."""
        shown = quantity(self.metric, largest)
        low, high = interval_of(self.ours, self.interval)
        name = shown.title.partition(",")[0].lower()
        unit = f" ({shown.unit})" if shown.unit else ""
        published, ours, low, high = (
            each * shown.scale for each in (self.published, self.ours, low, high)
        )
        panel = f"{self.source}: {name}{unit}"
        return Point(place, panel, published, ours, low, high, self.is_hit)


def main() -> None:
    """Read all run directories below a directory, and write page and picture."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("directory", nargs="?", type=Path, default=DEFAULT_PARENT / "reproduce")
    directory = parser.parse_args().directory
    new = list(rows_below(directory))
    if not new:
        raise SystemExit(
            f"{directory}: no run directory below it has a published number: run `netwarp"
            " reproduce rfc-9438` first, or name the directory that it wrote"
        )
    claimed = {claim.text for claims in _claims().values() for claim in claims}
    kept_ones = [row for row in kept_rows() if row.text in claimed]
    rows = sorted(with_kept(new, kept_ones), key=lambda row: ORDER.get(row.word, 1))
    kept = "".join(f"{json.dumps(asdict(row), ensure_ascii=False)}\n" for row in rows)
    ROWS.write_text(kept, encoding="utf-8")
    (DOCS / "validation.md").write_text(page(rows, not_run(rows)), encoding="utf-8")
    picture = published_chart(points(rows)).svg()
    (DOCS / "images" / "validation.svg").write_text(picture, encoding="utf-8")


def points(rows: Sequence[Row]) -> list[Point]:
    """Return the points of the picture; those of one source and metric share a panel and unit."""
    largest: dict[tuple[str, str], float] = {}
    for row in rows:
        key = (row.source, row.metric)
        largest[key] = max(largest.get(key, 0.0), row.ours, row.published)
    return [
        row.point(place, largest[row.source, row.metric]) for place, row in enumerate(rows, start=1)
    ]


def kept_rows(path: Path = ROWS) -> list[Row]:
    """Return the rows of the last page; none where there was none."""
    if not path.is_file():
        return []
    return [Row(**json.loads(line)) for line in path.read_text(encoding="utf-8").splitlines()]


def with_kept(new: Sequence[Row], kept: Sequence[Row]) -> list[Row]:
    """Return new rows and those kept ones of whose studies and claims none is new, in the sources'
    order.
    """
    ran = {(row.source, each) for row in new for each in (row.study, row.text)}
    old = (row for row in kept if not ran & {(row.source, row.study), (row.source, row.text)})
    rows = [*new, *old]
    return sorted(rows, key=lambda row: (row.source.casefold(), row.study.casefold()))


def rows_below(directory: Path) -> Iterable[Row]:
    """Yield a row for each published number in the run directories below a directory, and each
    condition that has a value.
    """
    held_to = {claim.text: _held_to(claim) for claims in _claims().values() for claim in claims}
    depending = _depending(directory)
    for path in sorted(directory.glob(f"**/{SUMMARY}")):
        if set(path.relative_to(directory).parts) & set(VARIANTS):
            continue
        summary = json.loads(path.read_text(encoding="utf-8"))
        runs = _runs(json.loads(path.with_name(PROVENANCE).read_text(encoding="utf-8")))
        for claim in summary["claims"]:
            for each in claim["values"].get("conditions", ()):
                if "published" in each:
                    word = WORDS.get(each["says"], each["says"])
                    yield Row(
                        claim["source"].partition(",")[0], claim["text"], word,
                        claim["values"]["metric"], condition_text(each["factors"]),
                        each["published"], each["mean"], each["mean_interval"],
                        held_to.get(claim["text"], ""), summary["study"], **runs,
                        depends=claim["text"] in depending,
                    )  # fmt: skip


def _depending(directory: Path) -> set[str]:
    """Return the texts of the claims that scorecards below a directory say to depend on a choice
    of the study.
    """
    cards = [json.loads(path.read_text("utf-8")) for path in directory.glob(f"**/{SCORECARD_JSON}")]
    return {
        claim["text"] for card in cards for claim in card["claims"] if claim["verdict"] == DEPENDS
    }


def _runs(provenance: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a row says of its runs, from a run directory's provenance."""
    return {
        "seed": provenance["seed"],
        "replicates": provenance["replicates"],
        "version": provenance["netwarp"],
        "kernel": provenance["kernel"]["version"],
        "began": provenance["started"].partition("T")[0],
    }


def not_run(rows: Sequence[Row]) -> Mapping[str, int]:
    """Count for each source the published numbers in its studies that have no row."""
    ran = {row.text for row in rows}
    left = {
        name: sum(claim.text not in ran for claim in claims) for name, claims in _claims().items()
    }
    return {name: counted for name, counted in left.items() if counted}


@cache
def _claims() -> Mapping[str, Sequence[Claim]]:
    """Return all claims that have a published number, by their sources' names."""
    return {
        source.name: [
            claim for path in source.studies for claim in load_study(path).claims if claim.published
        ]
        for source in load_sources(list(find_sources()))
    }


def _held_to(claim: Claim) -> str:
    """Write how near ours has to be."""
    return OF_RUNS if claim.of_one_run else f"± {percent(claim.tolerance, 2)}"


def page(rows: Sequence[Row], left: Mapping[str, int]) -> str:
    """Write the page: the picture, misses first, and the calculated control."""
    hits = sum(row.is_hit for row in rows)
    said = Counter(row.word for row in rows if not row.is_hit)
    others = "".join(f", {times} {word}" for word, times in said.items())
    depending = sum(row.is_hit and row.depends for row in rows)
    hanging = f", {depending} of them by a choice of ours" if depending else ""
    counts = (
        f"**{hits} of {len(rows)} numbers came out{hanging}{others}.** What did not comes first."
    )
    counts += _left_out(left)
    return TEMPLATE.read_text(encoding="utf-8").format(
        counts=counts,
        wide=_wide([row for row in rows if row.held_to == OF_RUNS]),
        sources=_sources(rows),
        runs=_runs_table(rows),
        misses=_table([row for row in rows if not row.is_hit], 1),
        hits=_table([row for row in rows if row.is_hit], 1 + len(rows) - hits),
        cubic=_cubic_table(),
        rare=_rare_text(),
    )


def _wide(rows: Sequence[Row]) -> str:
    wide = sum(row.is_wide for row in rows)
    return (
        f"of {len(rows)} such numbers {sum(row.is_hit for row in rows)} came out, {wide} of them in"
        f" a range whose ends are a factor of {WIDE:g} or more apart"
    )


def _left_out(left: Mapping[str, int]) -> str:
    """Write which numbers have no row, as they were not run."""
    listed = ", ".join(f"{count} of {name}" for name, count in left.items())
    return f" Not run for this page: {listed}." if listed else ""


def _runs_table(rows: Sequence[Row]) -> str:
    head = ("source", "study", "seed", "replicates", "netwarp", "kernel", "began")
    lines = [f"| {' | '.join(head)} |", "| --- " * len(head) + "|"]
    found = {
        (row.source, row.study, row.seed, row.replicates, row.version, row.kernel, row.began): None
        for row in sorted(rows, key=lambda row: (row.source.casefold(), row.study.casefold()))
    }
    for each in found:
        cells = (NOT_RECORDED if value in (None, "") else str(value) for value in each)
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def _sources(rows: Sequence[Row]) -> str:
    lines = [
        "| source | numbers | came out | of them by a choice of ours |",
        "| --- | --- | --- | --- |",
    ]
    for source in sorted({row.source for row in rows}):
        own = [row for row in rows if row.source == source]
        hits = [row for row in own if row.is_hit]
        depending = sum(row.depends for row in hits)
        lines.append(f"| {source} | {len(own)} | {len(hits)} | {depending} |")
    return "\n".join(lines)


def _table(rows: Sequence[Row], first: int) -> str:
    if not rows:
        return "None."
    head = ("", "claim", "at", "published", "ours", "ours ÷ published", "held to", "")
    lines = [f"| {' | '.join(head)} |", "| --- " * len(head) + "|"]
    lines += [_line(row, place) for place, row in enumerate(rows, start=first)]
    return "\n".join(lines)


def _line(row: Row, place: int) -> str:
    shown = quantity(row.metric, max(row.ours, row.published))
    unit = f" {shown.unit}" if shown.unit else ""
    # As many digits as tell a number that was missed from the nearest bound of ours.
    bounds = row.interval or (row.ours,)
    nearest = min(bounds, key=lambda bound: abs(bound - row.published))
    digits = 3 if row.is_hit else digits_to_tell(row.published, nearest)
    published, ours = (number(each * shown.scale, digits) for each in (row.published, row.ours))
    if row.interval is not None:
        ours += f" [{', '.join(number(each * shown.scale, digits) for each in row.interval)}]"
    cells = (
        f"{row.source}: {row.text}", row.condition, published + unit, ours,
        number(row.ours / row.published, digits), row.held_to,
        f"{row.word}, {DEPENDS}" if row.is_hit and row.depends else row.word,
    )  # fmt: skip
    return f"| {place} | {' | '.join(cells)} |"


def _cubic_table() -> str:
    head = ("one loss every", "RTT", "the closed form", "round by round", "… no fast convergence")
    lines = [f"| {' | '.join(head)} |", "| --- " * len(head) + "|"]
    for packets, rtt_s in CUBIC_CELLS:
        calculated = _calculated(packets, rtt_s, packets / 2, CUBIC_LOSSES)
        said = " | ".join(number(each) for each in (closed_form(packets, rtt_s), *calculated))
        lines.append(f"| {count(packets)} packets | {rtt_s * 1e3:g} ms | {said} |")
    return "\n".join(lines)


def _rare_text() -> str:
    """Return what the recursion says of few losses, with fast convergence and without."""
    right = closed_form(*RARE_CELL)
    with_it, without = _calculated(*RARE_CELL, RARE_START_PACKETS, RARE_LOSSES)
    return (
        f"from the {count(RARE_START_PACKETS)} packets on that the run's window has at its first"
        f" loss, where the right one has {number(right, 4)}, {RARE_LOSSES} losses leave an average"
        f" of {number(with_it, 4)} with fast convergence, which Linux has, and of"
        f" {number(without, 4)} without"
    )


def _calculated(packets: int, rtt_s: float, start: float, losses: int) -> list[float]:
    """Return average windows round by round, with fast convergence and without."""
    return [
        round_by_round(packets, rtt_s, start, losses, fast_convergence=fast)
        for fast in (True, False)
    ]


if __name__ == "__main__":
    main()
