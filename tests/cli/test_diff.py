"""`netwarp diff` as a user asks it: several metrics, and ratios to a level."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cli.conftest import Netwarp
from support import write_run_directory


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_run_directory(tmp_path_factory.mktemp("recorded") / "run")


def test_several_metrics_are_compared_as_ratios_to_a_level(
    netwarp: Netwarp, recorded: Path
) -> None:
    asked = ("--metric", "completion_time_s,connect_time_s", "--against", "transport=tcp")
    answer = netwarp("diff", recorded, recorded, *asked, "--json")
    assert answer.returncode == 0, answer.stderr
    found = json.loads(answer.stdout)
    metrics = [each["metric"] for each in found["by_metric"]]
    assert metrics == ["completion_time_s", "connect_time_s"]
    assert {each["against"]["transport"] for each in found["by_metric"]} == {"tcp"}
    levels = {cell["factors"]["transport"] for cell in found["cells"]}
    assert levels == {"tls", "sctp", "quic"}


@pytest.mark.parametrize(
    ("asked", "reason"),
    [
        (("--against", "tcp"), "not FACTOR=LEVEL"),
        (("--against", "transport=tpc"), 'did you mean "tcp"'),
        (("--metric", "completion_time_s,stalls"), "--metric stalls: no run has it"),
    ],
)
def test_what_is_not_there_is_refused(
    netwarp: Netwarp, recorded: Path, asked: tuple[str, ...], reason: str
) -> None:
    answer = netwarp("diff", recorded, recorded, *asked)
    assert answer.returncode == 2
    assert reason in " ".join(answer.stderr.split())
