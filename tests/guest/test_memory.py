"""Where guests have their memory: in huge pages, where the host allows that."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from guest.lab import run_study
from netwarp.backends.guest_files import find_endpoint
from netwarp.backends.native import probe_host
from netwarp.backends.virtual import enclosed_in
from netwarp.plan import plan_study
from netwarp.run_directory import RECORDS_FILE
from netwarp.study import study_from_mapping

STUDY: dict[str, Any] = {
    "title": "memory",
    "replicates": 1,
    "path": {"rtt": "20ms", "loss": "2%", "rate": "50mbit"},
    "workload": {"kind": "bulk", "size": "3MB"},
    "factors": {"transport": ["tcp", "quic"]},
}

# Touches two huge pages of a file in TMPDIR, as a guest's kernel does, and tells how it is mapped.
TOUCH = """
import mmap, os, re
file = os.open(os.environ["TMPDIR"] + "/memory", os.O_RDWR | os.O_CREAT)
os.ftruncate(file, 8 << 20)
memory = mmap.mmap(file, 8 << 20)
memory[:] = bytes(8 << 20)
mapped = re.findall(r"ShmemPmdMapped: +([0-9]+) kB", open("/proc/self/smaps").read())
print(sum(map(int, mapped)), os.environ["TMPDIR"])
"""


def test_the_memory_of_a_guest_is_in_huge_pages_where_the_host_allows_them() -> None:
    endpoint = find_endpoint()
    confined = [*enclosed_in(endpoint, own_memory_bytes=32 << 20), sys.executable, "-c", TOUCH]
    environment = {**os.environ, "TMPDIR": "/var/empty/none"}
    done = subprocess.run(confined, env=environment, capture_output=True, text=True, check=False)
    if probe_host(endpoint).missing_huge_pages is not None:
        assert "/var/empty/none" in done.stderr, "what it had is what it is left"
        pytest.skip("this host gives nobody huge pages")
    assert done.returncode == 0, done.stderr
    huge_kb, directory = done.stdout.split()
    assert int(huge_kb) >= 4096
    # Attached nowhere: no name of the host's leads there.
    assert directory.startswith("/proc/self/fd/")
    assert "huge=within_size" not in Path("/proc/self/mounts").read_text()


def test_an_unprivileged_user_has_them_too() -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can become another user")
    as_nobody = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"]
    asked = subprocess.run(
        [
            *as_nobody,
            *enclosed_in(find_endpoint(), own_memory_bytes=32 << 20),
            "printenv",
            "TMPDIR",
        ],
        env={"PATH": os.environ["PATH"], "TMPDIR": "/dev/shm"},
        capture_output=True,
        text=True,
        check=True,
    )
    userns = Path("/proc/sys/user/max_user_namespaces").read_text() != "0\n"
    if not userns or probe_host(find_endpoint()).missing_huge_pages is not None:
        pytest.skip("this host gives nobody huge pages, or has no user namespaces")
    assert asked.stdout.startswith("/proc/self/fd/")


def test_the_memory_of_a_guest_has_a_bound() -> None:
    """Of bytes, and of files, each of which takes memory of the kernel's."""
    fill = "yes | head -c 40M > $TMPDIR/memory; wc -c $TMPDIR/memory >&2; rm $TMPDIR/memory;"
    files = " n=0; while : > $TMPDIR/$n; do n=$((n+1)); [ $n -lt 1000 ] || break; done; echo $n"
    confined = [*enclosed_in(find_endpoint(), own_memory_bytes=32 << 20), "bash", "-c"]
    done = subprocess.run(
        [*confined, fill + files],
        env={"PATH": os.environ["PATH"], "TMPDIR": "/var/empty/none"},
        capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip
    if "/var/empty/none" in done.stderr:
        pytest.skip("this host gives nobody a file system in memory")
    assert f"{32 << 20} /proc/self/fd/" in done.stderr
    assert 0 < int(done.stdout) < 64


def test_the_kind_of_pages_makes_no_difference(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found: list[dict[str, bytes]] = []
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    for named in ("", str(scratch)):
        monkeypatch.setenv("NETWARP_SCRATCH", named)
        place = tmp_path / f"runs{len(found)}"
        for run in run_study(plan_study(study_from_mapping(STUDY)), place):
            assert run.status.outcome == "ok", run.status.reason
        found.append(
            {path.parent.name: path.read_bytes() for path in place.glob(f"*/{RECORDS_FILE}")}
        )
    assert len(found[0]) == 2
    assert found[0] == found[1]


def test_a_guest_of_an_ordinary_transfer_has_at_most_64_mib(tmp_path: Path) -> None:
    path = {"rtt": "100ms", "rate": "100mbit", "queue": "1bdp"}
    study = STUDY | {
        "path": path,
        "workload": {"kind": "bulk", "size": "100MB", "verify": False},
        "factors": {"transport": ["tcp", "tls", "sctp", "quic"]},
    }
    for run in run_study(plan_study(study_from_mapping(study)), tmp_path):
        assert run.status.outcome == "ok", run.status.reason
        assert 16 << 20 < run.status.peak_rss_bytes <= 64 << 20, run.planned.job.only.transport.kind
