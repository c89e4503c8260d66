"""One shaper for all disciplines and rates: when packets arrive, against the closed form."""

from __future__ import annotations

import csv
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from guest.lab import Measured, run_study
from netwarp.plan import plan_study
from netwarp.study import study_from_mapping
from netwarp.wire import Flow

DISCIPLINES = ("fifo", "codel", "fq_codel", "fq", "cake", "pie", "red", "dualpi2")
RATES_BIT_S = {"384kbit": 384e3, "20mbit": 20e6, "1gbit": 1e9}
HEADER_BYTES = 14 + 20 + 8
DELAY_NS = 25_000_000
CLOCK_NS = 2_000
"""What reading clocks adds, 256 ns each time, most where a sample is taken at the same moment."""


def carried_out(
    place: Path, path: dict[str, Any], workload: dict[str, Any], **factors: Any
) -> list[Measured]:
    """Carry out a flow of datagrams over a path with factors; every run must succeed."""
    study = {
        "title": "shaping",
        "replicates": 1,
        "path": {"rtt": "50ms"} | path,
        "transport": "udp",
        "workload": {"kind": "flow", "packet_table": True} | workload,
        "factors": {key.replace("__", "."): value for key, value in factors.items()},
    }
    runs = run_study(plan_study(study_from_mapping(study, folder=place)), place)
    for run in runs:
        assert run.status.outcome == "ok", f"{run.planned.run}: {run.status.reason}"
    return runs


def arrivals(run: Measured) -> list[tuple[int, int]]:
    """Give when each message was sent and received, in ns."""
    with (run.path / "packets.csv").open() as file:
        return [(int(row["sent_ns"]), int(row["received_ns"])) for row in csv.DictReader(file)]


def frame_ns(run: Measured, rate_bit_s: float) -> float:
    workload = run.planned.job.only.workload
    assert isinstance(workload, Flow)
    return (workload.message_bytes + HEADER_BYTES) * 8e9 / rate_bit_s


@pytest.mark.parametrize("rate", RATES_BIT_S)
def test_the_last_bit_arrives_at_the_same_moment_on_an_idle_link(tmp_path: Path, rate: str) -> None:
    """Before, the first packet behind any discipline but fifo took no time to be sent."""
    runs = carried_out(
        tmp_path,
        {"rate": rate},
        {"interval": "200ms", "count": 5},
        path__discipline=list(DISCIPLINES),
        workload__payload=["24B", "1200B", "1472B"],
    )
    assert len(runs) == 3 * len(DISCIPLINES)
    for run in runs:
        expected_ns = DELAY_NS + frame_ns(run, RATES_BIT_S[rate])
        for sent_ns, received_ns in arrivals(run):
            delay_ns = received_ns - sent_ns
            assert delay_ns == pytest.approx(expected_ns, abs=CLOCK_NS), run.planned.cell.levels


@pytest.mark.parametrize(
    ("rate", "payload_bytes"),
    [("384kbit", 100), ("384kbit", 1472), ("20mbit", 100), ("20mbit", 1472), ("1gbit", 1472)],
)
def test_a_busy_link_sends_a_packet_when_the_one_before_has_ended(
    tmp_path: Path, rate: str, payload_bytes: int
) -> None:
    """The sender offers twice the rate."""
    frame_bytes = payload_bytes + HEADER_BYTES
    runs = carried_out(
        tmp_path,
        {"rate": rate, "queue": "400p"},
        {
            "payload": f"{payload_bytes}B",
            "rate": f"{round(2 * RATES_BIT_S[rate] * payload_bytes / frame_bytes)}bit",
            "count": 800,
        },
        path__discipline=list(DISCIPLINES),
    )
    for run in runs:
        expected_ns = frame_ns(run, RATES_BIT_S[rate])
        received_ns = [received for _, received in arrivals(run)]
        assert len(received_ns) > 100, run.planned.cell.levels
        gaps_ns = [after - before for before, after in pairwise(received_ns)]
        assert min(gaps_ns) > expected_ns - CLOCK_NS, run.planned.cell.levels
        lasted_ns = received_ns[-1] - received_ns[0]
        busy_ns = len(gaps_ns) * expected_ns
        assert lasted_ns == pytest.approx(busy_ns, abs=expected_ns), run.planned.cell.levels


@pytest.mark.parametrize("kind", [each for each in DISCIPLINES if each != "cake"])
def test_a_rate_that_changes_is_that_of_the_packets_that_start_after_it(
    tmp_path: Path, kind: str
) -> None:
    """The link is idle: each packet takes the time that it takes at the rate of its moment."""
    entries = [{"at": "1s", "change": "rate", "rate": "10mbit", "direction": "down"}]
    entries += [{"at": "2s", "change": "rate", "rate": "100kbit", "direction": "down"}]
    path = {"rate": "1mbit", "discipline": kind, "timeline": entries}
    (run,) = carried_out(
        tmp_path, path, {"interval": "150ms", "count": 20, "payload": "1000B"}, transport=["udp"]
    )
    for sent_ns, received_ns in arrivals(run):
        at_link_ns = sent_ns + DELAY_NS
        rate_bit_s = [1e6, 10e6, 100e3][(at_link_ns >= 1e9) + (at_link_ns >= 2e9)]
        expected_ns = DELAY_NS + frame_ns(run, rate_bit_s)
        assert received_ns - sent_ns == pytest.approx(expected_ns, abs=CLOCK_NS), sent_ns


@pytest.mark.parametrize("kind", [each for each in DISCIPLINES if each != "cake"])
def test_a_busy_link_whose_rate_changes_carries_what_the_rates_allow(
    tmp_path: Path, kind: str
) -> None:
    entries = [
        {"at": f"{at}s", "change": "rate", "rate": rate, "direction": "down"}
        for at, rate in ((1, "8mbit"), (2, "1mbit"), (3, "4mbit"))
    ]
    path = {"rate": "2mbit", "queue": "20p", "discipline": kind, "timeline": entries}
    (run,) = carried_out(
        tmp_path, path, {"rate": "16mbit", "payload": "1000B", "duration": "4s"}, transport=["udp"]
    )
    received_ns = [received for _, received in arrivals(run)]
    for second, rate_bit_s in enumerate((2e6, 8e6, 1e6, 4e6)):
        one_ns = frame_ns(run, rate_bit_s)
        within = [each for each in received_ns if second * 1e9 <= each < (second + 1) * 1e9]
        first_ns = max(received_ns[0] - one_ns, second * 1e9)
        possible = ((second + 1) * 1e9 - first_ns) / one_ns
        assert len(within) == pytest.approx(possible, abs=1.5), (second, rate_bit_s)


@pytest.mark.parametrize("kind", [each for each in DISCIPLINES if each != "cake"])
def test_a_trace_stops_and_starts_the_link(tmp_path: Path, kind: str) -> None:
    """Each second has 1504 bytes every ms (12.032 Mbit/s) in its first half, then nothing, and 3008
    bytes in its last tenth. A packet that comes while nothing may leave starts after that.
    """
    (tmp_path / "trace").write_text("".join(f"{at}\n" for at in [*range(1, 501), 1000, 1000]))
    trace = {"down": "trace", "step": "100ms"}
    path = {"trace": trace, "rate_up": "10mbit", "discipline": kind, "queue": "20p"}
    (run,) = carried_out(
        tmp_path, path, {"interval": "605ms", "count": 40, "payload": "1462B"}, transport=["udp"]
    )
    rates_bit_s = run.planned.job.timeline.traces[0].rates_bit_s
    assert rates_bit_s == (12_032_000,) * 5 + (0,) * 4 + (240_640,)
    waited = 0
    for sent_ns, received_ns in arrivals(run):
        at_link_ns = sent_ns + DELAY_NS
        tenth, starts_ns = at_link_ns // 100_000_000, at_link_ns
        if 5 <= tenth % 10 < 9:
            tenth += 9 - tenth % 10
            starts_ns = tenth * 100_000_000
            waited += 1
        expected_ns = starts_ns + frame_ns(run, rates_bit_s[tenth % 10])
        assert received_ns == pytest.approx(expected_ns, abs=CLOCK_NS), (sent_ns, tenth)
    assert waited > 5
