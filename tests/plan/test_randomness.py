"""What is random in a run is read from its plan."""

from typing import Any

import pytest

from netwarp.plan import plan_study
from netwarp.study import study_from_mapping

STUDY: dict[str, Any] = {
    "title": "t",
    "replicates": 2,
    "path": {"rtt": "20ms", "rate": "50mbit"},
    "workload": {"kind": "bulk", "size": "1MB"},
    "factors": {"transport": ["tcp"]},
}


def random_of(**tables: Any) -> tuple[str, ...]:
    study = study_from_mapping({**STUDY, **tables})
    first, *others = plan_study(study)
    assert all(run.random == first.random for run in others)
    assert first.to_json()["random"] == list(first.random)
    return first.random


def test_nothing_is_random_on_a_steady_path() -> None:
    assert random_of() == ()


@pytest.mark.parametrize(
    ("keys", "name"),
    [
        ({"loss": "1%"}, "loss"),
        ({"jitter": "1ms"}, "jitter"),
        ({"duplicate": "1%"}, "duplicates"),
        ({"discipline": "fq_codel"}, "queueing discipline"),
    ],
)
def test_what_netem_and_disciplines_draw_is_named(keys: dict[str, str], name: str) -> None:
    assert random_of(path={**STUDY["path"], **keys}) == (name,)


def test_codel_draws_nothing() -> None:
    assert random_of(path={**STUDY["path"], "discipline": "codel"}) == ()


def test_times_that_are_drawn_are_named() -> None:
    late = {**STUDY["workload"], "start_jitter": "10ms"}
    assert random_of(workload=late) == ("start",)
    arrivals = {"kind": "flow", "rate": "1mbit", "duration": "1s", "arrivals": "poisson"}
    assert random_of(workload=arrivals) == ("arrivals",)


@pytest.mark.parametrize(
    ("transport", "draws"),
    [
        ("tcp", ()),
        ("quic", ("QUIC's handshake and packet numbers",)),
        ({"label": "bbr", "kind": "tcp", "congestion": "bbr"}, ("BBR's cycle",)),
    ],
)
def test_what_stacks_draw_by_themselves_is_random(transport: Any, draws: tuple[str, ...]) -> None:
    planned = plan_study(study_from_mapping({**STUDY, "factors": {"transport": [transport]}}))
    assert [run.random for run in planned] == [draws, draws]
