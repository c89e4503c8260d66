"""Whether packets stay in order in spite of jitter: what the job says, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest

from netwarp.errors import StudyError
from support import job_of

VARIED = {"rtt": "20ms", "jitter": "2ms"}
CHANGING = [{"at": "1s", "change": "rate", "rate": "5mbit", "direction": "down"}]


@pytest.mark.parametrize(
    ("path", "down", "up"),
    [
        (VARIED, True, True),
        (VARIED | {"jitter_order": "free"}, False, False),
        ({"rtt": "20ms", "jitter_up": "2ms"}, False, True),
        (VARIED | {"rate": "10mbit"}, True, True),
        (VARIED | {"rate": "10mbit", "jitter_order": "free"}, False, False),
        (VARIED | {"rate_down": "10mbit"}, True, True),
        (VARIED | {"rate": "10mbit", "discipline": "codel"}, True, True),
        (VARIED | {"rate": "10mbit", "timeline": CHANGING}, True, True),
        (VARIED | {"rate": "10mbit", "reorder": "5%"}, True, True),
        ({"rtt": "20ms"}, False, False),
    ],
)
def test_jobs_ask_for_order_where_delays_vary(path: dict[str, Any], down: bool, up: bool) -> None:
    (found,) = job_of("tcp", path=path).paths
    assert (found.down.in_order, found.up.in_order) == (down, up)
    assert ("in_order" in found.down.to_json()) == down


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ({"rtt": "20ms", "jitter_order": "free"}, "no effect without jitter"),
        (VARIED | {"jitter_order": "any"}, "not an order of packets"),
    ],
)
def test_what_would_have_no_effect_is_refused(path: dict[str, Any], reason: str) -> None:
    with pytest.raises(StudyError, match=reason):
        job_of("tcp", path=path)
