#!/usr/bin/env python3
"""Writes down the hashes of records that the studies to start from give with this guest kernel.

`make reference-hashes` runs it after a change that alters records on purpose;
tests/guest/test_reference_hashes.py says whether a machine agrees.
"""

from __future__ import annotations

import json
import sys
import tempfile
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

from netwarp.backends.guest_files import find_kernel
from netwarp.backends.virtual import VirtualBackend
from netwarp.execution import run_job
from netwarp.plan import PlannedRun, plan_study
from netwarp.run_directory import RECORDS_FILE
from netwarp.sources.shipped import shipped_studies
from netwarp.study import load_study
from netwarp.workloads import runs_programs

if TYPE_CHECKING:
    from collections.abc import Mapping

FILE = Path(__file__).parents[1] / "tests" / "guest" / "reference-hashes.json"
MOST_RUNS = 4
"""Of each study, so that the test that boots their guests stays short."""
Hashes = dict[str, str]
"""SHA-256 of a run's records by its name."""


def kernel_name() -> str:
    """Name what decides, besides the endpoint, which records a job gives: version, configuration.

    Compilers and machines do not; a kernel of another version or configuration draws otherwise.
    """
    info = find_kernel().info
    return f"{info['version']} {info['config_sha256'][:16]}"


def references() -> dict[str, dict[str, Hashes]]:
    """Read all hashes that are kept: of each kernel, study by study."""
    kept: dict[str, dict[str, Hashes]] = json.loads(FILE.read_text(encoding="utf-8"))
    return kept


def sample(study: Path) -> list[PlannedRun]:
    """Plan one cell for each of the first levels of a study's first factor, each under another
    condition. Cells of other people's programs are left out, as their versions are the machine's,
    and those that name a kernel.
    """
    loaded = load_study(study)
    cells: dict[str, list[PlannedRun]] = {}
    for run in plan_study(replace(loaded, replicates=1)):
        job = run.job
        if job.kernel is not None or any(each.transport.stack for each in job.workloads):
            continue
        if runs_programs(job):
            continue
        cells.setdefault(next(iter(run.cell.levels.values())), []).append(run)
    first = list(cells.values())[:MOST_RUNS]
    return [runs[place % len(runs)] for place, runs in enumerate(first)]


def studies() -> dict[str, Path]:
    """Find the studies to start from that have cells of netwarp's own."""
    return {name: path for name, path in sorted(shipped_studies().items()) if sample(path)}


def hashes_of(study: Path, place: Path) -> Hashes:
    """Carry out the sample of a study, and hash the records.

    Raises:
        RuntimeError: a run failed.
    """
    backend = VirtualBackend()
    found: Hashes = {}
    for planned in sample(study):
        directory = place / study.stem / planned.run
        outcome = run_job(backend, planned.job, directory)
        if outcome.failed:
            raise RuntimeError(f"{study.stem} {planned.run} failed: {outcome.status.reason}")
        found[planned.run] = sha256((directory / RECORDS_FILE).read_bytes()).hexdigest()
    return found


def main() -> int:
    """Replace what is kept of this machine's kernel."""
    found: Mapping[str, Hashes]
    with tempfile.TemporaryDirectory(prefix="netwarp-reference-") as place:
        found = {name: hashes_of(path, Path(place)) for name, path in studies().items()}
    kept = (references() if FILE.exists() else {}) | {kernel_name(): dict(found)}
    FILE.write_text(json.dumps(kept, indent=2, sort_keys=True) + "\n", encoding="utf-8")
    runs = sum(map(len, found.values()))
    print(f"{FILE}: {runs} runs of {len(found)} studies, kernel {kernel_name()}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
