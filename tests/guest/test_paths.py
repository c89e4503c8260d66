"""Two paths: MPTCP over both at once, SCTP failing over from one to the other."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from guest.lab import Measured, run_study_cells
from netwarp.run_directory import RECORDS_FILE
from netwarp.wire import Calibration, Connection, Probe, TimelineEvent, Transfer

PATH: dict[str, Any] = {"rtt": "50ms", "rate": "20mbit", "queue": "4bdp"}
SIZE_BYTES = 10_000_000
# Buffers too small to overflow the queue in slow start: those losses would hide the outage's.
MULTIHOMED: dict[str, Any] = {
    "kind": "sctp",
    "multihomed": True,
    "buffer": "256kB",
    "label": "multihomed",
}


def two_paths(cut_at: str | None = None, **second: str) -> dict[str, Any]:
    timeline = [] if cut_at is None else [{"at": cut_at, "change": "outage"}]
    return {**PATH, "second": {"rtt": "50ms", **second}, "timeline": timeline}


def run_one(place: Path, path: dict[str, Any], transport: Any, **options: Any) -> Measured:
    (run,) = run_study_cells(place, path, transports=[transport], **{"size": "10MB", **options})
    return run


def delivered_bytes(run: Measured, path: int, direction: str = "down") -> int:
    (counted,) = (
        record
        for record in run.records
        if isinstance(record, Calibration) and (record.path, record.direction) == (path, direction)
    )
    return counted.delivered_bytes


def fail_over_s(run: Measured) -> float:
    """From the outage until content comes again."""
    (outage,) = (record for record in run.records if isinstance(record, TimelineEvent))
    (transfer,) = (
        record
        for record in run.records
        if isinstance(record, Transfer) and record.longest_gap_ns is not None
    )
    assert transfer.longest_gap_ns is not None
    assert transfer.longest_gap_at_ns is not None
    assert abs(transfer.longest_gap_at_ns - outage.at_ns) < 0.2e9, "the gap is not the outage's"
    return (transfer.longest_gap_at_ns + transfer.longest_gap_ns - outage.at_ns) / 1e9


def hashes(run: Measured) -> set[str | None]:
    return {record.sha256 for record in run.records if isinstance(record, Transfer)}


@pytest.fixture(scope="module")
def aggregated(tmp_path_factory: pytest.TempPathFactory) -> Measured:
    return run_one(tmp_path_factory.mktemp("aggregated"), two_paths(), "mptcp")


def test_mptcp_uses_both_paths(aggregated: Measured) -> None:
    for path in (0, 1):
        assert delivered_bytes(aggregated, path) > 0.3 * SIZE_BYTES, f"path {path}"


def test_two_equal_paths_are_nearly_twice_as_fast(aggregated: Measured, tmp_path: Path) -> None:
    single = run_one(tmp_path, PATH, "tcp")
    assert aggregated.metrics["goodput_bit_s"] > 1.6 * single.metrics["goodput_bit_s"]
    assert aggregated.metrics["goodput_bit_s"] < 2 * 20e6


def test_each_path_is_probed(tmp_path: Path) -> None:
    run = run_one(tmp_path, two_paths(rtt="80ms"), "mptcp")
    rtts_ns = [record.min_rtt_ns for record in run.records if isinstance(record, Probe)]
    assert rtts_ns == [pytest.approx(50e6, abs=1e5), pytest.approx(80e6, abs=1e5)]


def test_the_second_path_may_be_another(tmp_path: Path) -> None:
    run = run_one(tmp_path, two_paths(rate="5mbit"), "mptcp")
    assert delivered_bytes(run, 0) > 2 * delivered_bytes(run, 1) > 0


def test_mptcp_may_end_before_its_second_subflow_is_up(tmp_path: Path) -> None:
    path = {"rtt": "30ms", "rate": "20mbit", "second": {"rtt": "30ms"}}
    run = run_one(tmp_path, path, "mptcp", size="10kB")
    assert len(hashes(run)) == 1


def test_mptcp_that_fell_back_to_tcp_says_so(tmp_path: Path) -> None:
    """Two SYNs without an answer, and the kernel's third has no MPTCP any more."""
    entries = [{"at": "0s", "change": "outage"}, {"at": "5s", "change": "restore"}]
    run = run_one(tmp_path, {**two_paths(), "timeline": entries}, "mptcp", size="100kB")
    assert run.metrics["plain_tcp_connections"] == 1
    used = [each.settings.transport for each in run.records if isinstance(each, Connection)]
    assert used == ["tcp", "tcp"]


def test_mptcp_outlives_either_path(tmp_path: Path) -> None:
    for cut, live in ((0, 1), (1, 0)):
        path = two_paths()
        path["timeline"] = [{"at": "1s", "change": "outage", "path": cut + 1}]
        run = run_one(tmp_path / str(cut), path, "mptcp")
        assert len(hashes(run)) == 1
        assert None not in hashes(run)
        assert delivered_bytes(run, live) > 0.6 * SIZE_BYTES, f"path {cut} cut"
        assert delivered_bytes(run, cut) < 0.4 * SIZE_BYTES, f"path {cut} cut"


def test_multihomed_sctp_sends_by_its_primary_path(tmp_path: Path) -> None:
    run = run_one(tmp_path, two_paths(), MULTIHOMED)
    assert delivered_bytes(run, 0) > SIZE_BYTES
    # Heartbeats only.
    assert 0 < delivered_bytes(run, 1) < 10_000


def cut_in_mid_transfer(place: Path, at: str, **bounds: str) -> Measured:
    """25 MB take 10 s."""
    return run_one(place, two_paths(at), {**MULTIHOMED, **bounds}, size="25MB")


def test_multihomed_sctp_fails_over_when_its_primary_path_is_cut(tmp_path: Path) -> None:
    run = cut_in_mid_transfer(tmp_path, "6s")
    assert len(hashes(run)) == 1
    assert None not in hashes(run)
    assert delivered_bytes(run, 1) > 0.3 * 25_000_000
    # One time-out: RTO.Min and what the RTT adds.
    assert 1.0 <= fail_over_s(run) < 1.5


def test_smaller_rto_bounds_fail_over_sooner(tmp_path: Path) -> None:
    run = cut_in_mid_transfer(tmp_path, "6s", rto_initial="400ms", rto_min="200ms", rto_max="2s")
    assert 0.2 <= fail_over_s(run) < 0.6


def test_no_data_goes_to_an_address_before_it_is_verified(tmp_path: Path) -> None:
    """RFC 9260, 5.4: a HEARTBEAT must come back first, sent after about RTO.Initial (3 s)."""
    run = cut_in_mid_transfer(tmp_path, "1s")
    assert fail_over_s(run) > 2.0
    assert len(hashes(run)) == 1


@pytest.mark.parametrize("transport", ["mptcp", MULTIHOMED], ids=["mptcp", "sctp"])
def test_several_paths_are_repeatable(tmp_path: Path, transport: Any) -> None:
    path = {**two_paths("300ms"), "jitter": "2ms", "loss": "1%"}
    for place in ("one", "other"):
        run_study_cells(tmp_path / place, path, transports=[transport], size="1MB")
    one, other = (tmp_path / place / "c000-r00" / RECORDS_FILE for place in ("one", "other"))
    assert one.read_bytes() == other.read_bytes()
