#!/usr/bin/env python3
"""Says how many replicates the studies of reproduced sources need, from variances on record.

    netwarp reproduce park-2008 --seeds 5
    scripts/needed_replicates.py netwarp-out/reproduce/park-2008
    scripts/needed_replicates.py --quick netwarp-out/reproduce/park-2008

Of a study the runs with other seeds than the release's are read (the folder `seeds`); where there
are none, its own. Of either only how much effects vary is used, never their means or verdicts: a
number of replicates is not chosen by the verdict that it gives.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from claim_power import Need, needed_replicates
from netwarp.claims.too_few import too_few_as_planned
from netwarp.evaluation import RunData, load
from netwarp.execution.cost import expected_cpu_s
from netwarp.plan import plan_study
from netwarp.results import Results
from netwarp.run_directory import SEEDS_FOLDER, RunDirectory
from netwarp.study import Study, load_study
from netwarp.wording import condition_text

MOST = 100_000


def main() -> None:
    """Print the replicates that each study needs, and the conditions that need most."""
    arguments = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    arguments.add_argument("directory", type=Path, nargs="+", help="of `netwarp reproduce`")
    arguments.add_argument("--effect", type=float, default=0.2, help="difference to be told: 0.2")
    arguments.add_argument("--share", type=float, default=0.8, help="of conditions to be told: 0.8")
    arguments.add_argument(
        "--quick", action="store_true", help="of the cells and claims that --quick has"
    )
    given = arguments.parse_args()
    places = [path for each in given.directory for path in sorted(each.iterdir()) if path.is_dir()]
    found = {path: recorded for path in places if (recorded := recorded_in(path))}
    if not found:
        arguments.error("no runs there: run `netwarp reproduce NAME`, with --seeds 5 if possible")
    for place, recorded in found.items():
        print_study(place, recorded, given.effect, given.share, is_quick=given.quick)


def recorded_in(place: Path) -> list[RunData]:
    """Read a study's runs with other seeds, else its own; those that have no results are left out.

    Args:
        place: run directory of the study.
    """
    others = sorted(path for path in (place / SEEDS_FOLDER).glob("*") if path.is_dir())
    there = [path for path in others or [place] if RunDirectory(path).plan_file.exists()]
    return [data for data in map(load, there) if data.results.runs]


def print_study(
    place: Path, recorded: Sequence[RunData], effect: float, share: float, *, is_quick: bool
) -> None:
    """Print what one study needs."""
    study = recorded[0].study
    if is_quick:
        study = load_study(RunDirectory(place).study_toml, quick=True)
    results = [_planned_by(study, each.results) for each in recorded]
    needs = needed_replicates(study.claims, results, effect)
    few = too_few_as_planned(replace(study, replicates=1), None)
    least = sorted(least for each in few for least in each.claims.values()) or [1]
    cpu_s = expected_cpu_s(run.job for run in plan_study(study)) / study.replicates
    seeds = ", ".join(str(each.study.seed) for each in recorded)
    kind = "seeds" if recorded[0].directory != place else "its own seed"
    told = at_share(needs, share) if needs else "any"
    print(
        f"{place.name}: {told} by power, at least {least[0]} for differences and {least[-1]} for"
        f" all claims, has {study.replicates}; {cpu_s:.1f} s of CPU time each"
        f" ({kind} {seeds})"
    )
    for need in sorted(needs, key=lambda each: -(each.replicates or MOST))[:5]:
        at = condition_text(dict(need.condition)) or "all"
        print(f"  {need.claim} at {at}: {need.replicates}, spread {need.stdev:.1%}")


def _planned_by(study: Study, results: Results) -> Results:
    """Keep the cells that a study has."""
    wanted = {tuple(sorted(run.cell.levels.items())) for run in plan_study(study)}
    runs = (run for run in results.runs if tuple(sorted(run.factors.items())) in wanted)
    return replace(results, runs=tuple(runs))


def at_share(needs: list[Need], share: float) -> int | None:
    """Give the replicates that tell a share of the conditions; None where too many."""
    listed = sorted(each.replicates or MOST for each in needs)
    found = listed[min(len(listed) - 1, int(share * len(listed)))] if listed else MOST
    return None if found >= MOST else found


if __name__ == "__main__":
    main()
