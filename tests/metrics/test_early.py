"""Between two hosts a packet that may overtake others is early by its time on the link."""

from __future__ import annotations

from typing import Any

import pytest

from netwarp.measure.two_hosts import early_s
from netwarp.plan import plan_study
from netwarp.study import study_from_mapping


@pytest.mark.parametrize(
    ("path", "expected_s"),
    [
        ({"rate": "384kbit", "rtt": "50ms"}, 0),
        ({"rtt": "50ms", "reorder": "1%"}, 0),
        ({"rate": "384kbit", "rtt": "50ms", "reorder": "1%"}, 1514 * 8 / 384e3),
        ({"rate_down": "1mbit", "rate_up": "384kbit", "rtt": "50ms", "reorder_down": "1%"},
         1514 * 8 / 1e6),
    ],
)  # fmt: skip
def test_a_packet_is_early_where_a_shaper_starts_it(
    path: dict[str, Any], expected_s: float
) -> None:
    study = {"title": "t", "path": path, "workload": {"kind": "bulk", "size": "1MB"},
             "replicates": 1, "factors": {"transport": ["tcp"]}}  # fmt: skip
    (planned,) = plan_study(study_from_mapping(study))
    assert early_s(planned.job) == pytest.approx(expected_s)
