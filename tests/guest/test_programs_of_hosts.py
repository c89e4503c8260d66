"""Programs on several hosts of a network: their order, their files, their names and their times."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from guest.lab import Measured, run_study
from netwarp.plan import plan_study
from netwarp.study import study_from_mapping
from netwarp.wire import OfWorkload, Program

RELAY = """
import socket, threading
def copy(source, target):
    while data := source.recv(65536):
        target.sendall(data)
    target.shutdown(socket.SHUT_WR)
listener = socket.create_server(("", 8080))
while True:
    inside, _ = listener.accept()
    outside = socket.create_connection(("server", 80))
    for pair in ((inside, outside), (outside, inside)):
        threading.Thread(target=copy, args=pair, daemon=True).start()
"""
SERVE = "head -c 1000 /dev/zero > file; hostname > name; exec python3 -m http.server 80"
GET = """cat /etc/hosts; hostname; ls
curl -sS -o /dev/null -w '{"total_s": %{time_total}}\\n' http://proxy:8080/file"""
LINKS: list[dict[str, Any]] = [
    {"between": ["client", "near"], "rtt": "20ms"},
    {"between": ["proxy", "near"]},
    {"between": ["near", "far"], "rtt": "100ms", "name": "long"},
    {"between": ["far", "server"]},
]


def run(place: Path, **changed: Any) -> Measured:
    """Run a client, a proxy on its side of a long link, and a server beyond it."""
    directory = place.parent / "programs"
    directory.mkdir(exist_ok=True)
    (directory / "relay.py").write_text(RELAY)
    workload = {
        "name": "get",
        "kind": "command",
        "from": "client",
        "to": "server",
        "directory": str(directory),
        "server": SERVE,
        "client": GET,
        "ready": "port:80",
        "keep": True,
        "program": [{"host": "proxy", "command": "python3 relay.py", "ready": "port:8080"}],
        "metrics": {"total_s": {"json": "total_s"}},
    }
    study = study_from_mapping(
        {
            "title": "programs",
            "replicates": 1,
            "host": [{"name": name} for name in ("client", "proxy", "server")],
            "router": [{"name": "near"}, {"name": "far"}],
            "link": changed.pop("link", LINKS),
            "workload": [workload | changed],
        }
    )
    (found,) = run_study(plan_study(study), place, jobs=1)
    return found


def programs(found: Measured) -> dict[str, Program]:
    lines = (each.line for each in found.records if isinstance(each, OfWorkload))
    return {each.host or "": each for each in lines if isinstance(each, Program)}


def test_a_proxy_adds_its_round_trips_and_each_host_is_by_itself(tmp_path: Path) -> None:
    """The client connects to the proxy (20 ms), its request is there after 10 ms; the proxy
    connects to the server (100 ms), and sends the request for the answer (100 ms), which is at the
    client after 10 ms more.
    """
    found = run(tmp_path / "first")
    assert found.status.outcome == "ok", found.status.reason
    assert found.metrics["get.total_s"] == pytest.approx(0.240, abs=0.001)
    by_host = programs(found)
    client, proxy, server = (by_host[name] for name in ("client", "proxy", "server"))
    assert (client.side, proxy.side, server.side) == ("client", "server", "server")
    assert server.ready_ns is not None
    assert proxy.ready_ns is not None
    assert server.ready_ns <= proxy.started_ns
    assert proxy.ready_ns <= client.started_ns
    assert (client.exit_status, proxy.signal, server.signal) == (0, 15, 15)
    lines = client.stdout.splitlines()
    resolved = {line.split()[1]: line.split()[0] for line in lines if " " in line and "." in line}
    assert {"client", "proxy", "server"} <= set(resolved)
    assert len({resolved[name] for name in ("client", "proxy", "server")}) == 3
    assert "client" in lines, "its host name"
    assert "file" not in lines, "what the server wrote is the server's"
    assert (found.path / "proxy.stdout").exists()
    (written,) = (found.path / "written" / "server").rglob("name")
    assert written.read_text() == "server\n"
    assert run(tmp_path / "second").records == found.records


def test_a_program_that_fails_or_never_gets_ready_is_named(tmp_path: Path) -> None:
    failing = {"host": "proxy", "command": "echo no such port >&2; exit 3", "ready": "port:1"}
    found = run(tmp_path / "failing", program=[failing])
    assert found.status.outcome == "failed"
    assert "the program of the host proxy exited with status 3" in (found.status.reason or "")
    assert "no such port" in (found.status.reason or "")
    waiting = {"host": "proxy", "command": "sleep 1000", "ready": "line:up"}
    late = run(tmp_path / "waiting", program=[waiting])
    assert "the program of the host proxy was not ready after 60 seconds" in (
        late.status.reason or ""
    )


def test_a_partition_on_the_timeline_stands_between_programs(tmp_path: Path) -> None:
    """From 100 ms to 2 s the long link is out: the proxy's handshake waits for TCP's second
    retransmission, a second after the first (`tcp_syn_linear_timeouts`) and a tick or two.
    """
    out = [{"at": "100ms", "change": "outage"}, {"at": "2s", "change": "restore"}]
    links = [link | {"timeline": out} if link.get("name") == "long" else link for link in LINKS]
    found = run(tmp_path / "cut", link=links, client=f"sleep 0.2; {GET}")
    assert found.status.outcome == "ok", found.status.reason
    assert 2.24 <= found.metrics["get.total_s"] < 2.4
