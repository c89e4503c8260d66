#!/usr/bin/env python3
"""Says how many replicates the studies of reproduced sources need, from variances on record.

    netwarp reproduce park-2008 --seeds 5
    scripts/needed_replicates.py netwarp-out/reproduce/park-2008

Only runs with other seeds than the release's are read (the folders `seeds`), and of them only how
much effects vary: a number of replicates is not chosen by the verdict that it gives.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from netwarp.claims.power import Need, needed_replicates
from netwarp.evaluation import load
from netwarp.sources.preparation import SEEDS_FOLDER
from netwarp.wording import condition_text

MOST = 100_000


def main() -> None:
    """Print the replicates that each study needs, and the conditions that need most."""
    arguments = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    arguments.add_argument("directory", type=Path, nargs="+", help="of `netwarp reproduce --seeds`")
    arguments.add_argument("--effect", type=float, default=0.2, help="difference to be told: 0.2")
    arguments.add_argument("--share", type=float, default=0.8, help="of conditions to be told: 0.8")
    given = arguments.parse_args()
    studies = sorted(path for each in given.directory for path in each.glob(f"*/{SEEDS_FOLDER}"))
    if not studies:
        arguments.error("no folders of other seeds there: run `netwarp reproduce NAME --seeds 5`")
    for seeds in studies:
        recorded = [load(path) for path in sorted(seeds.iterdir()) if path.is_dir()]
        needs = needed_replicates(
            recorded[0].study.claims, [each.results for each in recorded], given.effect
        )
        numbers = ", ".join(str(each.study.seed) for each in recorded)
        print(f"{seeds.parent.name}: {at_share(needs, given.share)} (seeds {numbers})")
        for need in sorted(needs, key=lambda each: -(each.replicates or MOST))[:5]:
            at = condition_text(dict(need.condition)) or "all"
            print(f"  {need.claim} at {at}: {need.replicates}, spread {need.stdev:.1%}")


def at_share(needs: list[Need], share: float) -> int | None:
    """Give the replicates that tell a share of the conditions; None where too many."""
    listed = sorted(each.replicates or MOST for each in needs)
    found = listed[min(len(listed) - 1, int(share * len(listed)))] if listed else MOST
    return None if found >= MOST else found


if __name__ == "__main__":
    main()
