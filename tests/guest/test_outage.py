"""Outages: at the time asked for, in both directions, survived by who can, and told."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from guest.lab import ALL, Measured, run_study, run_study_cells
from netwarp.plan import plan_study
from netwarp.run_directory import RECORDS_FILE
from netwarp.study import study_from_mapping
from netwarp.wire import Goodput, TimelineEvent, Transfer

# 5 MB at 10 Mbit/s take 4 s: both events fall into the transfer.
OUTAGE_S, RESTORE_S = 1.5, 6.5
PATH: dict[str, Any] = {
    "rtt": "50ms",
    "rate": "10mbit",
    "timeline": [
        {"at": "1500ms", "change": "outage"},
        {"at": "6500ms", "change": "restore"},
    ],
}


@pytest.fixture(scope="module")
def interrupted(tmp_path_factory: pytest.TempPathFactory) -> list[Measured]:
    return run_study_cells(tmp_path_factory.mktemp("interrupted"), PATH, size="5MB")


def received(run: Measured) -> Transfer:
    (transfer,) = (
        record for record in run.records if isinstance(record, Transfer) and record.side == "client"
    )
    return transfer


def events(run: Measured) -> list[TimelineEvent]:
    return [record for record in run.records if isinstance(record, TimelineEvent)]


def test_events_happen_at_the_time_asked_for(interrupted: list[Measured]) -> None:
    for run in interrupted:
        happened = events(run)
        assert [each.event.change.kind for each in happened] == ["outage", "restore"]
        for each in happened:
            assert 0 <= each.at_ns - each.event.at_ns < 1e6, run.transport


def test_every_transport_survives_five_seconds(interrupted: list[Measured]) -> None:
    for run in interrupted:
        hashes = {record.sha256 for record in run.records if isinstance(record, Transfer)}
        assert len(hashes) == 1
        assert None not in hashes
        assert run.metrics["completion_time_s"] > RESTORE_S, run.transport


def test_nothing_arrives_while_the_path_is_out(interrupted: list[Measured]) -> None:
    """What was in the delay line still arrives; then nothing until the path is back."""
    for run in interrupted:
        transfer = received(run)
        assert transfer.longest_gap_ns is not None
        assert transfer.longest_gap_at_ns is not None
        assert transfer.longest_gap_at_ns / 1e9 < OUTAGE_S + 0.1, run.transport
        assert (transfer.longest_gap_at_ns + transfer.longest_gap_ns) / 1e9 > RESTORE_S


def test_an_outage_takes_both_directions(interrupted: list[Measured]) -> None:
    for run in interrupted:
        for direction in ("down", "up"):
            lost = run.calibration(direction).lost_packets
            assert lost is None or lost > 0, f"{run.transport} {direction}"


def test_what_a_restored_path_does_is_what_it_did_before(tmp_path: Path) -> None:
    """Rate, delay and loss come back: a path that is out from the start is late, and no other."""
    path = {"rtt": "40ms", "rate": "20mbit", "loss": "2%"}
    timeline = [{"at": "1ns", "change": "outage"}, {"at": "500ms", "change": "restore"}]
    (run,) = run_study_cells(
        tmp_path, {**path, "timeline": timeline}, transports=["quic"], size="20MB"
    )
    assert run.metrics["path_min_rtt_s"] == pytest.approx(0.04, abs=1e-3)
    counted = run.calibration("down")
    if counted.lost_packets is not None:
        assert counted.lost_packets / counted.offered_packets == pytest.approx(0.02, rel=0.25)
    assert run.metrics["path_rate_down_bit_s"] <= 20e6


def test_a_gap_is_told_only_where_there_is_a_timeline(tmp_path: Path) -> None:
    (run,) = run_study_cells(tmp_path, {"rtt": "10ms"}, transports=["tcp"], size="100kB")
    assert received(run).longest_gap_ns is None
    assert received(run).longest_gap_at_ns is None


def test_gaps_are_not_told_where_nothing_interrupts(tmp_path: Path) -> None:
    """Content is then looked at only as often as the record of goodput needs."""
    redraw = {"period": "1s", "mean": "50ms", "deviation": "10ms"}
    for run in run_study_cells(
        tmp_path, {"rate": "1mbit", "loss": "5%", "redraw": redraw}, size="4MB"
    ):
        assert received(run).longest_gap_ns is None, run.transport
        (goodput,) = (each for each in run.records if isinstance(each, Goodput))
        assert sum(goodput.bytes) == 4_000_000, run.transport
        end_s = len(goodput.bytes) * goodput.step_ns / 1e9
        last_s = received(run).last_byte_ns / 1e9
        assert last_s <= end_s < last_s + goodput.step_ns / 1e9 + 1e-6, run.transport


@pytest.mark.parametrize("transport", ALL)
def test_an_outage_without_end_is_a_result_where_the_transport_gives_up(
    tmp_path: Path, transport: str
) -> None:
    study = {
        "title": "no end",
        "replicates": 1,
        "path": {**PATH, "timeline": [{"at": "1500ms", "change": "outage"}]},
        "workload": {"kind": "bulk", "size": "5MB"},
        "factors": {"transport": [transport]},
    }
    (run,) = run_study(plan_study(study_from_mapping(study)), tmp_path)
    assert run.status.outcome == "ok", run.status.reason
    assert run.metrics["gave_up_s"] > 60
    assert "completion_time_s" not in run.metrics


def test_outages_are_repeatable(tmp_path: Path) -> None:
    path = {**PATH, "jitter": "2ms", "loss": "1%"}
    for place in ("one", "other"):
        run_study_cells(tmp_path / place, path, size="1MB")
    for run in ("c000-r00", "c001-r00", "c002-r00", "c003-r00"):
        one, other = (tmp_path / place / run / RECORDS_FILE for place in ("one", "other"))
        assert one.read_bytes() == other.read_bytes()
