"""A study in virtual time held against the same one in real time, as a user does it."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("cryptography")

from native.two_hosts import NETWARP, SERVER, TIMEOUT_S, Hosts, delaying, pair, serve, stop
from netwarp.backends.guest_files import find_kernel
from netwarp.errors import BackendError

RTT_S, RATE_BIT_S = 0.02, 20_000_000
STUDY = """
title = "Virtual and real"
replicates = 3
[path]
rtt = "20ms"
rate = "20mbit"
[transport]
buffer = "200KiB"
[workload]
kind = "bulk"
size = "300kB"
[factors]
transport = ["tcp", "quic"]
"path.loss" = ["0%", "1%"]
"""
WITHOUT_PATH = STUDY.replace('rtt = "20ms"\nrate = "20mbit"\n', "").replace(
    '"path.loss" = ["0%", "1%"]\n', ""
)


@pytest.fixture(scope="module")
def virtual(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A place with the study and its run directory in virtual time, `virtual`."""
    try:
        find_kernel()
    except BackendError as error:
        pytest.skip(str(error))
    place = tmp_path_factory.mktemp("verified")
    (place / "study.toml").write_text(STUDY)
    done = netwarp(place, "run", "study.toml", "--out", "virtual")
    assert done.returncode == 0, done.stderr
    return place


def netwarp(
    place: Path, *arguments: str, on: list[str | Path] | None = None,
    environ: dict[str, str] | None = None,
) -> subprocess.CompletedProcess[str]:  # fmt: skip
    return subprocess.run(
        [*(on or []), NETWARP, *arguments],
        capture_output=True, text=True, check=False, cwd=place, env=environ, timeout=TIMEOUT_S,
    )  # fmt: skip


def expect_held(done: subprocess.CompletedProcess[str], backend: str) -> dict[str, Any]:
    """Expect an answer for each cell, which real time alone decides, and a status that fits."""
    found: dict[str, Any] = json.loads(done.stdout)
    assert found["backend"] == backend
    assert [cell["factors"]["transport"] for cell in found["cells"]] == ["tcp", "quic"]
    for cell in found["cells"]:
        assert cell["answer"] in ("agrees", "differs", "undecided")
        assert cell["real"]["mean"] > 0
        assert len(cell["real"]["samples"]) == 3
        assert (cell["answer"] == "differs") == bool(cell["reasons"])
    assert found["differs"] + found["agrees"] + found["undecided"] == 2
    assert done.returncode == (1 if found["differs"] else 0), done.stderr
    return found


def test_between_two_hosts_with_a_router_that_delays(
    virtual: Path, hosts: Hosts, tmp_path: Path
) -> None:
    here, there = hosts.on(hosts.client), hosts.on(hosts.server)
    with delaying(hosts, RTT_S / 2, RATE_BIT_S, queue_bytes=50_000):
        served = serve(there, SERVER, tmp_path)
        try:
            where = pair(served, here)
            against = ("verify", "virtual", "--against", "remote", "--server", where)
            refused = netwarp(virtual, *against, on=here, environ=served.environ)
            assert refused.returncode == 2
            assert "--filter path.loss=0%" in refused.stderr
            asked = (*against, "--filter", "path.loss=0%", "--json")
            found = expect_held(netwarp(virtual, *asked, on=here, environ=served.environ), "remote")
        finally:
            stop(served)
    for cell in found["cells"]:
        # The path is what was asked for: a run takes its round trips and its rate at least.
        assert cell["real"]["mean"] > 0.8 * cell["virtual"]["mean"]
    kept = netwarp(virtual, "verify", "virtual", "--against", "virtual-remote")
    assert kept.returncode == 2
    assert "--filter path.loss=0%" in kept.stderr
    again = ("verify", "virtual", "--against", "virtual-remote", "--filter", "path.loss=0%")
    assert expect_held(netwarp(virtual, *again, "--json"), "remote") == found
    shown = netwarp(virtual, *again)
    assert "RTT" in shown.stdout
    assert "2 cells:" in shown.stdout
    assert netwarp(virtual, "show", "virtual-remote").returncode == 0


def test_on_this_hosts_own_kernel(virtual: Path) -> None:
    (virtual / "bare.toml").write_text(WITHOUT_PATH)
    done = netwarp(virtual, "run", "bare.toml", "--out", "bare")
    assert done.returncode == 0, done.stderr
    expect_held(netwarp(virtual, "verify", "bare", "--against", "native", "--json"), "native")
    assert (virtual / "bare-native" / "report.html").is_file()


def test_options_that_would_say_nothing_are_refused(virtual: Path) -> None:
    for options, why in (
        (("--server", "192.0.2.7:4434"), "says something of --against only"),
        (("--against", "remote"), "where is the server"),
        (("--against", "native", "--runs", "3"), "with --against all cells are run"),
        (("--against", "virtual"), "netwarp diff"),
        (("--against", "virtual", "--replicates", "3"), "nothing is run"),
        (("--against", "nowhere"), "not a run directory"),
        (("--against", "native", "--relevant", "much"), "--relevant much"),
    ):
        done = netwarp(virtual, "verify", "virtual", *options)
        assert done.returncode == 2, done.stdout
        assert why in done.stderr
