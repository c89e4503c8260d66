"""All workloads between two hosts, here the loopback device, and what a host without SCTP says."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("cryptography")

from native.two_hosts import NETWARP, TIMEOUT_S, Served, pair, serve, stop
from netwarp.backends.guest_files import find_endpoint
from netwarp.backends.native import probe_host

PAGE = """
kind = "page"
page = "nam-2021"
"""
STREAM = """
kind = "stream"
watch = "1s"
segments = 3
segment = "500ms"
qualities = { low = "10kB", middle = "20kB", high = "40kB" }
"""
FLOW = """
kind = "flow"
payload = "500B"
interval = "2ms"
count = 200
"""
RR = """
kind = "rr"
request = "100B"
response = "1000B"
interval = "5ms"
count = 100
"""
BULK_UP = """
kind = "bulk"
size = "20MB"
direction = "up"
"""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Served, str, Path]]:
    place = tmp_path_factory.mktemp("workloads")
    served = serve([], "127.0.0.1", place)
    try:
        yield served, pair(served, []), place
    finally:
        stop(served)


def run(
    server: tuple[Served, str, Path],
    name: str,
    workload: str,
    levels: list[str],
    factor: str = "transport",
) -> subprocess.CompletedProcess[str]:
    served, where, place = server
    (place / f"{name}.toml").write_text(
        f"title = {name!r}\nreplicates = 1\n[transport]\nbuffer = '200KiB'\n"
        f"[workload]{workload}\n[factors]\n{factor!r} = {levels}\n"
    )
    return subprocess.run(
        [
            NETWARP, "run", f"{name}.toml", "--backend", "remote", "--server", where,
            "--out", name, "--json",
        ],
        capture_output=True, text=True, check=False, cwd=place, env=served.environ,
        timeout=TIMEOUT_S,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("name", "workload", "levels", "metric"),
    [
        ("page", PAGE, ["2", "3"], "page_load_time_s"),
        ("stream", STREAM, ["tcp", "quic"], "startup_delay_s"),
        ("flow-down", FLOW, ["udp", "tcp", "quic"], "message_throughput_bit_s"),
        ("flow-up", FLOW + "direction = 'up'", ["udp", "tcp", "quic"], "message_throughput_bit_s"),
        ("rr", RR, ["udp", "tcp", "tls", "quic"], "rr_latency_s_p50"),
        ("upload", BULK_UP, ["tcp", "quic"], "completion_time_s"),
    ],
)
def test_a_workload_between_two_hosts(
    server: tuple[Served, str, Path], name: str, workload: str, levels: list[str], metric: str
) -> None:
    factor = "workload.http" if name == "page" else "transport"
    done = run(server, name, workload, levels, factor)
    assert done.returncode == 0, done.stdout + done.stderr
    cells: list[dict[str, Any]] = json.loads(done.stdout)["cells"]
    assert [cell["factors"][factor] for cell in cells] == levels
    for cell in cells:
        assert cell["failed"] == 0
        assert cell["estimates"][metric]["mean"] > 0
        if name.startswith("flow"):
            assert cell["estimates"]["message_loss_ratio"]["mean"] == 0
        if name == "rr":
            assert cell["estimates"]["lost_responses"]["mean"] == 0


def test_sctp_goes_where_both_kernels_have_it(server: tuple[Served, str, Path]) -> None:
    done = run(server, "sctp", "\nkind = 'bulk'\nsize = '100kB'", ["sctp"])
    missing = probe_host(find_endpoint()).missing_sctp
    if missing is None:
        assert done.returncode == 0, done.stderr
    else:
        assert done.returncode == 2
        assert missing in json.loads(done.stdout)["error"]["message"]
