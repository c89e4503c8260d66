"""The fuzz lane: random studies and command lines, each made from a seed.

A case is made from its seed and from nothing else. NETWARP_FUZZ_SEED is the seed of the first case,
NETWARP_FUZZ_RUNS and NETWARP_FUZZ_MUTANTS say how many there are; `make fuzz` sets them.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

HERE = Path(__file__).parent
FIRST_SEED = int(os.environ.get("NETWARP_FUZZ_SEED", "1"))
RUNS = int(os.environ.get("NETWARP_FUZZ_RUNS", "96"))
MUTANTS = int(os.environ.get("NETWARP_FUZZ_MUTANTS", "600"))
# A test is a block of cases, so that two processes share them and a failure names few.
BLOCK = 24


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Everything in this directory is of the fuzz lane, and boots guests or is the program."""
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.fuzz)
            boots = item.path.stem in ("test_runs", "test_extremes")
            item.add_marker(pytest.mark.guest if boots else pytest.mark.cli)


def blocks(count: int) -> list[range]:
    """Divide the seeds of so many cases into blocks."""
    end = FIRST_SEED + count
    return [range(start, min(start + BLOCK, end)) for start in range(FIRST_SEED, end, BLOCK)]


def block_id(seeds: range) -> str:
    """Name a block after its seeds."""
    return f"seeds-{seeds.start}-to-{seeds.stop - 1}"


def report(failures: list[str]) -> None:
    """Fail with everything that was found in a block."""
    if failures:
        pytest.fail("\n\n".join([f"{len(failures)} found:", *failures]), pytrace=False)
