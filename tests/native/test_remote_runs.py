"""Runs between two hosts: network namespaces with a router in between, and the loopback device."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("cryptography")

from native.two_hosts import (
    CLIENT,
    NETWARP,
    SERVER,
    TIMEOUT_S,
    Hosts,
    Served,
    free_port,
    pair,
    serve,
    stop,
)
from netwarp.backends.guest_files import find_endpoint
from netwarp.backends.remote.admission import Limits
from netwarp.backends.remote.role import ServerRole
from netwarp.library import open_run
from netwarp.run_directory import RECORDS_FILE
from netwarp.wire import Connection, PathMeasurement, Start, Transfer, Usage, read_records
from remote.jobs import job

STUDY = """
title = "Between two hosts"
replicates = 2
[transport]
buffer = "200KiB"
[workload]
kind = "bulk"
size = "300kB"
[factors]
transport = ["tcp", "tls", "quic"]
"workload.chunks" = [1, 3]
"""


def run(
    served: Served, command: list[str | Path], where: str, place: Path, *options: str
) -> subprocess.CompletedProcess[str]:
    (place / "study.toml").write_text(STUDY)
    return subprocess.run(
        [
            *command, NETWARP, "run", "study.toml", "--backend", "remote", "--server", where,
            "--out", "out", *options,
        ],
        capture_output=True, text=True, check=False, cwd=place, env=served.environ,
        timeout=TIMEOUT_S,
    )  # fmt: skip


def expect_whole_runs(out: Path, runs: int) -> None:
    directories = sorted((out / "runs").glob("c*"))
    assert len(directories) == runs
    for directory in directories:
        records = read_records(directory / RECORDS_FILE)
        assert [each.clock for each in records if isinstance(each, Start)] == ["real"]
        measured = [each for each in records if isinstance(each, PathMeasurement)]
        assert [each.moment for each in measured] == ["before", "after"]
        for each in measured:
            assert each.received > 0
            assert each.clock_uncertainty_ns is not None
        hashes = {each.sha256 for each in records if isinstance(each, Transfer)}
        assert len(hashes) in (1, 3)
        assert None not in hashes
        for kind in (Connection, Usage, Transfer):
            assert {each.side for each in records if isinstance(each, kind)} == {"client", "server"}


@pytest.mark.parametrize("place", ["loopback", "namespaces"])
def test_a_study_between_two_hosts(
    place: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    here: list[str | Path] = []
    there: list[str | Path] = []
    address = "127.0.0.1"
    if place == "namespaces":
        hosts: Hosts = request.getfixturevalue("hosts")
        here, there, address = hosts.on(hosts.client), hosts.on(hosts.server), SERVER
    served = serve(there, address, tmp_path)
    try:
        where = pair(served, here)
        done = run(served, here, where, tmp_path, "--json")
        assert done.returncode == 0, done.stderr
        expect_whole_runs(tmp_path / "out", 12)
        cells: list[dict[str, Any]] = json.loads(done.stdout)["cells"]
        assert {cell["failed"] for cell in cells} == {0}
        again = run(served, here, where, tmp_path)
        assert again.returncode == 0, again.stderr
        refused = run(served, here, where, tmp_path, "--set", "path.rtt=10ms", "--out", "another")
        assert refused.returncode == 2
        assert "which is for the receiving host to impose" in refused.stderr
    finally:
        stop(served)
    assert "12 runs" in served.told[-1]
    results = open_run(tmp_path / "out").data.results
    for run_result in results.runs:
        for metric in ("path_min_rtt_s", "clock_uncertainty_s"):
            value = run_result.metrics[metric]
            assert value is not None
            assert value < 0.1


def test_a_server_that_goes_leaves_what_was_measured_and_the_same_command_goes_on(
    tmp_path: Path,
) -> None:
    served = serve([], "127.0.0.1", tmp_path)
    where = pair(served, [])
    (tmp_path / "study.toml").write_text(STUDY)
    client = subprocess.Popen(
        [NETWARP, "run", "study.toml", "--backend", "remote", "--server", where, "--out", "out"],
        cwd=tmp_path, env=served.environ, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    while len(list((tmp_path / "out" / "runs").glob("c*"))) < 2:
        assert client.poll() is None, client.communicate()
    served.process.kill()
    served.process.communicate()
    _, errors = client.communicate(timeout=TIMEOUT_S)
    assert client.returncode == 2, errors
    assert "is gone" in errors
    assert "the same command goes on" in errors
    kept = {path: path.stat().st_mtime_ns for path in (tmp_path / "out" / "runs").glob("c*")}
    assert 2 <= len(kept) < 12
    port = where.rpartition(":")[2]
    environ = {**os.environ, "NETWARP_IDENTITY": str(tmp_path / "server")}
    again = subprocess.Popen(
        [NETWARP, "serve", "--listen", f"127.0.0.1:{port}", "--data-port", str(free_port())],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environ, cwd=tmp_path,
    )  # fmt: skip
    try:
        assert again.stdout is not None
        while "to pair" not in again.stdout.readline():
            assert again.poll() is None
        done = run(served, [], where, tmp_path)
        assert done.returncode == 0, done.stderr
        expect_whole_runs(tmp_path / "out", 12)
        assert all(path.stat().st_mtime_ns == at for path, at in kept.items())
    finally:
        again.send_signal(signal.SIGINT)
        again.communicate(timeout=20)


def test_trying_to_impose_leaves_nothing_whatever_the_kernel_lacks(
    tmp_path: Path, hosts: Hosts
) -> None:
    """On a kernel without netem, what comes before it is made and removed."""
    here = hosts.on(hosts.client)
    endpoint = find_endpoint()

    def links_and_qdiscs() -> str:
        show = [*here, "sh", "-c", "ip link; tc qdisc show; tc filter show dev c0 ingress"]
        return subprocess.run(show, capture_output=True, text=True, check=True).stdout

    def tried(address: str) -> subprocess.CompletedProcess[str]:
        options = ["--address", address, "--peer", SERVER, "--data-port", "4433"]
        command = [*here, endpoint, "impose", "--check", "--direction", "down", *options]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    before = links_and_qdiscs()
    done = tried(CLIENT)
    assert links_and_qdiscs() == before
    assert done.returncode == 0 or "as root there" in done.stderr
    assert "lo is the loopback device" in tried("127.0.0.1").stderr
    assert "no device has the address 192.0.2.1" in tried("192.0.2.1").stderr


def test_a_stranger_on_the_data_port_is_not_heard_and_the_run_goes_on(tmp_path: Path) -> None:
    port = free_port()
    role = ServerRole(
        find_endpoint(), job(), ("127.0.0.1", port), "127.0.0.1", "00112233445566ff", Limits()
    )
    try:
        role.begin(0)
        said = role.said()
        assert said is not None
        assert json.loads(said[0])["message"] == "ready"
        with socket.socket() as elsewhere:
            elsewhere.bind(("127.0.0.9", 0))
            elsewhere.settimeout(0.3)
            with pytest.raises(TimeoutError):
                elsewhere.connect(("127.0.0.1", port))
        with socket.create_connection(("127.0.0.1", port), 10) as stranger:
            stranger.sendall(b"netwarp\x03" + bytes(29))
            assert stranger.recv(1) == b""
        role.finish()
        messages = []
        while (lines := role.said()) is not None:
            messages += [json.loads(line)["message"] for line in lines]
        assert messages[-1] == "done"
        assert role.how_it_ended() is None
    finally:
        role.close()
