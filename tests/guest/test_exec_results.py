"""What `netwarp exec` prints of a run, and what programs find of clocks and of the router."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

NETWARP = Path(sys.executable).with_name("netwarp")
PYTHON = Path(sys.executable).resolve()
WAITS = ("--server", "echo up; sleep 1000", "--ready", "line:up")
# Nothing listens there, so the router answers that the port is unreachable.
KNOCKS = """
import socket
knocking = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
knocking.connect(("router", 9))
for _ in range(3):
    knocking.send(b"anybody?")
    try:
        knocking.recv(1)
    except ConnectionRefusedError:
        print("refused")
"""
FLOODS = """
import socket
sending = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for _ in range(300):
    sending.sendto(bytes(1000), ("server", 9))
"""


def run_exec(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [NETWARP, "exec", *arguments], cwd=folder, capture_output=True, text=True, check=False
    )


def told(folder: Path, *arguments: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(run_exec(folder, "--json", *arguments).stdout)
    return found


def test_the_clients_time_is_what_is_printed(tmp_path: Path) -> None:
    server = ("--server", "sleep 3; echo up; sleep 1000", "--ready", "line:up")
    done = run_exec(tmp_path, *server, "--", "sleep", "0.25")
    assert "exec: the client ran 0.25" in done.stderr
    assert " s on the run's clock in all" in done.stderr


def test_lost_packets_are_told_from_those_that_found_a_queue_full(tmp_path: Path) -> None:
    path = ("--rate", "10mbit", "--queue", "20p", "--loss-up", "10%")
    done = run_exec(tmp_path, *path, *WAITS, "--", str(PYTHON), "-c", FLOODS)
    assert done.returncode == 0, done.stderr
    up = done.stderr.partition(" packets up (")[2].partition(")")[0]
    lost, full = (int(part.split()[0]) for part in up.split(", "))
    assert up.endswith("queue full")
    # Of 300 sent at once, some 30 are lost, and no more than 20 and those on the way find room.
    assert 10 < lost < 60
    assert full > 150


def test_an_object_tells_all_of_both_programs(tmp_path: Path) -> None:
    server = ("--server", "echo up; echo wrong >&2; sleep 1000", "--ready", "line:up")
    found = told(tmp_path, *server, "--", "sh", "-c", "echo out; echo err >&2; exit 3")
    assert (found["client"]["stdout"], found["client"]["stderr"]) == ("out\n", "err\n")
    assert found["client"]["exit_status"] == 3
    assert found["server"]["stderr"] == "wrong\n", "it did not end, and has printed"
    assert found["server"]["exit_status"] is None


def test_an_object_tells_of_a_client_that_never_ran(tmp_path: Path) -> None:
    found = told(tmp_path, "--server", "echo why >&2; exit 4", "--", "true")
    assert found["server"]["stderr"] == "why\n"
    assert (found["client"]["started_ns"], found["client"]["stdout"]) == (None, "")


def test_counts_are_whole_numbers(tmp_path: Path) -> None:
    metrics = told(tmp_path, *WAITS, "--", "true")["metrics"]
    assert isinstance(metrics["wire_packets_up"], int)
    assert isinstance(metrics["path_dropped_down"], int)
    assert isinstance(metrics["run_time_s"], float)


@pytest.mark.parametrize(
    ("server", "client", "words"),
    [
        ("echo up; sleep 1000", "sleep 77", "the client's program still ran: sleep 77"),
        ("sleep 55; echo up", "true", "the server's program was not ready: /bin/sh -c sleep 55"),
    ],
)
def test_a_limit_names_who_is_waited_for(
    tmp_path: Path, server: str, client: str, words: str
) -> None:
    limit = ("--timeout", "5", "--server", server, "--ready", "line:up")
    done = run_exec(tmp_path, *limit, "--", *client.split())
    assert done.returncode == 1
    assert f"was not over after 5 virtual seconds; {words}" in done.stderr


def test_programs_start_on_a_machine_that_has_been_up_for_a_while(tmp_path: Path) -> None:
    done = run_exec(tmp_path, *WAITS, "--", "cat", "/proc/uptime")
    assert 600 <= float(done.stdout.split()[0]) < 601, done.stderr


def test_the_date_is_fixed_or_given(tmp_path: Path) -> None:
    client = ("--", "date", "-u", "+%F %H:%M")
    assert run_exec(tmp_path, *WAITS, *client).stdout == "2027-01-01 00:00\n"
    given = run_exec(tmp_path, "--start-date", "2026-11-23T12:30:00", *WAITS, *client)
    assert given.stdout == "2026-11-23 12:30\n", given.stderr


def test_a_certificate_of_today_is_valid(tmp_path: Path) -> None:
    openssl = shutil.which("openssl")
    if openssl is None:
        pytest.skip("no openssl: `apt-get install openssl`")
    made = "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 90 -subj /CN=server"
    keys = ("-keyout", "key.pem", "-out", "cert.pem")
    subprocess.run([openssl, *made.split(), *keys], cwd=tmp_path, check=True, capture_output=True)
    tomorrow = (datetime.now(UTC) + timedelta(days=1)).strftime("%Y-%m-%d")
    server = "exec openssl s_server -accept 443 -cert cert.pem -key key.pem -www"
    fetch = "openssl s_client -connect server:443 -CAfile cert.pem -verify_return_error </dev/null"
    command = ("--start-date", tomorrow, "--server", server)
    done = run_exec(tmp_path, *command, "--", "sh", "-c", fetch)
    assert "Verify return code: 0 (ok)" in done.stdout, done.stderr


def test_what_the_router_answers_adds_up(tmp_path: Path) -> None:
    path = ("--rtt", "20ms", "--loss", "1%")
    done = run_exec(tmp_path, *path, *WAITS, "--", str(PYTHON), "-c", KNOCKS)
    assert (done.returncode, done.stdout) == (0, "refused\n" * 3), done.stderr


def test_an_address_that_a_program_adds_is_no_hindrance(tmp_path: Path) -> None:
    if shutil.which("ip") is None:
        pytest.skip("no ip: `apt-get install iproute2`")
    add = "ip address add 10.0.1.9/24 dev path0"
    ask = "socket.create_connection(('server', 80), source_address=('10.0.1.9', 0))"
    server = ("--server", f"exec {PYTHON} -m http.server 80")
    client = ("--", "sh", "-ec", f'{add}; {PYTHON} -c "import socket; {ask}; print(1)"')
    done = run_exec(tmp_path, "--rtt", "20ms", *server, *client)
    assert (done.returncode, done.stdout) == (0, "1\n"), done.stderr


def test_a_run_that_failed_tells_what_was_measured_until_then(tmp_path: Path) -> None:
    fails = "printf knock >/dev/udp/router/9; sleep 0.5; exit 3"
    found = told(tmp_path, "--rtt", "20ms", *WAITS, "--", "bash", "-c", fails)
    assert found["exit_status"] == 3
    assert "exited with status 3" in found["failure"]
    measured = found["metrics"]
    assert 0.5 <= measured["run_time_s"] < 0.6
    assert measured["wire_packets_up"] == 1
    assert found["runs"][0]["metrics"] == measured
