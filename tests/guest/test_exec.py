"""`netwarp exec`: programs of the machine over a path, what they see, how they end.

What sleeps here sleeps on the guest's clock, which costs nobody any time.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from netwarp.backends.guest_files import find_kernel
from netwarp.backends.needs import Machine
from netwarp.backends.virtual import CONFINEMENT
from netwarp.errors import BackendError
from netwarp.run_directory import RECORDS_FILE

NETWARP = Path(sys.executable).with_name("netwarp")
# Any Python serves and fetches; a shell cannot.
PYTHON = Path(sys.executable).resolve()
SERVE = f"exec {PYTHON} -m http.server 80"
FETCH = "import sys, urllib.request as r; print(len(r.urlopen(sys.argv[1]).read()))"


def run_exec(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [NETWARP, "exec", *arguments], cwd=folder, capture_output=True, text=True, check=False
    )


def fetch(name: str) -> tuple[str, ...]:
    return ("--", str(PYTHON), "-c", FETCH, f"http://server/{name}")


def test_a_client_fetches_from_a_server_over_the_path(tmp_path: Path) -> None:
    (tmp_path / "content").write_bytes(bytes(2_000_000))
    path = ("--rtt", "100ms", "--rate", "16mbit", "--server", SERVE)
    done = run_exec(tmp_path, *path, "--json", *fetch("content"))
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["client"]["stdout"] == "2000000\n"
    # A second for two million bytes, three round trips before the first of them and slow start.
    assert 1.2 < told["metrics"]["run_time_s"] < 2.0
    assert told["metrics"]["path_min_rtt_s"] == pytest.approx(0.1, abs=0.001)
    assert told["metrics"]["wire_bytes_down"] > 2_000_000


def test_a_seed_gives_the_same_bytes_twice(tmp_path: Path) -> None:
    path = ("--rtt", "20ms", "--loss", "5%", "--server", SERVE, "--seed", "7")
    for place in ("a", "b"):
        done = run_exec(tmp_path, *path, "--out", str(tmp_path / "runs" / place), *fetch(""))
        assert done.returncode == 0, done.stderr
    runs = [tmp_path / "runs" / place / "runs" / "c000-r00" for place in ("a", "b")]
    first, second = ((run / RECORDS_FILE).read_bytes() for run in runs)
    assert first == second
    assert b'"record":"program"' in first


def test_the_clients_output_and_status_are_netwarps(tmp_path: Path) -> None:
    command = ("--", "sh", "-c", "echo out; echo err >&2; exit 3")
    done = run_exec(tmp_path, "--server", SERVE, *command)
    assert done.returncode == 3
    assert done.stdout == "out\n"
    assert "err\n" in done.stderr
    assert "the client's program exited with status 3; the last it said: err" in done.stderr


@pytest.mark.parametrize(
    ("server", "words"),
    [
        ("echo no configuration >&2; exit 4", "exited with status 4 before it was ready"),
        ("sleep 1000", "not ready after 60 seconds of the run's clock: a socket that waits"),
        ("no-such-program", "no-such-program: not found"),
    ],
)
def test_a_server_that_cannot_serve_says_why(tmp_path: Path, server: str, words: str) -> None:
    done = run_exec(tmp_path, "--server", server, "--", "true")
    assert done.returncode == 1
    assert words in done.stderr
    assert "Traceback" not in done.stderr


def test_a_client_that_is_not_there_says_where_it_is_looked_for(tmp_path: Path) -> None:
    done = run_exec(tmp_path, "--server", SERVE, "--", "no-such-program")
    assert done.returncode == 1
    assert "no-such-program: there is no such program" in done.stderr


@pytest.mark.parametrize(
    ("ready", "server"),
    [
        ("line:up and .unning", "sleep 2; echo up and running; sleep 1000"),
        ("file:/run/ready", "sleep 2; touch /run/ready; sleep 1000"),
    ],
)
def test_a_server_says_that_it_is_ready(tmp_path: Path, ready: str, server: str) -> None:
    done = run_exec(tmp_path, "--server", server, "--ready", ready, "--json", "--", "true")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["metrics"]["ready_time_s"] == pytest.approx(2.0, abs=0.02)


def test_programs_see_files_and_leave_none(tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("before")
    script = "cat mine; echo after > mine; cat mine; touch /etc/new; ls /etc/new; ls -A /tmp/home"
    done = run_exec(tmp_path, "--server", SERVE, "--", "sh", "-ec", script)
    assert done.stdout == "beforeafter\n/etc/new\n"
    assert (tmp_path / "mine").read_text() == "before"
    assert not Path("/etc/new").exists()


def test_home_is_the_runs_own_and_the_users_real_one_is_files_like_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = Path(sys.prefix)  # A home below /tmp would not be seen.
    monkeypatch.setenv("NETWARP_KERNEL", str(find_kernel(os.environ).directory))
    monkeypatch.setenv("HOME", str(real))
    before = sorted(os.listdir(real))  # noqa: PTH208
    script = (
        f"ls -A $HOME; ls -A ~; grep -c home {real}/pyvenv.cfg; echo x > $HOME/own; cat ~/own;"
        f" echo x > {real}/new; cat {real}/new; rm {real}/pyvenv.cfg; ls {real}/pyvenv.cfg"
    )
    done = run_exec(tmp_path, "--server", SERVE, "--", "sh", "-c", script)
    assert done.stdout == "1\nx\nx\n", done.stderr
    assert "pyvenv.cfg: No such file" in done.stderr.replace("'", "")
    assert sorted(os.listdir(real)) == before  # noqa: PTH208


def test_a_program_that_mounts_the_machine_cannot_write_to_it(tmp_path: Path) -> None:
    try:
        CONFINEMENT.check(Machine())
    except BackendError as error:
        pytest.skip(str(error))
    (tmp_path / "mine").write_text("before")
    # Root of the guest may mount what its kernel can reach, and look past its own root.
    script = (
        f"mkdir /tmp/host; mount -t hostfs none /tmp/host -o {tmp_path} && cat /tmp/host/mine;"
        f" echo after > /tmp/host/mine; touch /tmp/host/new /proc/1/root{tmp_path}/new"
    )
    done = run_exec(tmp_path, "--server", SERVE, "--", "sh", "-c", script)
    assert done.stdout == "before", "it got as far as reading"
    assert "Read-only file system" in done.stderr
    assert (tmp_path / "mine").read_text() == "before"
    assert not (tmp_path / "new").exists()


def test_programs_have_the_environment_that_was_named(tmp_path: Path) -> None:
    done = run_exec(tmp_path, "--server", SERVE, "--env", "COLOUR=blue", "--", "env")
    names = {line.partition("=")[0] for line in done.stdout.splitlines()}
    assert names == {"PATH", "HOME", "LANG", "TERM", "USER", "LOGNAME", "COLOUR"}


def test_what_a_program_leaves_behind_ends_with_the_run(tmp_path: Path) -> None:
    daemon = f"({PYTHON} -m http.server 80 &) ; exit 0"
    done = run_exec(tmp_path, "--server", daemon, "--", "sh", "-c", "sleep 1000 & echo done")
    assert (done.returncode, done.stdout) == (0, "done\n"), done.stderr


def test_what_programs_write_is_kept_when_it_is_asked_for(tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("before")
    script = "echo after > mine; echo {run} > /etc/new; mkdir -p /tmp/d; ln -s /etc/new /tmp/d/link"
    place = tmp_path / "kept"
    command = ("--keep", "--out", str(place), "--server", SERVE, "--", "sh", "-ec", script)
    done = run_exec(tmp_path, *command)
    assert done.returncode == 0, done.stderr
    written = place / "runs" / "c000-r00" / "written" / "client"
    assert (written / "etc/new").read_text() == "c000-r00\n"
    assert (written / "tmp/d/link").is_symlink()
    assert (written / tmp_path.relative_to("/") / "mine").read_text() == "after\n"
    assert not (written / "etc/hosts").exists()
    assert (tmp_path / "mine").read_text() == "before"


def test_programs_have_the_memory_they_are_given(tmp_path: Path) -> None:
    command = ("--server", SERVE, "--memory", "256MiB", "--", "grep", "MemTotal", "/proc/meminfo")
    done = run_exec(tmp_path, *command)
    assert 200_000 < int(done.stdout.split()[1]) < 262_144, done.stderr


def test_the_router_has_a_name(tmp_path: Path) -> None:
    done = run_exec(tmp_path, "--server", SERVE, "--", "getent", "hosts", "router")
    assert done.stdout.split() == ["10.0.1.254", "router"], done.stderr


def test_a_path_that_goes_away_and_is_captured(tmp_path: Path) -> None:
    (tmp_path / "content").write_bytes(bytes(2_000_000))
    outage = 'path.timeline=[{at="300ms", change="outage"}, {at="2s", change="restore"}]'
    place = tmp_path / "run"
    path = ("--rtt", "50ms", "--rate", "20mbit", "--set", outage, "--set", "capture=pcap")
    command = ("--json", "--out", str(place), "--server", SERVE, *fetch("content"))
    done = run_exec(tmp_path, *path, *command)
    assert done.returncode == 0, done.stderr
    # The outage ends 2 s after the epoch, before which the server got ready.
    assert json.loads(done.stdout)["metrics"]["run_time_s"] > 1.5
    records = (place / "runs" / "c000-r00" / RECORDS_FILE).read_text()
    assert records.count('"record":"event"') == 2
    assert any((place / "runs" / "c000-r00").glob("*.pcap*"))


ADDRESS = """
import socket, time
for _ in range(3):
    with socket.create_connection(("server", 80)) as connection:
        print(connection.getsockname()[0])
    time.sleep(1.5)
"""


def test_a_client_that_moves_has_the_address_of_where_it_is(tmp_path: Path) -> None:
    moves = 'path.handovers={every="1500ms", count=1}'
    path = ("--rtt", "40ms", "--set", moves, "--server", SERVE)
    done = run_exec(tmp_path, *path, "--", str(PYTHON), "-c", ADDRESS)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["10.0.1.1", "10.1.1.1", "10.1.1.1"]


# 262 is IPPROTO_MPTCP, which Python has no name for.
SEND = """
import socket
listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM, 262)
listening.bind(("0.0.0.0", 80))
listening.listen()
listening.accept()[0].sendall(bytes(4_000_000))
"""
RECEIVE = """
import socket
connection = socket.socket(socket.AF_INET, socket.SOCK_STREAM, 262)
connection.connect(("server", 80))
print(sum(map(len, iter(lambda: connection.recv(65536), b""))))
"""


def test_a_program_over_mptcp_has_both_paths(tmp_path: Path) -> None:
    (tmp_path / "send.py").write_text(SEND)
    paths = ("--rtt", "40ms", "--rate", "8mbit", "--set", 'path.second={rtt="60ms"}')
    command = ("--set", "transport.kind=mptcp", "--json", "--server", f"exec {PYTHON} send.py")
    done = run_exec(tmp_path, *paths, *command, "--", str(PYTHON), "-c", RECEIVE)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["client"]["stdout"] == "4000000\n"
    # One path alone needs four seconds for 4 MB at 8 Mbit/s.
    assert told["metrics"]["run_time_s"] < 3.8


def test_the_path_is_calibrated_under_programs_too(tmp_path: Path) -> None:
    (tmp_path / "content").write_bytes(bytes(3_000_000))
    path = ("--rtt", "20ms", "--rate", "20mbit", "--loss", "2%", "--server", SERVE)
    done = run_exec(tmp_path, *path, "--json", *fetch("content"))
    metrics = json.loads(done.stdout)["metrics"]
    assert metrics["path_loss_down"] == pytest.approx(0.02, abs=0.01)
    lost = metrics["path_loss_down"] * metrics["path_packets_down"]
    assert metrics["path_dropped_down"] == pytest.approx(lost)
    assert metrics["path_min_rtt_s"] == pytest.approx(0.02, abs=0.001)


def test_replicates_have_other_seeds_and_say_whether_programs_repeat(tmp_path: Path) -> None:
    (tmp_path / "content").write_bytes(bytes(300_000))
    path = ("--rtt", "20ms", "--loss", "3%", "--server", SERVE, "--replicates", "3")
    done = run_exec(tmp_path, *path, "--json", *fetch("content"))
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["repeatable"] is True
    assert len({run["metrics"]["run_time_s"] for run in told["runs"]}) > 1


def test_a_program_that_draws_from_the_cpus_clock_is_called_not_repeatable(tmp_path: Path) -> None:
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler: `apt-get install gcc`")
    source = tmp_path / "rdtsc.c"
    source.write_text(
        "#include <stdio.h>\n#include <x86intrin.h>\nint main(void) "
        '{ printf("%llu\\n", (unsigned long long)__rdtsc()); }\n'
    )
    subprocess.run([compiler, "-o", tmp_path / "rdtsc", source], check=True)
    done = run_exec(tmp_path, "--server", SERVE, "--replicates", "2", "--", "./rdtsc")
    assert done.returncode == 0
    assert "NOT REPEATABLE" in done.stderr
    assert f"(program.stdout): {tmp_path}/rdtsc has RDTSC, which ask" in done.stderr


@pytest.mark.parametrize(
    ("loop", "told"),
    [
        ("while :; do :; done", "computes without a system call"),
        ("while kill -0 $$; do :; done", "asks over and over, and never waits"),
    ],
)
def test_a_program_that_spins_is_named_with_what_to_do(
    loop: str, told: str, tmp_path: Path
) -> None:
    """A timer, here the shell's time limit, ends no loop: the clock stands still meanwhile."""
    path = ("--set", "limits.stall_cpu_s=1", "--server", SERVE)
    done = run_exec(tmp_path, *path, "--", "timeout", "1", "sh", "-c", loop)
    assert done.returncode == 1
    assert f"sh -c '{loop}' {told}" in done.stderr
    assert "--backend native" in done.stderr


def test_no_thread_that_sleeps_ends_a_loop(tmp_path: Path) -> None:
    """It would set the flag after 50 ms, of which none pass; a loop that waits as well ends."""
    spins = (
        "import sys, threading, time\nset_ = threading.Event()\n"
        "threading.Timer(0.05, set_.set).start()\nstarted = time.monotonic()\n"
        "while not set_.is_set(): BODY\nprint(round(time.monotonic() - started, 2))"
    )
    path = ("--set", "limits.stall_cpu_s=1", "--server", SERVE, "--", str(PYTHON), "-c")
    done = run_exec(tmp_path, *path, spins.replace("BODY", "pass"))
    assert done.returncode == 1
    assert "computes without a system call, and no time passes until all wait" in done.stderr
    waits = run_exec(tmp_path, *path, spins.replace("BODY", "time.sleep(0.001)"))
    assert waits.stdout == "0.05\n", waits.stderr


@pytest.mark.parametrize(
    ("hog", "status"),
    [
        ("held = [b'x' * (4 << 20) for _ in range(99)]", 137),
        # What the kernel holds for a program is nobody's: it ends others for it, then spins.
        (
            "import os\nheld = []\nwhile True:\n held.append(os.pipe())\n"
            " os.set_blocking(held[-1][1], False)\n os.write(held[-1][1], bytes(65536))",
            1,
        ),
    ],
)
def test_a_run_whose_memory_is_full_says_so(hog: str, status: int, tmp_path: Path) -> None:
    path = ("--memory", "128MiB", "--set", "limits.stall_cpu_s=3", "--server", SERVE)
    program = f"import resource\nresource.setrlimit(7, (9**6, 9**6))\n{hog}"
    done = run_exec(tmp_path, *path, "--", str(PYTHON), "-c", program)
    assert done.returncode == status
    assert "memory was full, and its kernel ended python" in done.stderr
    assert ": --memory (in a study workload.memory) gives it more" in done.stderr


def test_a_server_that_ended_before_it_was_ready_is_said_to_have(tmp_path: Path) -> None:
    done = run_exec(tmp_path, "--server", "true", "--", "true")
    assert done.returncode == 1
    assert "its own process had ended (exited with status 0)" in done.stderr


STUDY = """
title = "Sizes"
replicates = 6
transport = "tcp"
[path]
rtt = "20ms"
loss = "2%"
[workload]
kind = "command"
server = "SERVE"
client = "echo took {seconds} s {}"
[workload.metrics]
waited_s = { regex = "took (.*) s" }
[factors]
"command.seconds" = ["1.5", "2.5"]
[[figure]]
kind = "bar"
x = "command.seconds"
y = "waited_s"
[[claim]]
text = "The first takes less"
metric = "waited_s"
less = { "command.seconds" = "1.5" }
than = { "command.seconds" = "2.5" }
"""


def test_a_study_reads_metrics_from_what_programs_print(tmp_path: Path) -> None:
    study = tmp_path / "sizes.toml"
    study.write_text(STUDY.replace("SERVE", SERVE))
    place = tmp_path / "out"
    command = [str(NETWARP), "run", str(study), "--json", "--out", str(place)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert [cell["estimates"]["waited_s"]["mean"] for cell in told["cells"]] == [1.5, 2.5]
    assert told["claims"][0]["verdict"] in ("reproduced", "supported")
    report = (place / "report.html").read_text()
    assert "Waited (s)" in report
    assert "Yes, as far as the programs do" in report, "they may read the CPU's clock"
    command = [str(NETWARP), "export", str(place), "--format", "csv"]
    exported = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "waited_s" in exported.stdout


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--", "true"), "no server"),
        (("--server", "x", "--memory", "1MB", "--", "true"), "--memory"),
        (("--server", "x", "--rtt", "1ms,2ms", "--", "true"), "--rtt: 2 levels"),
        (("--server", "x", "--ready", "soon", "--", "true"), "--ready"),
        (("--server", "x", "--env", "COLOUR", "--", "true"), "--env"),
        (("--server", " ", "--", "true"), "--server"),
        (("--server", "x", "--set", "replicates=2", "--", "true"), "2 runs are planned"),
    ],
)
def test_what_cannot_be_is_refused(tmp_path: Path, arguments: tuple[str, ...], words: str) -> None:
    done = run_exec(tmp_path, *arguments)
    assert done.returncode == 2
    assert words in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
