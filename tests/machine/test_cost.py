"""About how much CPU time runs take."""

from __future__ import annotations

import pytest

import sessions
from netwarp.machine.cost import START_CPU_S, expected_cpu_s
from netwarp.transports import TRANSPORTS
from support import job_of


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


def test_a_player_costs_the_medium_at_its_best() -> None:
    stream = sessions.STREAM_JOB.workload
    assert stream.kind == "stream"
    megabytes = stream.qualities[-1].segment_bytes * stream.watch_ns / stream.segment_ns / 1e6
    kind = sessions.STREAM_JOB.transport.kind
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
