"""What links do beside delay, rate and loss, each against the closed form: repairs, policers,
superfluous acknowledgements, and bursts of segments.
"""

from __future__ import annotations

import csv
from collections import Counter
from itertools import groupby, pairwise
from math import sqrt
from pathlib import Path
from typing import Any

import pytest

from guest.lab import Measured, run_study_cells
from guest.tshark import fields

DELAY_NS = 10_000_000
CLOCK_NS = 5_000
"""What reading clocks adds, 256 ns each time."""


def flowed(place: Path, path: dict[str, Any], **keys: Any) -> list[tuple[int, int]]:
    """Carry out a flow of datagrams to the client; give the number and the delay in ns of each
    that arrived, in the order in which they did.
    """
    flow: dict[str, Any] = {"kind": "flow", "payload": "100B", "packet_table": True} | keys
    (run,) = run_study_cells(place, path, transports=["udp"], **flow)
    with (run.path / "packets.csv").open() as file:
        return [
            (int(row["number"]), int(row["received_ns"]) - int(row["sent_ns"]))
            for row in csv.DictReader(file)
        ]


@pytest.mark.parametrize("loss", [0.1, 0.5])
def test_what_the_link_lost_comes_a_repair_later_for_each_repetition(
    tmp_path: Path, loss: float
) -> None:
    """Packets are further apart than three repairs, so none waits for another."""
    count = 40_000
    path = {"delay": "10ms", "link_loss": f"{100 * loss:.0f}%", "link_repair": "4ms"}
    found = flowed(tmp_path, path, interval="20ms", count=count)
    assert len(found) == count
    repeated = Counter(round((delay_ns - DELAY_NS) / 4e6) for _, delay_ns in found)
    late_ns = [(delay_ns - DELAY_NS) % 4_000_000 for _, delay_ns in found]
    assert max(late_ns) < CLOCK_NS
    expected = [loss**times * (1 - loss) for times in range(3)] + [loss**3]
    assert set(repeated) <= set(range(4))
    for times, share in enumerate(expected):
        # Five standard deviations, and the step of netem's table.
        bound = 5 * sqrt(share * (1 - share) / count) + 1 / 16_384
        assert repeated[times] / count == pytest.approx(share, abs=bound), times


@pytest.mark.parametrize(
    "more", [{}, {"rate": "100mbit"}, {"rate": "100mbit", "discipline": "fq_codel"}]
)
def test_packets_behind_a_repair_wait_for_it(tmp_path: Path, more: dict[str, Any]) -> None:
    path = {"delay": "10ms", "link_loss": "10%", "link_repair": "4ms"} | more
    found = flowed(tmp_path, path, interval="100us", count=5000)
    assert [number for number, _ in found] == list(range(5000))
    assert max(delay_ns for _, delay_ns in found) > DELAY_NS + 4_000_000


def test_every_transport_arrives_over_a_link_that_repairs(tmp_path: Path) -> None:
    """What a repair held up comes to the queue at once, and finds room there."""
    path = {"rtt": "20ms", "rate": "20mbit", "queue": "200p", "link_loss": "10%"}
    for run in run_study_cells(tmp_path, path, size="200kB"):
        assert run.metrics["completion_time_s"] > 0, run.transport
        assert run.metrics["path_dropped_down"] == 0, run.transport


FRAME_BYTES = 1000 + 8 + 20 + 14
POLICED = {"delay_down": "10ms", "rate": "10mbit", "policer": "30kB"}


def test_a_policer_lets_its_bucket_pass_at_once_and_then_its_rate(tmp_path: Path) -> None:
    """80 Mbit/s reach a policer of 10 Mbit/s for 0.2 s."""
    found = flowed(tmp_path, POLICED, payload="1000B", interval="100us", count=2000)
    numbers = [number for number, _ in found]
    passed = next(number for number, (got, _) in enumerate(found) if got != number)
    # While the bucket empties, it is filled too: one part in eight.
    at_once = 30_000 / FRAME_BYTES / (1 - 10e6 * 100e-6 / 8 / FRAME_BYTES)
    assert passed == pytest.approx(at_once, abs=2)
    assert all(delay_ns < DELAY_NS + CLOCK_NS for _, delay_ns in found[: passed - 2])
    due = (30_000 + 10e6 / 8 * 0.2) / FRAME_BYTES
    assert len(numbers) == pytest.approx(due, abs=3)


def test_what_keeps_to_a_policers_rate_loses_nothing_and_waits_for_nothing(tmp_path: Path) -> None:
    # 9.3 Mbit/s with headers.
    found = flowed(tmp_path, POLICED, payload="1000B", interval="900us", count=2000)
    assert len(found) == 2000
    assert max(delay_ns for _, delay_ns in found) < DELAY_NS + CLOCK_NS


def test_acknowledgements_that_wait_in_vain_are_dropped(tmp_path: Path) -> None:
    """At 256 kbit/s an acknowledgement of 66 bytes takes 2 ms, and each lets two packets go: 11
    Mbit/s of 50. Where later ones replace those that wait, they do not limit the transfer.
    """
    path = {"rtt": "20ms", "rate_down": "50mbit", "rate_up": "256kbit", "discipline": "cake"}
    path |= {"queue": "1000p"}
    kept, dropped = (
        run_study_cells(
            tmp_path / filtered, path | {"ack_filter": filtered}, transports=["tcp"], size="5MB"
        )[0]
        for filtered in ("kept", "dropped")
    )
    least_s = 5e6 / (2 * 1448) * 66 * 8 / 256e3
    assert kept.metrics["completion_time_s"] > least_s
    assert dropped.metrics["completion_time_s"] < 0.5 * least_s
    assert dropped.metrics["path_dropped_up"] > 300


def test_a_paced_sender_sends_bursts_of_what_it_hands_over(tmp_path: Path) -> None:
    path = {"rtt": "40ms", "rate": "100mbit", "queue": "4bdp"}
    levels = [
        {"kind": "tcp", "congestion": "bbr", "tso_packets": most, "label": f"at most {most}"}
        for most in (1, 4)
    ]
    runs = run_study_cells(tmp_path, path, transports=levels, size="3MB", capture=True)
    for run, most in zip(runs, (1, 4), strict=True):
        assert max(_bursts(run)) == most


def _bursts(run: Measured) -> list[int]:
    """Count the packets of each burst with data, of the transfer's second half."""
    only = "tcp.len > 0 && frame.interface_name == server-side-in"
    times_s = [float(time) for (time,) in fields(run.path, "frame.time_relative", only=only)]
    paced = times_s[len(times_s) // 2 :]
    starts = [0.0] + [after - before for before, after in pairwise(paced)]
    numbered = 0
    groups = []
    for gap in starts:
        numbered += gap > 2e-6
        groups.append(numbered)
    return [len(list(members)) for _, members in groupby(groups)]
