"""What is random in the runs of a directory is read from its plan, of older versions too."""

from pathlib import Path
from typing import Any

import pytest

from netwarp.evaluation import random_by_cell
from netwarp.plan import plan_study
from netwarp.run_directory import RunDirectory
from netwarp.study import study_from_mapping
from support import tables

DRAWS = "QUIC's handshake and packet numbers"


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ({"random": []}, ()),
        ({"random": ["loss", DRAWS]}, ("loss", DRAWS)),
        ({"random": ["loss"], "own_draws": [DRAWS]}, ("loss", DRAWS)),
        ({"random": [], "own_draws": [DRAWS]}, (DRAWS,)),
    ],
)
def test_the_plan_tells_what_is_random(
    line: dict[str, Any], expected: tuple[str, ...], tmp_path: Path
) -> None:
    lines = [{"run": f"c000-r0{replicate}", "cell": 0, **line} for replicate in range(2)]
    assert random_by_cell(RunDirectory(tmp_path), lines) == {0: expected}


@pytest.mark.parametrize(("took_s", "is_random"), [(29.9, False), (30.1, True)])
def test_heartbeats_are_random_in_runs_that_last_until_one_is_sent(
    took_s: float, is_random: bool, tmp_path: Path
) -> None:
    planned = plan_study(study_from_mapping(tables("sctp"))) + plan_study(
        study_from_mapping(tables("tcp"))
    )
    lines = [
        run.to_json() | {"run": f"c00{cell}-r00", "cell": cell} for cell, run in enumerate(planned)
    ]
    lasted_s = {"c000-r00": 1.0, "c001-r00": took_s}
    lines = [lines[0], lines[0] | {"run": "c001-r00", "cell": 0}, lines[-1]]
    found = random_by_cell(RunDirectory(tmp_path), lines, lasted_s)
    assert found[0] == (("SCTP's heartbeats",) if is_random else ())
    assert found[lines[-1]["cell"]] == ()
