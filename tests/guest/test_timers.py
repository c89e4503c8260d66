"""Programs that wait for odd times wake within a microsecond of them, on the guest's clock.

Waits that are not `poll`, `select` or `epoll_wait` are exact for all. To those the kernel adds a
thousandth of the wait (`select_estimate_accuracy` in fs/select.c), as it does on any host, unless
the program has a real-time class, which `chrt` gives it.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

NETWARP = Path(sys.executable).with_name("netwarp")
PYTHON = Path(sys.executable).resolve()

# Each reading of the clock moves it by 256 ns: once before a wait, once after.
READINGS_NS = 2 * 256
LATE_AT_MOST_NS = 1000 + READINGS_NS

WAIT = """
import ctypes, json, time
libc = ctypes.CDLL(None)
clock = time.CLOCK_MONOTONIC
epoll = libc.epoll_create1(0)
WAYS = {
    "clock_nanosleep": lambda time: libc.clock_nanosleep(clock, 0, time, None),
    "timerfd": None,
    "ppoll": lambda time: libc.ppoll(None, 0, time, None),
    "pselect": lambda time: libc.pselect(0, None, None, None, time, None),
    "epoll_pwait2": lambda time: libc.syscall(441, epoll, bytes(12), 1, time, None, 0),
}
def timerfd(time):
    timer = libc.timerfd_create(clock, 0)
    setting = (ctypes.c_long * 4)(0, 0, *time)
    libc.timerfd_settime(timer, 0, setting, None)
    libc.read(timer, bytes(8), 8)
WAYS["timerfd"] = timerfd
late_ns = {}
for name, wait in WAYS.items():
    late_ns[name] = []
    for ns in (1_234_567, 37_100_003, 777_777_777, 13_577_000_001, 97_003_000_777):
        wanted = (ctypes.c_long * 2)(ns // 10**9, ns % 10**9)
        begun_ns = time.monotonic_ns()
        wait(wanted)
        late_ns[name].append(time.monotonic_ns() - begun_ns - ns)
print(json.dumps(late_ns))
"""
ANY = ("clock_nanosleep", "timerfd")
POLLS = ("ppoll", "pselect", "epoll_pwait2")


def lateness_ns(folder: Path, *before: str) -> dict[str, list[int]]:
    """Run the waits in a guest."""
    (folder / "wait.py").write_text(WAIT)
    server = f"exec {PYTHON} -m http.server 80"
    done = subprocess.run(
        [NETWARP, "exec", "--server", server, "--", *before, str(PYTHON), "wait.py"],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    late_ns: dict[str, list[int]] = json.loads(done.stdout)
    return late_ns


def test_sleeps_and_timers_of_any_program_are_exact(tmp_path: Path) -> None:
    late_ns = lateness_ns(tmp_path)
    for way in ANY:
        assert all(0 <= late <= LATE_AT_MOST_NS for late in late_ns[way]), late_ns
    for way in POLLS:
        # 97 s, and their thousandth.
        assert 0 <= late_ns[way][-1] <= 98_000_000, late_ns


def test_in_a_real_time_class_all_waits_are_exact(tmp_path: Path) -> None:
    if shutil.which("chrt") is None:
        pytest.skip("chrt (util-linux) is not here")
    late_ns = lateness_ns(tmp_path, "chrt", "--fifo", "1")
    assert late_ns.keys() == {*ANY, *POLLS}
    for way, late in late_ns.items():
        assert all(0 <= each <= LATE_AT_MOST_NS for each in late), (way, late_ns)
