"""`netwarp selftest`, of tests that are laid down as guest/selftests.sh leaves them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from netwarp.backends.guest_files import find_kernel

NETWARP = Path(sys.executable).with_name("netwarp")
SCRIPTS = {
    # Root of the guest: names of namespaces, links and sysctls are its own.
    "able.sh": """
        ip netns add one && ip -n one link add d type dummy && ip -n one link set d up
        ip netns exec one sh -c 'echo 7 > /proc/sys/net/ipv4/ip_default_ttl'
        ip netns exec one cat /proc/sys/net/ipv4/ip_default_ttl
        test "$(cat /sys/class/net/lo/mtu)" = 65536 || exit 1
        test "$(cat /proc/sys/net/ipv4/ip_default_ttl)" = 64
    """,
    "broken.sh": "echo not ok 1 - the MTU; exit 1",
    "unable.sh": "echo SKIP: no such device; exit 4",
    "late.sh": "echo waiting; sleep 1000",
    "without.sh": "no-such-program --help",
    "tunnel.sh": "ip link add v type vxlan id 1",
}


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    cache = tmp_path / "cache"
    place = cache / "netwarp" / "selftests" / find_kernel().name
    root = place / "tools" / "testing" / "selftests" / "net"
    root.mkdir(parents=True)
    for name, text in SCRIPTS.items():
        (root / name).write_text(f"#!/bin/sh\n{text}\n")
        # The kernel's tree has tests that are not executable, too.
        (root / name).chmod(0o644 if name == "broken.sh" else 0o755)
    (root / "settings").write_text("timeout=10\n")
    (root / "config").write_text("CONFIG_VXLAN=m\nCONFIG_DUMMY=y\n")
    (place / "tests").write_text("".join(f"net:{name}\n" for name in SCRIPTS))
    (place / "selftests.json").write_text("{}")
    return cache


def selftest(cache: Path, *arguments: str) -> tuple[int, dict[str, Any]]:
    environ = {"XDG_CACHE_HOME": str(cache), "NETWARP_KERNEL": str(find_kernel().directory)}
    done = subprocess.run(
        [NETWARP, "selftest", "--json", *arguments], cwd=cache.parent, capture_output=True,
        text=True, check=False, env={**os.environ, **environ},
    )  # fmt: skip
    assert done.stdout, done.stderr
    return done.returncode, json.loads(done.stdout)


def test_each_test_ends_as_its_exit_status_says(cache: Path) -> None:
    status, told = selftest(cache, "--repeat", "2")
    found = {each["test"]: (each["verdict"], each["why"]) for each in told["tests"]}
    assert found == {
        "able": ("pass", None),
        "broken": ("fail", "not ok 1 - the MTU"),
        "unable": ("skip", "SKIP: no such device"),
        "late": ("fail", "it did not end in its time; the last it said: waiting"),
        "without": ("skip", "no-such-program is not installed"),
        "tunnel": ("skip", "CONFIG_VXLAN is not in the kernel"),
    }
    assert status == 1
    assert not any(each["flips"] for each in told["tests"])
    late = next(each for each in told["tests"] if each["test"] == "late")
    assert [round(run["took_s"]) for run in late["runs"]] == [10, 10]
    assert len({run["seed"] for run in late["runs"]}) == 2
    # What ran is kept: the same command runs nothing again.
    directory = cache.parent / told["out"]
    before = {file: file.stat().st_mtime_ns for file in directory.glob("runs/*/records.jsonl")}
    assert len(before) == 10
    assert selftest(cache, "--repeat", "2")[1] == told
    assert before == {file: file.stat().st_mtime_ns for file in before}


def test_what_passes_has_status_0(cache: Path) -> None:
    assert selftest(cache, "able", "unable", "tunnel")[0] == 0


def add_chance(cache: Path, commands: str) -> None:
    """Have a test `chance` of these commands of a shell, in place of all others."""
    place = cache / "netwarp" / "selftests" / find_kernel().name
    script = place / "tools" / "testing" / "selftests" / "net" / "chance.sh"
    script.write_text(f"#!/bin/sh\n{commands}\n")
    script.chmod(0o755)
    (place / "tests").write_text("net:chance.sh\n")


def test_the_same_seed_prints_the_same_each_time(cache: Path) -> None:
    add_chance(cache, "od -An -N8 -tx8 /dev/urandom; date +%s.%N; exit 1")
    _, told = selftest(cache, "chance", "--repeat", "3", "--same-seed")
    runs = told["tests"][0]["runs"]
    assert len(runs) == 3
    assert len({(run["seed"], run["output_sha256"]) for run in runs}) == 1
    _, other = selftest(cache, "chance", "--repeat", "2")
    hashes = [run["output_sha256"] for run in other["tests"][0]["runs"]]
    assert hashes[0] == runs[0]["output_sha256"] != hashes[1]


def test_a_run_of_a_test_that_flips_is_repeated_by_its_options(cache: Path) -> None:
    add_chance(cache, "od -An -N8 -tx8 /dev/urandom; exit 1")
    _, told = selftest(cache, "chance", "--repeat", "6")
    last = told["tests"][0]["runs"][-1]
    _, again = selftest(cache, "chance", *last["again"].split())
    repeated = again["tests"][0]["runs"][-1]
    assert repeated["seed"] == last["seed"]
    outputs = [
        (cache.parent / each["out"] / "runs" / run["run"] / "client.stdout").read_bytes()
        for each, run in ((told, last), (again, repeated))
    ]
    assert outputs[0] == outputs[1]
    assert again["out"] != told["out"]


def test_the_table_is_written_as_a_page_and_over_no_file_of_others(cache: Path) -> None:
    page = cache.parent / "selftests.md"
    selftest(cache, "able", "unable", "tunnel", "--markdown", str(page))
    text = page.read_text()
    assert text.startswith(f"# The kernel's own tests on Linux {find_kernel().version} ")
    assert "| `able` |" in text
    assert "| `CONFIG_VXLAN is not in the kernel` | `tunnel` |" in text
    # Its own page is written anew, another file is not.
    selftest(cache, "able", "--markdown", str(page))
    assert "tunnel" not in page.read_text()
    page.write_text("my notes\n")
    refused = subprocess.run(
        [NETWARP, "selftest", "able", "--markdown", page], capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    assert refused.returncode == 2
    assert "which netwarp did not write" in " ".join(refused.stderr.split())
    assert page.read_text() == "my notes\n"
