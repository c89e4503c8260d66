"""Messages name the culprit, as the user wrote it, and what would be right."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from netwarp.backends.needs import missing_directory
from netwarp.errors import StudyError
from netwarp.plan import plan_study
from netwarp.study import study_from_mapping
from netwarp.study.compare import study_from_compare
from netwarp.study.overrides import apply_overrides

STUDY: dict[str, Any] = {
    "title": "t",
    "path": {"rtt": "10ms"},
    "workload": {"kind": "bulk", "size": "1kB"},
    "factors": {"transport": ["tcp"]},
}


@pytest.mark.parametrize(
    ("override", "said"),
    [
        ("rtt=5ms", 'rtt = "5ms": unknown key; did you mean "path.rtt"?'),
        ("size=5kB", 'did you mean "workload.size"?'),
        ('path=["tcp", 1]', 'path = ["tcp", 1]: not a table; write [path]'),
        ("factors.transport=+5ms", 'factors.transport = "+5ms": not a list; write one in brackets'),
        ("transport.stack=a,b", "a stack is chosen with its transport; make each a level"),
        ("transport.tls.version=1.2,1.3", 'factors."transport.tls.version": unknown key; known:'),
        ("limits.virtual_s=99999999999", "write a whole number of seconds from 1 to 1000000000"),
    ],
)
def test_an_override_that_cannot_be_is_told_by_its_key(override: str, said: str) -> None:
    with pytest.raises(StudyError) as refused:
        study_from_mapping(apply_overrides(STUDY, [override]))
    assert said in str(refused.value)


def test_a_page_of_one_s_own_is_no_name_of_a_page() -> None:
    with pytest.raises(StudyError, match=r"--page .*--set workload\.directory=\./site"):
        study_from_compare(page="./site")


def test_a_page_s_transport_follows_from_its_http() -> None:
    with pytest.raises(StudyError, match=r"--transport.*follows from its version of HTTP"):
        study_from_compare(transport=["tcp", "quic"], page="web-30")


def test_a_directory_without_an_index_says_what_is_missing(tmp_path: Path) -> None:
    page = {"kind": "page", "directory": str(tmp_path)}
    with pytest.raises(StudyError, match=r"workload\.directory.*no index\.html in it"):
        study_from_mapping({**STUDY, "workload": page})


def test_programs_need_no_transport() -> None:
    study = study_from_mapping(
        {"title": "t", "workload": {"kind": "command", "server": "true", "client": "true"}}
    )
    assert study.cells[0].sections.transport.kind == "tcp"


def test_a_working_directory_that_is_not_there_is_named(tmp_path: Path) -> None:
    command = {"kind": "command", "server": "true", "client": "true", "directory": "/nowhere"}
    (planned,) = plan_study(
        study_from_mapping({"title": "t", "replicates": 1, "workload": command})
    )
    assert 'workload.directory = "/nowhere"' in str(missing_directory(planned.job))
    there = {**command, "directory": str(tmp_path)}
    (planned,) = plan_study(study_from_mapping({"title": "t", "replicates": 1, "workload": there}))
    assert missing_directory(planned.job) is None


@pytest.mark.parametrize("time", ["0s", "1ms", "15ms", "121s"])
def test_a_shortest_time_out_that_the_kernel_does_not_keep_is_refused_when_planned(
    time: str,
) -> None:
    transport = {"kind": "tcp", "tcp_rto_min": time}
    with pytest.raises(StudyError, match=r"transport\.tcp_rto_min.*ticks of 10ms"):
        study_from_mapping({"title": "t", "workload": {"size": "1kB"}, "transport": transport})


@pytest.mark.parametrize("key", ["rto_initial", "rto_min", "rto_max"])
def test_a_time_out_between_two_ticks_is_refused_when_planned(key: str) -> None:
    """The kernel takes it and rounds it, which the run then fails of."""
    transport = {"kind": "sctp", key: "1ms"}
    with pytest.raises(StudyError, match=rf"transport\.{key}.*ticks of 10ms"):
        study_from_mapping({"title": "t", "workload": {"size": "1kB"}, "transport": transport})
