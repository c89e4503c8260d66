"""`path.profile`: what it stands for, and what goes before it."""

from __future__ import annotations

from typing import Any

import pytest

from netwarp.errors import StudyError
from netwarp.path_profiles import PROFILES
from netwarp.path_properties import BY_KEY
from netwarp.plan import plan_study
from netwarp.results.fixed_conditions import fixed_conditions
from netwarp.study import Study, study_from_mapping
from netwarp.study.compare import study_from_compare


def study_of(path: dict[str, Any], **factors: Any) -> Study:
    return study_from_mapping(
        {
            "title": "t",
            "path": path,
            "workload": {"kind": "bulk", "size": "1MB"},
            "factors": {"transport": ["tcp"]} | factors,
        }
    )


def shape(study: Study, cell: int = 0, path: int = 0) -> tuple[float, int | None, int | None]:
    """RTT in milliseconds and the rates in bit/s."""
    found = study.cells[cell].sections.paths[path]
    return (found.base_rtt_ns / 1e6, found.down.rate_bit_s, found.up.rate_bit_s)


def test_a_profile_gives_round_trip_time_and_rates() -> None:
    assert shape(study_of({"profile": "3g"})) == (300, 1_600_000, 768_000)
    assert shape(study_of({"profile": "datacentre"})) == (0.25, 10**9, 10**9)


@pytest.mark.parametrize("name", PROFILES)
def test_every_profile_is_a_path_with_a_source(name: str) -> None:
    rtt_ms, down_bit_s, up_bit_s = shape(study_of({"profile": name}))
    assert rtt_ms > 0
    assert (down_bit_s or 0) >= (up_bit_s or 0) > 0
    assert PROFILES[name].source
    # Networks become faster: a number without its year says little.
    assert f"{name} ({PROFILES[name].year})" in BY_KEY["profile"].option_help


@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        ({"rtt": "20ms"}, (20, 1_600_000, 768_000)),
        ({"delay_up": "20ms"}, (20, 1_600_000, 768_000)),
        ({"rate": "5mbit"}, (300, 5_000_000, 5_000_000)),
        ({"rate_up": "1mbit"}, (300, 1_600_000, 1_000_000)),
        (
            {"redraw": {"mean": "80ms", "deviation": "5ms", "period": "1s"}},
            (80, 1_600_000, 768_000),
        ),
    ],
)
def test_what_the_study_gives_goes_first(keys: dict[str, Any], expected: tuple[Any, ...]) -> None:
    assert shape(study_of({"profile": "3g"} | keys)) == expected


def test_profiles_are_levels_of_a_factor() -> None:
    study = study_of({}, **{"path.profile": ["cable", "satellite-geo"]})
    assert [shape(study, cell)[0] for cell in (0, 1)] == [28, 629]
    compared = study_from_compare(transport=["tcp"], profile=["dsl", "fibre"], size=["1MB"])
    assert [shape(compared, cell)[0] for cell in (0, 1)] == [50, 4]


def test_a_second_path_has_a_profile_of_its_own() -> None:
    table = {
        "profile": "lte",
        "second": {"profile": "wifi"},
        "handovers": {"count": 1, "every": "5s"},
    }
    study = study_of(table)
    assert shape(study) == (70, 12_000_000, 12_000_000)
    assert shape(study, path=1) == (2, 30_000_000, 15_000_000)


def test_an_unknown_profile_is_refused_with_those_there_are() -> None:
    with pytest.raises(StudyError, match=r"path\.profile = \"4g\": unknown; did you mean \"lte\""):
        study_of({"profile": "4g"})


def test_a_report_says_what_a_profile_stood_for() -> None:
    study = study_of({"profile": "3g"})
    conditions = fixed_conditions(study.raw, plan_study(study)[0].job)
    assert conditions["path.profile"] == "3g"
    assert conditions["path.rtt"] == "300ms"
    assert (conditions["path.rate_down"], conditions["path.rate_up"]) == ("1.6mbit", "0.768mbit")
    varied = study_of({}, **{"path.profile": ["3g", "lte"]})
    assert "path.rtt" not in fixed_conditions(varied.raw, plan_study(varied)[0].job)


def test_pairs_of_a_dumbbell_have_no_second_path() -> None:
    study = study_from_mapping(
        {
            "title": "t",
            "path": {"rate": "20mbit"},
            "topology": {"shape": "dumbbell", "rtts": ["20ms", "160ms"]},
            "workload": [
                {"name": f"pair{n}", "size": "1MB", "from": f"client{n}", "to": f"server{n}"}
                for n in (1, 2)
            ],
            "factors": {"transport": ["tcp"]},
        }
    )
    assert "path.second" not in fixed_conditions(study.raw, plan_study(study)[0].job)
