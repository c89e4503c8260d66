"""Are the numbers right? Against closed forms and independent counts, for all transports."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from scipy.stats import binom

from closed_form import lossless_completion_s, pftk_goodput_bit_s
from fidelity import recomputed_drops
from guest.lab import ALL, Measured, run_study_cells

ETHERNET_BYTES = 14


@pytest.fixture(scope="module")
def lossless(tmp_path_factory: pytest.TempPathFactory) -> list[Measured]:
    path = {"rtt": "100ms", "rate": "50mbit", "queue": "30bdp"}
    return run_study_cells(tmp_path_factory.mktemp("lossless"), path, size="20MB")


@pytest.fixture(scope="module")
def lossy_both_ways(tmp_path_factory: pytest.TempPathFactory) -> list[Measured]:
    path = {"rtt": "20ms", "loss_down": "3%", "loss_up": "2%"}
    return run_study_cells(tmp_path_factory.mktemp("lossy"), path, size="5MB", replicates=2)


def test_connection_times_are_whole_round_trips(lossless: list[Measured]) -> None:
    round_trips = {"tcp": 1, "quic": 1, "tls": 2, "sctp": 2}
    for run in lossless:
        excess_s = run.metrics["connect_time_s"] - round_trips[run.transport] * 0.1
        assert 0 <= excess_s < 1e-3, f"{run.transport}: {excess_s * 1e3:.3f} ms too much"


def test_lossless_completion_is_slow_start_and_bandwidth(lossless: list[Measured]) -> None:
    for run in lossless:
        expected_s = lossless_completion_s(
            run.transport, size_bytes=20_000_000, rate_bit_s=50e6, rtt_s=0.1
        )
        assert run.metrics["completion_time_s"] == pytest.approx(expected_s, rel=0.01), (
            run.transport
        )


def test_nothing_is_lost_where_no_loss_was_asked_for(lossless: list[Measured]) -> None:
    for run in lossless:
        for direction in ("down", "up"):
            counted = run.calibration(direction)
            assert counted.dropped_packets == 0, f"{run.transport} {direction}"
            assert counted.offered_packets == counted.delivered_packets + counted.left_packets


def test_the_smallest_round_trip_is_the_one_asked_for(lossless: list[Measured]) -> None:
    for run in lossless:
        assert run.metrics["path_min_rtt_s"] == pytest.approx(0.1, abs=1e-4), run.transport


def test_the_bottleneck_is_used_and_not_exceeded(lossless: list[Measured]) -> None:
    for run in lossless:
        assert 0.7 * 50e6 < run.metrics["path_rate_down_bit_s"] <= 50e6, run.transport


@pytest.mark.parametrize("ratio", ["100%", "25%"])
def test_packets_that_overtake_others_do_not_by_pass_the_bottleneck(
    ratio: str, tmp_path: Path
) -> None:
    path = {"rtt": "20ms", "rate": "10mbit", "queue": "4bdp", "reorder": ratio}
    for run in run_study_cells(tmp_path, path, transports=["tcp", "quic"], size="2MB"):
        # Content is less than what carries it.
        assert run.metrics["goodput_bit_s"] < 10e6, run.transport
        assert run.metrics["path_rate_down_bit_s"] <= 10e6, run.transport


def test_drops_are_what_was_asked_for_in_each_direction(lossy_both_ways: list[Measured]) -> None:
    for run in lossy_both_ways:
        for direction, ratio in (("down", 0.03), ("up", 0.02)):
            counted = run.calibration(direction)
            low, high = binom.interval(0.9999, counted.offered_packets, ratio)
            assert low <= counted.dropped_packets <= high, (
                f"{run.transport} {direction}: {counted.dropped_packets} of"
                f" {counted.offered_packets} dropped, expected {low:.0f} to {high:.0f}"
            )


def test_drops_are_the_draws_of_netems_generator(lossy_both_ways: list[Measured]) -> None:
    """Packet by packet: recomputed without the kernel, from the run's seed."""
    for run in lossy_both_ways:
        recomputed = list(recomputed_drops(run.planned.job, run.records))
        assert {counted.direction for counted, _, _ in recomputed} == {"down", "up"}
        for counted, _, lost in recomputed:
            assert counted.lost_packets == lost, f"{run.transport} {counted.direction}"


def test_one_drop_is_one_packet(lossy_both_ways: list[Measured]) -> None:
    """No segmentation offload reaches the router: what it drops and counts fits the MTU."""
    for run in lossy_both_ways:
        for direction in ("down", "up"):
            counted = run.calibration(direction)
            assert counted.offered_bytes is not None
            mean_bytes = counted.offered_bytes / counted.offered_packets
            assert mean_bytes <= 1500 + ETHERNET_BYTES, f"{run.transport} {direction}"
        # 5 MB in packets of at most 1500 bytes cannot be fewer; super-packets would be.
        assert run.calibration("down").offered_packets >= 5_000_000 / 1500


def test_every_packet_is_accounted_for(lossy_both_ways: list[Measured]) -> None:
    for run in lossy_both_ways:
        for direction in ("down", "up"):
            counted = run.calibration(direction)
            accounted = counted.delivered_packets + counted.dropped_packets + counted.left_packets
            assert counted.offered_packets == accounted, f"{run.transport} {direction}"


def test_all_transports_meet_the_same_path(lossy_both_ways: list[Measured]) -> None:
    seeds = {(run.planned.replicate, run.planned.job.paths[0].down.seed) for run in lossy_both_ways}
    assert len(seeds) == 2


def test_content_arrives_whole_in_both_directions(tmp_path: Path) -> None:
    for direction in ("down", "up"):
        for run in run_study_cells(
            tmp_path / direction, {"rtt": "20ms", "loss": "5%"}, direction=direction
        ):
            assert run.metrics["completion_time_s"] > 0
            hashes = {record.sha256 for record in run.records if record.record == "transfer"}
            assert len(hashes) == 1
            assert None not in hashes


def test_a_real_file_is_sent(tmp_path: Path) -> None:
    file = tmp_path / "content.bin"
    file.write_bytes(b"netwarp" * 12345)
    for run in run_study_cells(tmp_path / "runs", {"rtt": "10ms"}, size=None, file=str(file)):
        sent = [record for record in run.records if record.record == "transfer"]
        assert {record.bytes for record in sent} == {7 * 12345}, run.transport


@pytest.mark.parametrize("verify", [True, False])
def test_content_arrives_when_it_can_be_read_however_it_is_watched(
    verify: bool, tmp_path: Path
) -> None:
    # What overtakes a lost packet has come, and can be read only once that was sent again. A change
    # of the path after the end has the receiver watch its arrivals, and changes nothing else.
    path: dict[str, Any] = {"rtt": "100ms", "rate": "20mbit", "loss": "8%"}
    later = [{"at": "3000s", "change": "delay", "rtt": "100ms"}]
    plain, watched = (
        run_study_cells(tmp_path / name, each, replicates=6, size="40kB", verify=verify)
        for name, each in {"plain": path, "watched": path | {"timeline": later}}.items()
    )
    for one, other in zip(plain, watched, strict=True):
        assert other.metrics["completion_time_s"] == pytest.approx(
            one.metrics["completion_time_s"], abs=1e-4
        ), one.planned.run
        assert other.metrics["first_byte_s"] == pytest.approx(one.metrics["first_byte_s"], abs=1e-4)


def test_lossy_throughput_is_in_line_with_pftk(tmp_path: Path) -> None:
    """Padhye et al. 1998, for the algorithm the formula describes: Reno."""
    path = {"rtt": "100ms", "loss": "2%"}
    transports = [{"kind": "tcp", "congestion": "reno", "label": "reno"}]
    runs = run_study_cells(
        tmp_path, path, transports=transports, replicates=6, size="10MB", verify=False
    )
    mean_s = sum(run.metrics["completion_time_s"] for run in runs) / len(runs)
    expected = pftk_goodput_bit_s(loss=0.02, rtt_s=0.1, mss_bytes=1448)
    assert 10e6 * 8 / mean_s == pytest.approx(expected, rel=0.35)


@pytest.mark.parametrize("transport", ALL)
def test_asked_for_one_way_delays_are_one_way(tmp_path: Path, transport: str) -> None:
    (run,) = run_study_cells(
        tmp_path, {"delay_down": "70ms", "delay_up": "30ms"}, transports=[transport], size="1kB"
    )
    (probe,) = (record for record in run.records if record.record == "probe")
    assert probe.min_delay_down_ns == pytest.approx(70e6, abs=1e5)
    assert probe.min_delay_up_ns == pytest.approx(30e6, abs=1e5)


def test_the_last_data_is_safe_before_a_close(tmp_path: Path) -> None:
    """What one side sent last survives that it closes, however many packets are lost then."""
    early = ({"kind": kind, "resume": "0rtt", "label": f"{kind}, 0-RTT"} for kind in ("tcp", "tls"))
    streams = {"kind": "sctp", "streams": 3, "label": "sctp, 3 streams"}
    path = {"rtt": "50ms", "rate": "20mbit", "loss": "10%", "loss_up": "10%"}
    transports = ["tcp", "tls", "sctp", streams, *early]
    run_study_cells(
        tmp_path / "one", path, transports=transports, size="5kB", transfers=10, seed=44
    )
    two = {**path, "second": {"rtt": "50ms"}}
    multihomed = {"kind": "sctp", "multihomed": True, "label": "multihomed"}
    paths = tmp_path / "two"
    run_study_cells(paths, two, transports=["mptcp", multihomed], size="5kB", transfers=10, seed=44)


@pytest.mark.parametrize(
    ("direction", "duration"), [("down", "30ms"), ("down", "120ms"), ("up", "30ms")]
)
def test_a_duration_in_which_nothing_can_arrive_has_nothing_as_its_result(
    direction: str, duration: str, tmp_path: Path
) -> None:
    path = {"rtt": "100ms", "rate": "10mbit"}
    for run in run_study_cells(tmp_path, path, duration=duration, direction=direction):
        # Of an upload that was never connected neither end has a record.
        is_connected = duration == "120ms" and run.transport in ("tcp", "quic")
        expected = 0 if direction == "down" else None
        assert run.metrics.get("goodput_bit_s") == expected, run.transport
        assert "first_byte_s" not in run.metrics, run.transport
        assert ("connect_time_s" in run.metrics) == is_connected, run.transport
