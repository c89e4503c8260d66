"""The statistics on samples of which the truth is known: `make calibrate-statistics`, in small."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

SCRIPT = Path(__file__).parents[2] / "scripts" / "calibrate_statistics.py"


@pytest.fixture(scope="module")
def script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("calibrate_statistics", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def test_a_family_of_claims_is_rarely_wrong(script: ModuleType) -> None:
    assert [rate for rate in script.family_rates(80, seed=1) if not rate.kept] == []


def test_stopping_as_soon_as_something_is_decided_keeps_the_error(script: ModuleType) -> None:
    assert [rate for rate in script.staged_rates(80, seed=2) if not rate.kept] == []


def test_intervals_cover_the_truth(script: ModuleType) -> None:
    assert [rate for rate in script.coverage(150, seed=3) if not rate.kept] == []


def test_a_rate_that_is_off_is_seen(script: ModuleType) -> None:
    assert not script.Rate("wrong", 0.15, 500, high=0.05).kept
    assert not script.Rate("coverage", 0.85, 500, low=0.93, high=0.97).kept
    assert script.Rate("coverage", 0.92, 500, low=0.93, high=0.97).kept
