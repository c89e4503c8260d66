"""What is random in the runs of a directory is read from its plan, of older versions too."""

from pathlib import Path
from typing import Any

import pytest

from netwarp.evaluation import random_by_cell
from netwarp.run_directory import RunDirectory

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
