"""About how much CPU time runs take."""

from __future__ import annotations

from typing import Any

import pytest

import sessions
from netwarp.execution.cost import (
    MESSAGE_CPU_S,
    NS3_LOAD_CPU_S,
    PROGRAM_CPU_S,
    START_CPU_S,
    Expected,
    expected_cpu_s,
)
from netwarp.transports import TRANSPORTS
from netwarp.wire import job_from_json
from netwarp.workloads import WORKLOADS
from support import GOLDEN, job_of


def test_a_run_costs_its_start_and_its_content() -> None:
    small = job_of("tcp", workload={"size": "10MB"})
    twice = job_of("tcp", workload={"size": "10MB", "transfers": 2})
    assert expected_cpu_s([]) == 0
    assert expected_cpu_s([small]) == pytest.approx(
        START_CPU_S + 10 * TRANSPORTS["tcp"].cpu_s_per_mb
    )
    assert expected_cpu_s([twice]) - START_CPU_S == pytest.approx(
        20 * TRANSPORTS["tcp"].cpu_s_per_mb
    )
    assert expected_cpu_s([small, twice]) == expected_cpu_s([small]) + expected_cpu_s([twice])
    quic = job_of("quic", workload={"size": "10MB"})
    assert expected_cpu_s([quic]) > expected_cpu_s([small])


FLOW = {"kind": "flow", "direction": "up", "payload": "1472B", "interval": "2us"}
GIGABIT = {"rate": "1gbit", "delay": "2us", "queue": "10240p"}
MEASURED = [
    ("udp", {}, 10_000, 0.36),
    ("udp", {}, 100_000, 2.4),
    ("tcp", {}, 10_000, 0.46),
    ("tcp", {}, 100_000, 3.4),
    ("udp", {"model": "ns3default"}, 10_000, 0.14),
    ("udp", {"model": "ns3default"}, 100_000, 0.98),
    ("tcp", {"model": "ns3default"}, 10_000, 1.6),
    ("tcp", {"model": "ns3default"}, 100_000, 14.5),
    ("tcp", {"model": "ns3default", "mss": 1460}, 100_000, 8.5),
]
"""Medians of what runs of tso-2021 took in CPU seconds, on two CPUs in November 2026."""


@pytest.mark.parametrize(("kind", "options", "count", "measured_cpu_s"), MEASURED)
def test_flows_cost_what_they_were_measured_to(
    kind: str, options: dict[str, Any], count: int, measured_cpu_s: float
) -> None:
    """Within a factor of two, as said; of ns-3 beside what loading it takes once."""
    level = {"kind": kind, "label": kind} | options
    job = job_of(level, path=GIGABIT, workload=FLOW | {"count": count})
    load_cpu_s = NS3_LOAD_CPU_S if options else 0.0
    assert 0.5 < (expected_cpu_s([job]) - load_cpu_s) / measured_cpu_s < 2
    assert expected_cpu_s([job, job]) == pytest.approx(2 * expected_cpu_s([job]) - load_cpu_s)


RECORDED = [
    ("kim-2022", "quic", 249, 18.8, 0.398),
    ("kim-2022", "tcp", 191, 18.5, 0.149),
    ("kim-2022", "tls", 165, 18.2, 0.175),
    ("nam-2021", "quic", 64, 43.8, 1.147),
    ("nam-2021", "sctp", 45, 84.9, 1.096),
    ("nam-2021", "tcp", 41, 63.0, 0.396),
    ("nam-2021", "tls", 25, 52.1, 0.453),
    ("park-2008", "sctp", 54, 71.7, 1.707),
    ("park-2008", "tcp", 77, 61.4, 0.447),
]
"""Reproductions of November 2026: number of transfers, their mean size in MB and CPU time in s."""


def test_the_transfers_of_reproductions_cost_in_sum_what_they_took() -> None:
    """The sum is what is announced; it was 1.6 times as much as these took."""
    expected_s = took_s = 0.0
    for source, kind, runs, megabytes, mean_s in RECORDED:
        one_s = expected_cpu_s([job_of(kind, workload={"size": f"{megabytes}MB"})])
        assert 0.5 < one_s / mean_s < 2, (source, kind)
        expected_s += runs * one_s
        took_s += runs * mean_s
    assert expected_s == pytest.approx(took_s, rel=0.2)


def test_requests_cost_as_messages_do() -> None:
    asked = {"kind": "rr", "interval": "1ms", "count": 10_000}
    assert expected_cpu_s([job_of("udp", workload=asked)]) == pytest.approx(
        START_CPU_S + 20_000 * MESSAGE_CPU_S, rel=0.2
    )


def test_a_player_costs_the_medium_at_its_best() -> None:
    stream = sessions.STREAM_JOB.only.workload
    assert stream.kind == "stream"
    megabytes = stream.qualities[-1].segment_bytes * stream.watch_ns / stream.segment_ns / 1e6
    kind = sessions.STREAM_JOB.only.transport.kind
    assert expected_cpu_s([sessions.STREAM_JOB]) == pytest.approx(
        START_CPU_S + megabytes * TRANSPORTS[kind].cpu_s_per_mb, rel=1e-3
    )


def test_a_browser_costs_more_than_what_it_loads() -> None:
    page = {"kind": "page", "page": "nam-2021"}
    own = job_of("tls", workload=page)
    browser = job_of("tls", workload=page | {"client": "chromium", "server": "caddy"})
    twice = job_of(
        "tls", workload=page | {"client": "chromium", "server": "caddy", "visit": "second"}
    )
    assert expected_cpu_s([own]) < 1 < expected_cpu_s([browser]) < expected_cpu_s([twice])


def test_each_further_program_of_a_network_costs_more() -> None:
    job = job_from_json((GOLDEN / "job-command-network.json").read_text())
    assert len(WORKLOADS["command"].further_hosts(job.only)) == 1
    assert expected_cpu_s([job]) == START_CPU_S + 2 * PROGRAM_CPU_S


def test_more_cpus_than_runs_do_not_shorten_them() -> None:
    assert Expected(1, 3, 1, 10.0).wall_s(10**12) == Expected(1, 3, 1, 10.0).wall_s(2) == 5.0
    assert Expected(1, 3, 3, 2.0).wall_s(4) == 2.0
