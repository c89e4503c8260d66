"""Repeats a test that flickers on a real network, by the recipe of docs/testing.md, and counts
flips: seeds with which it passed once and failed once.

The test asks once over a path that loses packets in both directions, and waits half a second for
the answer: whether it passes depends on its seed alone. Each repeat is a guest of its own.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from xml.etree import ElementTree

SEEDS = 10
BATCH = 50
"""Repeats in one call of pytest, between which the CPU time is read."""
PROGRAMS = {
    "client.py": """\
import socket
asked = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
asked.settimeout(0.5)
asked.sendto(b"?", ("server", 5000))
asked.recv(100)
""",
    "server.py": """\
import socket
bound = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
bound.bind(("", 5000))
while True:
    question, who = bound.recvfrom(100)
    bound.sendto(question, who)
""",
    "test_one_question.py": f"""\
import os
import pytest

@pytest.mark.netwarp(rtt="100ms", rate="20mbit", loss="30%", loss_up="30%")
@pytest.mark.parametrize("again", range({BATCH // SEEDS}))
@pytest.mark.parametrize("seed", range({SEEDS}))
def test_one_question_is_answered(netwarp_path, seed, again):
    done = netwarp_path.run(
        ["python3", "-S", "client.py"], server="exec python3 -S server.py", seed=seed,
        cwd=os.path.dirname(__file__),
    )
    assert done.exit_status == 0
""",
}


def main(arguments: list[str] | None = None) -> int:
    """Repeat the test, print how often each seed passed and failed, and return 1 for a flip."""
    parser = argparse.ArgumentParser(description="Count the flips of a test on a lossy path.")
    parser.add_argument("--repeats", type=int, default=10_000, metavar="N", help="default: 10000")
    parser.add_argument("--cpu-s", type=float, default=float("inf"), metavar="S",
                        help="stop after this much CPU time")  # fmt: skip
    asked = parser.parse_args(arguments)
    ended: dict[str, list[bool]] = defaultdict(list)
    while (done := sum(map(len, ended.values()))) < asked.repeats and _cpu_s() < asked.cpu_s:
        for seed, passed in _batch():
            ended[seed].append(passed)
        found = f"{done + BATCH} repeats, {len(flips(ended))} flips, {_cpu_s():.0f} s of CPU"
        print(found, file=sys.stderr)
    for seed, each in sorted(ended.items()):
        print(f"seed {seed}: passed {sum(each)}, failed {len(each) - sum(each)}")
    flipped = flips(ended)
    per_repeat_s = _cpu_s() / max(1, sum(map(len, ended.values())))
    print(f"{sum(map(len, ended.values()))} repeats, {len(flipped)} flips,"
          f" {per_repeat_s:.2f} s of CPU each")  # fmt: skip
    return 1 if flipped else 0


def flips(ended: Mapping[str, Sequence[bool]]) -> list[str]:
    """Return the seeds with which the test passed once and failed once."""
    return [seed for seed, each in ended.items() if len(set(each)) > 1]


def _batch() -> list[tuple[str, bool]]:
    """Run the tests once, and return the seed of each, and whether it passed.

    Raises:
        SystemExit: a test ended otherwise: it could not be run.
    """
    with tempfile.TemporaryDirectory(prefix="netwarp-flips-") as directory:
        for name, text in PROGRAMS.items():
            Path(directory, name).write_text(text, encoding="utf-8")
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider",
                   f"--basetemp={directory}/runs", "--junit-xml=ended.xml", "."]  # fmt: skip
        said = subprocess.run(command, cwd=directory, capture_output=True, text=True, check=False)
        if said.returncode not in (0, 1):
            raise SystemExit(said.stdout + said.stderr)
        cases = list(ElementTree.parse(f"{directory}/ended.xml").iter("testcase"))  # noqa: S314 - pytest's
    if len(cases) != BATCH or not all(map(ran, cases)):
        raise SystemExit(said.stdout)
    return [
        (case.attrib["name"].partition("[")[2].split("-")[0], case.find("failure") is None)
        for case in cases
    ]


def ran(case: ElementTree.Element) -> bool:
    """Return whether a test passed, or failed because the client had no answer: one that netwarp
    refused to run says nothing.
    """
    failure = case.find("failure")
    was_asked = failure is None or "assert 1 == 0" in failure.get("message", "")
    return case.find("error") is None and was_asked


def _cpu_s() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    sys.exit(main())
