"""Pages over real transports: when they load, by the round trips of each version of HTTP."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from guest.lab import Measured, run_study
from netwarp.plan import PlannedRun, plan_study
from netwarp.run_directory import RECORDS_FILE
from netwarp.study import study_from_mapping
from netwarp.wire import Connection, Page, Resource

RTT_S = 0.2
#: Round trips until a request may be sent: TCP's and TLS's handshakes, or QUIC's.
HANDSHAKES = {"1.1": 2, "2": 2, "3": 1}
PATH = {"rtt": "200ms", "rate": "20mbit"}


def plan(path: dict[str, Any], versions: list[str], **workload: Any) -> list[PlannedRun]:
    return plan_study(
        study_from_mapping(
            {
                "title": "guest test",
                "replicates": 1,
                "path": path,
                "workload": {"kind": "page", "page": "nam-2021", **workload},
                "factors": {"workload.http": versions},
            }
        )
    )


def load(place: Path, path: dict[str, Any], *versions: str, **workload: Any) -> list[Measured]:
    """Carry out a study of a page; every run must succeed."""
    measured = run_study(plan(path, list(versions or HANDSHAKES), **workload), place)
    for run in measured:
        assert run.status.outcome == "ok", f"{run.planned.run}: {run.status.reason}"
    return measured


def resources(run: Measured) -> list[Resource]:
    found = [each for each in run.records if isinstance(each, Resource)]
    return sorted(found, key=lambda each: each.resource)


def page_of(run: Measured) -> Page:
    page = run.planned.job.workload
    assert isinstance(page, Page)
    return page


def version(run: Measured) -> str:
    return run.planned.cell.levels["workload.http"]


@pytest.fixture(scope="module")
def lossless(tmp_path_factory: pytest.TempPathFactory) -> list[Measured]:
    return load(tmp_path_factory.mktemp("lossless"), PATH)


def test_the_first_request_is_sent_when_the_handshakes_are_over(lossless: list[Measured]) -> None:
    for run in lossless:
        document = resources(run)[0]
        connected_s = HANDSHAKES[version(run)] * RTT_S
        # A certificate and two kilobytes at 20 Mbit/s take a millisecond or two.
        assert document.request_start_ns / 1e9 == pytest.approx(connected_s, abs=0.003)
        assert run.metrics["connect_time_s"] >= connected_s
        # HTTP/1.1's head is in one TLS record with content that does not fit the first window.
        more = 1 if version(run) == "1.1" else 0
        first_byte_s = connected_s + (1 + more) * RTT_S
        assert run.metrics["first_byte_s"] == pytest.approx(first_byte_s, abs=0.01)


def test_resources_are_asked_for_when_what_refers_to_them_has_come(
    lossless: list[Measured],
) -> None:
    for run in lossless:
        loaded = resources(run)
        for resource, each in zip(page_of(run).resources, loaded, strict=True):
            if resource.initiator is not None:
                gap_ns = each.fetch_start_ns - loaded[resource.initiator].response_end_ns
                assert 0 <= gap_ns < 10_000
            assert each.fetch_start_ns <= each.request_start_ns < each.response_start_ns
            assert each.response_start_ns <= each.response_end_ns


def test_http1_has_six_connections_and_the_others_one(lossless: list[Measured]) -> None:
    for run in lossless:
        opened = [each for each in run.records if isinstance(each, Connection)]
        expected = {"1.1": 6, "2": 1, "3": 1}[version(run)]
        for side in ("client", "server"):
            numbers = sorted(each.connection for each in opened if each.side == side)
            assert numbers == list(range(expected)), f"{version(run)}, {side}"


def test_http1_asks_for_one_thing_at_a_time(lossless: list[Measured]) -> None:
    (run,) = (run for run in lossless if version(run) == "1.1")
    by_connection: dict[int, list[Resource]] = {}
    for each in sorted(resources(run), key=lambda each: each.request_start_ns):
        by_connection.setdefault(each.connection, []).append(each)
    for requests in by_connection.values():
        assert [each.request for each in requests] == list(range(len(requests)))
        for before, after in pairwise(requests):
            assert after.request_start_ns >= before.response_end_ns


def test_what_is_shown_first_comes_before_the_images(lossless: list[Measured]) -> None:
    for run in lossless:
        if version(run) != "1.1":
            page = page_of(run)
            ends_ns = {True: [0], False: [2**62]}
            for each in resources(run):
                blocking = page.resources[each.resource].render_blocking
                ends_ns[blocking].append(each.response_end_ns)
            assert max(ends_ns[True]) < min(ends_ns[False]), version(run)


def test_a_page_of_today_arrives_whole_under_loss(tmp_path: Path) -> None:
    path = PATH | {"rtt": "50ms", "loss": "3%"}
    for run in load(tmp_path, path, page="web-80"):
        assert len(resources(run)) == 80
        assert run.metrics["first_render_s"] < run.metrics["page_load_time_s"]


def test_records_are_equal_to_the_byte(tmp_path: Path) -> None:
    found = []
    for place in (tmp_path / "one", tmp_path / "another"):
        runs = load(place, PATH | {"loss": "5%"})
        found.append([(run.path / RECORDS_FILE).read_bytes() for run in runs])
    assert found[0] == found[1]


def test_pages_come_over_tcp_and_mptcp_without_encryption(tmp_path: Path) -> None:
    study = study_from_mapping(
        {
            "title": "guest test",
            "replicates": 1,
            "path": PATH | {"second": {"rtt": "200ms", "rate": "20mbit"}},
            "transport": "mptcp",
            "workload": {"kind": "page", "page": "nam-2021"},
            "factors": {"workload.http": ["1.1", "2"]},
        }
    )
    tcp = study_from_mapping(
        {
            "title": "guest test",
            "replicates": 1,
            "path": PATH,
            "transport": "tcp",
            "workload": {"kind": "page", "page": "nam-2021"},
            "factors": {"workload.http": ["1.1", "2"]},
        }
    )
    for name, each in (("mptcp", study), ("tcp", tcp)):
        for run in run_study(plan_study(each), tmp_path / name):
            assert run.status.outcome == "ok", f"{name}, {run.planned.run}: {run.status.reason}"
            # One round trip for TCP's handshake.
            document = resources(run)[0]
            assert document.request_start_ns / 1e9 == pytest.approx(RTT_S, abs=0.003)
