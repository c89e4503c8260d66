"""Tests comparisons that send in both directions at once: ``netwarp compare --direction both``."""

from __future__ import annotations

from typing import Any

import pytest

from netwarp.errors import StudyError
from netwarp.study.compare import study_from_compare
from netwarp.wire import Flow


def test_a_call_has_messages_both_ways_and_a_delay_of_each() -> None:
    study = study_from_compare(
        flow="64kbit", payload="160B", direction="both", transport=["udp", "tcp"], loss=["0%", "1%"]
    )
    down, up = study.cells[0].template.workloads
    assert (down.name, down.workload.direction) == ("down", "down")
    assert (up.name, up.workload.direction) == ("up", "up")
    assert isinstance(down.workload, Flow)
    assert down.workload.message_bytes == 160
    assert study.metrics == ("down.message_delay_s_p95", "up.message_delay_s_p95")
    assert len(study.cells) == 4


def test_files_go_both_ways_too() -> None:
    study = study_from_compare(size="100kB", direction="both", transport="tcp")
    assert study.metrics == ("down.completion_time_s", "up.completion_time_s")
    drawn = [each["y"] for each in study.raw["figure"]]
    assert drawn == ["down.completion_time_s", "up.completion_time_s"]


@pytest.mark.parametrize(("options", "reason"), [
    ({"size": ["1kB", "2kB"]}, "workload.size varies"),
    ({"shape": "dumbbell:2"}, "each flow has one direction"),
    ({"rtts": ["20ms", "90ms"]}, "each flow has one direction"),
    ({"page": "web-30"}, "not a page"),
])  # fmt: skip
def test_what_has_one_direction_is_refused(options: dict[str, Any], reason: str) -> None:
    with pytest.raises(StudyError, match=reason) as refused:
        study_from_compare(direction="both", **options)
    assert "--direction" in str(refused.value)


def test_a_metric_is_asked_for_of_a_film_too() -> None:
    study = study_from_compare(stream="bola", metric="stall_s", transport="tcp")
    assert study.metrics == ("stall_s",)
