"""Measures how long it takes from nothing to an answer: in an empty root of Debian 12, as an
ordinary user, and as a job of continuous integration does it. Run as root, with wheels in dist/.

Each time is printed with its goal, the CPU time, and the load of the machine before: on a machine
that does something else, it is the CPU time that can be compared.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import sys
import tempfile
from pathlib import Path

import places
from empty_root import SHARED, USER, Root
from netwarp.cache import cache_directory

REPOSITORY = Path(__file__).resolve().parents[1]
SUITE = "bookworm"
STUDY = """\
title = "A hundred runs"
replicates = 10
[path]
rate = "20mbit"
loss = "1%"
[workload]
size = "1MB"
[factors]
transport = ["tcp", "quic"]
"path.rtt" = ["10ms", "20ms", "50ms", "100ms", "200ms"]
[[expect]]
that = "tcp.completion_time_s < 60 s"
"""
GOALS_S = {"install and demo": 60, "compare of one run": 1, "a job of 100 runs": 90}
STEPS = f"""
set -eu
cd {SHARED}
export HOME={SHARED}/home NETWARP_WHEELS={SHARED}/wheels
timed() {{
    label=$1; shift
    "$@" >"$label.log" 2>&1 || {{ cat "$label.log"; exit 1; }}
    read -r now _ </proc/uptime
    times >times.log  # of the shell, and below it of all that it has waited for
    {{ read -r _; read -r cpu; }} <times.log
    echo "$label at $now with $cpu"
}}
first() {{
    python3 -m venv venv
    venv/bin/pip install -q --disable-pip-version-check --no-compile wheels/*.whl
    venv/bin/netwarp demo --out home/demo
}}
one() {{
    venv/bin/netwarp compare --transport tcp --size 1MB --rtt 50ms --rate 20mbit --replicates 1 \\
        --out "home/one-$1"
}}
kept() {{
    tar -xf kept.tar -C home
    sh packaging/ci.sh install
    sh packaging/ci.sh run run study.toml
}}
timed begin true
timed first first
one before >one.log 2>&1
timed between sh packaging/ci.sh install
timed pack tar -cf kept.tar -C home .cache/netwarp-ci
timed gone rm -r home/.cache/netwarp-ci
timed warm true
timed one one after
timed ready true
timed job kept
grep -q '100 of 100' job.log || {{ cat job.log; exit 1; }}
head -n 3 netwarp-ci/summary.md
"""


def main(arguments: list[str] | None = None) -> int:
    """Measure, and print each time with its goal."""
    parser = argparse.ArgumentParser(description="Time the way from nothing to an answer.")
    parser.add_argument("--wheels", type=Path, default=REPOSITORY / "dist", metavar="DIR")
    parser.add_argument("--roots", type=Path, default=cache_directory() / "places", metavar="DIR")
    asked = parser.parse_args(arguments)
    root = Root(asked.roots / SUITE, SUITE)
    root.make(places.debian_mirror())
    load = os.getloadavg()[0]
    with tempfile.TemporaryDirectory(prefix="netwarp-minute-") as directory:
        shared = Path(directory)
        shutil.copytree(asked.wheels, shared / "wheels", ignore=_but_wheels)
        shutil.copytree(REPOSITORY / "packaging", shared / "packaging")
        (shared / "study.toml").write_text(STUDY, encoding="utf-8")
        (shared / "home").mkdir()
        for each in (shared, *shared.rglob("*")):
            shutil.chown(each, USER, USER)
        done = root.run(STEPS, shared)
    if done.returncode != 0:
        print(done.stdout, done.stderr, sep="\n")
        return 1
    for line in report(done.stdout):
        print(f"{line}; load {load:.1f} before")
    return 0


def report(stdout: str) -> list[str]:
    """Return a line for each goal, from the stamps that the steps printed."""
    stamps = re.findall(r"^(\w+) at ([0-9.]+) with (\S+) (\S+)$", stdout, flags=re.MULTILINE)
    at_s = {label: float(now) for label, now, _, _ in stamps}
    cpu_s = {label: _seconds(user) + _seconds(system) for label, _, user, system in stamps}
    spans = (("begin", "first"), ("warm", "one"), ("ready", "job"))
    return [
        f"{name}: {at_s[end] - at_s[begin]:.1f} s (goal {goal_s} s),"
        f" {cpu_s[end] - cpu_s[begin]:.1f} s of CPU"
        for (name, goal_s), (begin, end) in zip(GOALS_S.items(), spans, strict=True)
    ]


def _seconds(text: str) -> float:
    """Read a time as the shell's `times` prints it, such as `1m2.50s`."""
    minutes, _, seconds = text.removesuffix("s").partition("m")
    return 60 * float(minutes) + float(seconds)


def _but_wheels(_: str, names: list[str]) -> list[str]:
    return [name for name in names if not name.endswith(".whl")]


if __name__ == "__main__":
    sys.exit(main())
