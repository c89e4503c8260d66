"""Runs over IPv6: what the path delivers is what was asked for, as over IPv4, and nothing is sent
besides the traffic.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from guest.lab import run_study, run_study_cells
from guest.tshark import fields
from netwarp.plan import plan_study
from netwarp.run_directory import RECORDS_FILE
from netwarp.study import study_from_mapping
from netwarp.wire import Calibration, OfWorkload, Probe

NETWARP = Path(sys.executable).with_name("netwarp")

FAMILIES = (4, 6)
TRANSPORTS = ("tcp", "tls", "sctp", "quic")
HEADER_BYTES = {4: 20, 6: 40}
FLOW: dict[str, Any] = {"kind": "flow", "interval": "1ms", "count": 500, "payload": "1000B"}


@pytest.mark.parametrize("transport", [*TRANSPORTS, "udp"])
def test_delay_rate_and_loss_are_delivered_over_both(tmp_path: Path, transport: str) -> None:
    """Losses by number: of n packets offered, n // 50 are lost, whichever they are."""
    for ip in FAMILIES:
        path = {
            "ip": ip,
            "rtt": "20ms",
            "rate": "20mbit",
            "loss": "every 50",
            "loss_up": "every 33",
        }
        workload = FLOW if transport == "udp" else {"size": "1MB"}
        (run,) = run_study_cells(tmp_path / str(ip), path, transports=[transport], **workload)
        for direction, every in (("down", 50), ("up", 33)):
            counted = run.calibration(direction)
            assert counted.lost_packets == counted.offered_packets // every, (ip, direction)
        (probe,) = (each for each in run.records if isinstance(each, Probe))
        frame_ns = 8 * (14 + HEADER_BYTES[ip] + 8 + 4) * 1e9 / 20e6
        assert probe.min_rtt_ns == pytest.approx(20e6 + 2 * frame_ns, abs=2e3), ip


def test_a_datagram_is_longer_by_twenty_bytes_and_by_nothing_else(tmp_path: Path) -> None:
    delivered_bytes = {}
    for ip in FAMILIES:
        path = {"ip": ip, "rtt": "20ms"}
        (run,) = run_study_cells(tmp_path / str(ip), path, transports=["udp"], **FLOW)
        counted = run.calibration("down")
        assert counted.delivered_packets == 500, "one for each message"
        delivered_bytes[ip] = counted.delivered_bytes
    assert delivered_bytes[6] - delivered_bytes[4] == 20 * 500


def test_tcp_fills_a_bottleneck_less_its_headers(tmp_path: Path) -> None:
    """Of each full frame 1514 bytes are paid for, and 1500 less the headers of IP and TCP with
    timestamps are content.
    """
    for ip in FAMILIES:
        path = {"ip": ip, "rtt": "1ms", "rate": "20mbit", "queue": "1000p"}
        (run,) = run_study_cells(tmp_path / str(ip), path, transports=["tcp"], size="10MB")
        content_bytes = 1500 - HEADER_BYTES[ip] - 20 - 12
        best_bit_s = 20e6 * content_bytes / 1514
        assert run.connection("server").settings.mss_bytes == content_bytes
        assert run.metrics["goodput_bit_s"] == pytest.approx(best_bit_s, rel=0.003), ip
        assert run.metrics["goodput_bit_s"] < best_bit_s


@pytest.mark.parametrize("kind", ["mptcp", "sctp"])
def test_two_paths_of_ipv6_are_used(tmp_path: Path, kind: str) -> None:
    """MPTCP uses both at once, SCTP the other one when the first is cut."""
    homed = {"kind": "sctp", "multihomed": True, "buffer": "256kB", "label": "homed"}
    path: dict[str, Any] = {"ip": 6, "rtt": "50ms", "rate": "20mbit", "queue": "4bdp"}
    path["second"] = {"rtt": "50ms"}
    if kind == "sctp":
        path["timeline"] = [{"at": "10s", "change": "outage"}]
    (run,) = run_study_cells(
        tmp_path,
        path,
        transports=["mptcp" if kind == "mptcp" else homed],
        size="10MB" if kind == "mptcp" else "40MB",
    )
    counted = [each for each in run.records if isinstance(each, Calibration)]
    delivered_bytes = [each.delivered_bytes for each in counted if each.direction == "down"]
    assert min(delivered_bytes) > 3_000_000


def test_pairs_of_a_dumbbell_have_their_distance(tmp_path: Path) -> None:
    workloads = [
        {"name": name, "kind": "bulk", "transport": "tcp", "size": "300kB"}
        for name in ("near", "far")
    ]
    study = study_from_mapping(
        {
            "title": "guest test",
            "replicates": 1,
            "path": {"ip": 6, "rate": "20mbit", "loss": "0.1%"},
            "topology": {"shape": "dumbbell", "rtts": ["20ms", "160ms"]},
            "workload": workloads,
        }
    )
    (run,) = run_study(plan_study(study), tmp_path, jobs=1)
    assert run.status.outcome == "ok", run.status.reason
    probes = [
        each.line.min_rtt_ns
        for each in run.records
        if isinstance(each, OfWorkload) and isinstance(each.line, Probe)
    ]
    assert probes == [pytest.approx(20e6, abs=1e5), pytest.approx(160e6, abs=1e5)]
    links = [each for each in run.records if isinstance(each, Calibration)]
    offered = {(each.path, each.direction): each.offered_packets for each in links}
    assert offered[0, "down"] == offered[3, "down"] + offered[4, "down"], "what servers sent"
    assert offered[0, "up"] == offered[1, "up"] + offered[2, "up"], "what clients sent"


def test_programs_find_each_other_by_name_and_ask_the_router(tmp_path: Path) -> None:
    """What the router answers itself is counted apart, as with IPv4."""
    python = Path(sys.executable).resolve()
    serve = f"exec {python} -m http.server --bind :: 80"
    client = (
        "import socket, urllib.request as fetch\n"
        "content = fetch.urlopen('http://server/content').read()\n"
        "print(socket.getaddrinfo('server', 80)[0][4][0], len(content))\n"
        "try: socket.create_connection(('router', 80))\n"
        "except ConnectionRefusedError: print('refused')\n"
    )
    over = ("--ip", "6", "--rtt", "100ms")
    (tmp_path / "content").write_bytes(bytes(100_000))
    done = subprocess.run(
        [NETWARP, "exec", *over, "--server", serve, "--json", "--", python, "-c", client],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["client"]["stdout"] == "2001:db8:0:2::1 100000\nrefused\n"
    assert told["metrics"]["path_min_rtt_s"] == pytest.approx(0.1, abs=0.001)


@pytest.mark.parametrize("transport", TRANSPORTS)
def test_packets_of_a_flow_are_followed_through_the_router(tmp_path: Path, transport: str) -> None:
    (run,) = run_study_cells(tmp_path, {"ip": 6, "rtt": "20ms"}, transports=[transport], **FLOW)
    assert run.metrics["delay_mean_s"] == pytest.approx(0.010, abs=0.0005)
    assert run.metrics["loss_ratio"] == 0


def test_nothing_but_the_traffic_is_sent(tmp_path: Path) -> None:
    (run,) = run_study_cells(tmp_path, {"ip": 6, "rtt": "20ms"}, transports=["tcp"], capture=True)
    found = fields(run.path, "ipv6.nxt", "ipv6.src", "ipv6.dst")
    assert {nxt for nxt, *_ in found} == {"6"}, "something else than TCP is sent"
    hosts = {"2001:db8:0:1::1", "2001:db8:0:2::1"}
    assert {address for _, *ends in found for address in ends} == hosts


def test_a_seed_gives_the_same_bytes_twice(tmp_path: Path) -> None:
    path = {"ip": 6, "rtt": "40ms", "jitter": "2ms", "loss": "3%", "rate": "20mbit"}
    first, second = (
        [
            (run.path / RECORDS_FILE).read_bytes()
            for run in run_study_cells(tmp_path / place, path, transports=TRANSPORTS, size="300kB")
        ]
        for place in ("a", "b")
    )
    assert first == second


def test_with_both_versions_programs_choose_and_own_ends_take_ipv6(tmp_path: Path) -> None:
    python = Path(sys.executable).resolve()
    serve = f"exec {python} -m http.server --bind :: 80"
    client = (
        "import socket, time\n"
        "for family in (socket.AF_INET, socket.AF_INET6):\n"
        "    (address, *_), *_ = [each[4] for each in socket.getaddrinfo('server', 80, family)]\n"
        "    begun_s = time.monotonic()\n"
        "    socket.create_connection((address, 80)).close()\n"
        "    print(address, round(time.monotonic() - begun_s, 2))\n"
        "print(len({each[4][0] for each in socket.getaddrinfo('router', 80)}))\n"
        "try: socket.create_connection(('10.0.1.254', 80))\n"
        "except ConnectionRefusedError: print('refused')\n"
    )
    over = ("--ip", "dual", "--rtt", "100ms")
    done = subprocess.run(
        [NETWARP, "exec", *over, "--server", serve, "--json", "--", python, "-c", client],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    printed = json.loads(done.stdout)["client"]["stdout"]
    assert printed == "10.0.2.1 0.1\n2001:db8:0:2::1 0.1\n2\nrefused\n"
    (own,) = run_study_cells(
        tmp_path / "own", {"ip": "dual", "rtt": "20ms"}, transports=["tcp"], capture=True
    )
    found = fields(own.path, "ipv6.nxt", "ip.proto")
    assert set(found) == {("6", "")}, "TCP over IPv6, and nothing else"


def test_hosts_of_a_network_have_both_versions(tmp_path: Path) -> None:
    """Over both, a datagram passes routers of a chain, and comes back."""
    reply = (
        "import socket; s = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)\n"
        "s.bind(('::', 9))\n"
        "while True: s.sendto(*s.recvfrom(99))\n"
    )
    ask = (
        "import socket\n"
        "for family, *_, address in socket.getaddrinfo('server', 9, 0, socket.SOCK_DGRAM):\n"
        "    s = socket.socket(family, socket.SOCK_DGRAM); s.sendto(b'?', address)\n"
        "    print(s.recvfrom(9)[1][0])\n"
    )
    python = str(Path(sys.executable).resolve())
    study = study_from_mapping(
        {
            "title": "guest test",
            "replicates": 1,
            "path": {"ip": "dual", "rate": "20mbit"},
            "topology": {"shape": "chain", "hops": 3},
            "workload": [
                {
                    "name": "asks", "kind": "command", "from": "client", "to": "server",
                    "server": [python, "-c", reply], "ready": "port:9",
                    "client": [python, "-c", ask],
                }
            ],
        },
        folder=tmp_path,
    )  # fmt: skip
    (run,) = run_study(plan_study(study), tmp_path, jobs=1)
    assert run.status.outcome == "ok", run.status.reason
    assert (run.path / "client.stdout").read_text().count("\n") == 2
