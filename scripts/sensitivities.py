#!/usr/bin/env python3
"""Judges the first claim of each study of all sources again with something changed that reviewers
ask for, and writes docs/sensitivities.md: `make sensitivities`.

Which claims: of each study the first one that can be tested and is the source's, in the study's
quick version, where its cells are expected to take no more CPU time than `--most`. What was run is
kept below `--out`, and the same command goes on from there.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from netwarp.backends.virtual import VirtualBackend
from netwarp.errors import NetwarpError, StudyError
from netwarp.execution import LocalExecutor
from netwarp.execution.cost import expected_of
from netwarp.pipeline import run
from netwarp.plan import plan_study
from netwarp.sources import find_sources, load_sources
from netwarp.sources.sources import Source
from netwarp.sources.variants import sensitivity_study
from netwarp.study import Study, load_study
from netwarp.study.claims import Claim
from netwarp.study.variants import Sensitivity

FILE = Path(__file__).parents[1] / "docs" / "sensitivities.md"
MOST_CPU_S = 5.0
"""Most CPU time in s that the cells of a claim may be expected to take, once."""
REFUSED = "refused"
NOT_OF_IT = "–"
OPEN = ("undecided", REFUSED, NOT_OF_IT)
"""Words that say of no claim whether it holds."""


@dataclass(frozen=True)
class Change:
    """Something that is changed in all studies."""

    name: str
    """Name of its directories."""
    text: str
    """Head of its column."""
    keys: Mapping[str, Any]
    """Keys of a study, as `[quick]` has them."""
    of_transports: tuple[str, ...] = ()
    """Transports that have the keys as options of theirs; if there are none, paths or all have."""

    def keys_for(self, study: Study) -> dict[str, Any] | None:
        """Return the keys of a study; None if it has no transport that the change is of."""
        if not self.of_transports:
            return dict(self.keys)
        used = {each.transport.kind for cell in study.cells for each in cell.of_each_workload}
        options = {kind: dict(self.keys) for kind in self.of_transports if kind in used}
        return {"transport": options} if options else None


AS_IT_IS = Change("as-it-is", "as it is", {})
AGGREGATED = tuple(
    Change(f"aggregate-{time}", f"{time.removesuffix('us')} µs", {"path": {"aggregate": time}})
    for time in ("50us", "250us", "1000us", "4000us")
)
"""Packets are released together: what network cards wait before they interrupt, and Wi-Fi."""
ONE_BY_ONE = Change("one-by-one", "no TSO", {"tso_packets": 1}, ("tcp", "tls", "mptcp"))
"""TCP hands over single packets, in place of up to 64 KiB at once, which the host then cuts."""


@dataclass(frozen=True)
class Judged:
    """A claim with its verdicts."""

    study: str
    text: str
    words: tuple[str, ...]
    """Its verdict as it is, then one for each change."""

    @property
    def first(self) -> str | None:
        """Its first verdict that was decided; None where none was."""
        return next((each for each in self.words if each not in OPEN), None)

    @property
    def flips(self) -> bool:
        """Whether verdicts were decided differently."""
        return any(each not in (self.first, *OPEN) for each in self.words)


def main() -> int:
    """Run all claims with all changes, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kernel", action="append", default=[], help="another guest kernel")
    parser.add_argument("--most", type=float, default=MOST_CPU_S, help="CPU time in s, a claim")
    parser.add_argument("--out", type=Path, default=Path("netwarp-out/sensitivities"))
    parser.add_argument("sources", nargs="*", help="names of sources; default: all that ship")
    given = parser.parse_args()
    kernels = [Change(f"kernel-{name}", f"Linux {name}", {"kernel": name}) for name in given.kernel]
    changes = [AS_IT_IS, *AGGREGATED, ONE_BY_ONE, *kernels]
    rows, dear = [], []
    for name, study, claim in first_claims(given.sources):
        plan = plan_study(changed(study, claim, AS_IT_IS), filters=_cells(claim))
        cost_s = expected_of(plan, ()).cpu_s
        if cost_s > given.most:
            dear.append(f"{name} ({cost_s:.0f} s)")
            continue
        words = tuple(_word(study, claim, each, given.out / name / each.name) for each in changes)
        rows.append(Judged(name, claim.text, words))
        print(name, *words, sep=" | ", flush=True)
    FILE.write_text(page(rows, changes, dear, given.most), encoding="utf-8")
    return 0


def first_claims(names: Sequence[str]) -> Iterator[tuple[str, Study, Claim]]:
    """Yield the quick version of each study that has a claim which can be tested and is the
    source's, with the first of those.
    """
    for source in load_sources(list(names) or list(find_sources())):
        for path in _quick(source):
            study = load_study(path, quick=True)
            claims = [each for each in study.claims if each.authors and not each.not_testable]
            if claims:
                yield f"{source.name}/{path.stem}", study, claims[0]


def _quick(source: Source) -> list[Path]:
    return [path for path in source.studies if path.stem not in source.index.not_quick]


def changed(study: Study, claim: Claim, change: Change) -> Study:
    """Return a study with one claim and a change."""
    other = Sensitivity(
        id=change.name, chosen="what reviewers ask for", here="none", text=change.text,
        change=change.keys_for(study) or {}, claims=[str(claim.id)],
    )  # fmt: skip
    return sensitivity_study(study, other)


def _word(study: Study, claim: Claim, change: Change, out: Path) -> str:
    """Return the verdict on a claim with a change, or that the study refuses it or has no transport
    that it is of.

    Raises:
        NetwarpError: it cannot be run, such as for want of the kernel, which is no refusal.
    """
    if change.keys_for(study) is None:
        return NOT_OF_IT
    try:
        other = changed(study, claim, change)
        data = run(
            other, VirtualBackend(), out=out, executor=LocalExecutor(), filters=_cells(claim)
        )
    except StudyError as error:
        print(f"{out}: {error}", file=sys.stderr)
        return REFUSED
    return data.claims[0].word


def _cells(claim: Claim) -> list[str]:
    """Return filters for the levels that all cells of a claim share."""
    return [f"{key}={level}" for key, level in claim.where.items() if isinstance(level, str)]


def page(
    rows: Sequence[Judged], changes: Sequence[Change], dear: Sequence[str], most_s: float
) -> str:
    """Write the page: how many verdicts are others, and the matrix."""
    others = len(changes) - 1
    flips = sum(row.flips for row in rows)
    named = [each.text for each in changes if "kernel" in each.keys]
    kernels = ", ".join(named) or "no other kernel (not tried here: `--kernel`)"
    head = f"| study: claim | {' | '.join(each.text for each in changes)} |"
    lines = [head, "| --- " * (len(changes) + 1) + "|"]
    lines += [f"| {row.study}: {row.text} | {' | '.join(_marked(row))} |" for row in rows]
    left = ", ".join(dear) or "none"
    return f"""# What reviewers ask for

<!-- Written by `make sensitivities` (scripts/sensitivities.py): change that. -->

Would the verdicts be others if packets came in bunches, as network cards and Wi-Fi deliver them, if
TCP sent no bursts, or on another kernel? Each row is a claim of a publication: of each study of all
sources the first that can be tested, in the study's quick version, chosen by this rule and by no
verdict. It is judged as it is and with {others} changes: `path.aggregate` from 50 µs (interrupt
coalescing) to 4 ms (Wi-Fi); `transport.tso_packets = 1`, with which TCP hands single packets to the
host in place of up to 64 KiB, which the host cuts (TSO); and {kernels}. A verdict that was decided
otherwise than the first one of its row that was decided stands in **bold**; few replicates leave
some undecided, which is no other verdict.

**{flips} of {len(rows)} claims are decided differently with different changes.**
{len(dear)} more were left out: their cells are expected to take more than {most_s:g} s of CPU time.

{chr(10).join(lines)}

Left out for their CPU time (`--most` {most_s:g}): {left}.

Bursts of TSO are cut before the path, as netem would drop them whole. `refused` is a change that
the study does not take; the reason is printed when it is run. `–` is one of TCP where no cell has
TCP.
"""


def _marked(row: Judged) -> list[str]:
    """Return the verdicts with those in bold that were decided otherwise than the first."""
    return [each if each in (row.first, *OPEN) else f"**{each}**" for each in row.words]


if __name__ == "__main__":
    try:
        sys.exit(main())
    except NetwarpError as error:
        sys.exit(f"cannot judge the claims: {error}; the page stays as it was")
