"""Accurate ECN on the wire, and who is in DualPI2's low-latency queue."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from guest.lab import run_study_cells
from guest.tshark import fields

AE, CWR, ECE, SYN, ACK = 0x100, 0x80, 0x40, 0x02, 0x10
PATH: dict[str, Any] = {"rtt": "20ms", "rate": "20mbit", "queue": "8bdp", "discipline": "dualpi2"}
DCTCP = {"kind": "tcp", "label": "dctcp", "congestion": "dctcp", "ecn": True}


def handshake(place: Path, ip: int, **transport: Any) -> list[int]:
    """Give the flags of a connection's first SYN and of the answer."""
    sender = {"kind": "tcp", "label": "tcp", **transport}
    path = PATH | {"ip": ip}
    (run,) = run_study_cells(place, path, transports=[sender], size="10kB", capture=True)
    asked = 'tcp.flags.syn == 1 && frame.interface_name == "client-side-in"'
    answered = 'tcp.flags.syn == 1 && frame.interface_name == "server-side-in"'
    flags = [fields(run.path, "tcp.flags", only=each)[0][0] for each in (asked, answered)]
    return [int(each, 16) for each in flags]


@pytest.mark.parametrize("ip", [4, 6])
def test_accurate_ecn_is_offered_and_accepted(tmp_path: Path, ip: int) -> None:
    """RFC 9768, section 3.1: the SYN has AE, CWR and ECE; the SYN/ACK's say what the SYN met."""
    syn, answer = handshake(tmp_path, ip, ecn=True, accurate_ecn=True)
    assert syn == SYN | AE | CWR | ECE
    # The SYN was not ECN-capable: 0b010 (table 2).
    assert answer == SYN | ACK | CWR


def test_ecn_of_rfc_3168_is_as_it_was(tmp_path: Path) -> None:
    assert handshake(tmp_path, 4, ecn=True) == [SYN | CWR | ECE, SYN | ACK | ECE]


def test_dctcp_waits_less_in_the_low_latency_queue(tmp_path: Path) -> None:
    """The low-latency queue marks from 1 ms on, the other aims at 15 ms (sch_dualpi2.c)."""
    waits_s = {}
    for queue in ("ect1", "ect"):
        path = PATH | {"l4s_queue": queue}
        (run,) = run_study_cells(tmp_path / queue, path, transports=[DCTCP], size="20MB")
        waits_s[queue] = run.metrics["queue_delay_s_p99"]
        assert run.metrics["marked_packets"] > 0
    assert waits_s["ect"] < 5e-3 < waits_s["ect1"]
