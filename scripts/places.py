"""Installs the wheels in places that have nothing, or lack something, and says what works there.

Run by `make places`, as root, for `debootstrap` and for mounting; in the places themselves an
ordinary user installs and runs netwarp. The table goes into docs/install.md with `--write`.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from empty_root import HOME, SHARED, Root
from netwarp.cache import cache_directory

REPOSITORY = Path(__file__).resolve().parents[1]
PAGE = REPOSITORY / "docs" / "install.md"
BEGIN, END = "<!-- places: written by scripts/places.py -->\n", "<!-- end of places -->\n"
NETWARP = f"{HOME}/venv/bin/netwarp"
INSTALL = f"python3 -m venv {HOME}/venv && {HOME}/venv/bin/pip install -q {SHARED}/*.whl"
UV_INSTALL = f"""
export SSL_CERT_FILE=$PIP_CERT
python3 -m venv {HOME}/venv && {HOME}/venv/bin/pip install -q uv && cd {SHARED} || exit 1
{HOME}/venv/bin/uv tool install -q --with ./netwarp_kernel-*.whl ./netwarp-*.whl || exit 1
ln -s ../../.local/bin/netwarp {NETWARP}
"""
"""The last line gives the program the name by which it is tried everywhere."""
FOREIGN_INSTALL = f"""
python3 -m venv {HOME}/venv || exit 1
{HOME}/venv/bin/pip install -q --dry-run --platform {{platform}} --only-binary :all: \
    --target {HOME}/none {SHARED}/*.whl
"""
"""Pip chooses as it would on another platform."""
LIMIT_S = 900

# A study with loss over all kinds of stacks, a program, and what netwarp itself says of the place.
PROBE = f"""
cd /tmp
{NETWARP} compare --transport tcp,tls,sctp,quic --size 100kB --rtt 50ms --loss 1% --replicates 3 \
    --seed 7 --out study >study.log 2>&1 && echo study
find study -name records.jsonl | sort | xargs cat | sha256sum | sed 's/^/records /'
{NETWARP} exec --rtt 20ms --server 'exec python3 -m http.server 80' -- \
    python3 -c 'import urllib.request as u; u.urlopen("http://server").read()' >exec.log 2>&1 \
    && echo exec
{NETWARP} doctor --json >doctor.json; echo "doctor $(tr -d '\\n' <doctor.json)"
"""
"""What is run in a place; each line that it prints begins with what it is about."""


@dataclass(frozen=True)
class Place:
    """Somewhere that netwarp may run."""

    name: str
    suite: str = "bookworm"
    restrict: str = ""
    chroot: bool = False
    container: Sequence[str] | None = None
    """Options of `podman run`; None for a root without a container."""
    is_root: bool = False
    """Whether it is a root of its own, into which the wheels are installed anew."""
    install: str = INSTALL


def _without(calls: str) -> str:
    """Return what takes system calls away, by ranges of their numbers."""
    script = f"{SHARED}/without_calls.py"
    return f"BEFORE='python3 {script} {calls}'; export BEFORE"


PLACES = (
    Place("Debian 12", is_root=True),
    Place("Debian 13", "trixie", is_root=True),
    Place("Debian sid", "sid", is_root=True),
    Place("Debian 11", "bullseye", is_root=True),
    Place("Debian 12, by `uv tool install`", is_root=True, install=UV_INSTALL),
    Place("musl (Alpine), by the wheels that pip takes there", is_root=True,
          install=FOREIGN_INSTALL.format(platform="musllinux_1_2_x86_64")),
    Place("aarch64, by the wheels that pip takes there", is_root=True,
          install=FOREIGN_INSTALL.format(platform="manylinux_2_36_aarch64")),
    Place("macOS, by the wheels that pip takes there", is_root=True,
          install=FOREIGN_INSTALL.format(platform="macosx_14_0_x86_64")),
    Place("no user namespaces (a chroot)", chroot=True),
    Place("no Landlock", restrict=_without("444-446")),
    Place("no file system of one's own, so no huge pages", restrict=_without("428-433")),
    Place("Linux 5.10, by the system calls that it lacks", restrict=_without("441-600")),
    Place("64 MiB of /dev/shm", restrict="mount -t tmpfs -o size=64m tmpfs dev/shm"),
    Place("a home that is read-only",
          restrict="mount --bind home home; mount -o remount,bind,ro home"),
    Place("no setpriv, no taskset", restrict=(
        "cp usr/bin/setpriv tmp/setpriv; for each in setpriv taskset; do"
        " mount --bind /dev/null usr/bin/$each; done; PATH=/tmp:$PATH"
    )),
    Place("Podman, ordinary user, no capabilities",
          container=("--user=1000:1000", "--cap-drop=all", "--security-opt=no-new-privileges")),
    Place("Podman, root", container=("--user=0",)),
    Place("Podman, read-only", container=("--user=1000:1000", "--read-only")),
)  # fmt: skip


@dataclass(frozen=True)
class Found:
    """What a place had."""

    place: str
    refusal: str | None = None
    """Why netwarp cannot be installed there."""
    study: bool = False
    records: str | None = None
    program: bool = False
    lacking: tuple[str, ...] = ()
    """What doctor calls missing, or does without."""
    demo_s: float | None = None
    install_s: float | None = None
    output: str = field(default="", compare=False)


def main(arguments: list[str] | None = None) -> int:
    """Try every place, print what was found, and write the table if asked to."""
    parser = argparse.ArgumentParser(description="Say where the wheels run, and what is lost.")
    parser.add_argument("--wheels", type=Path, default=REPOSITORY / "dist", metavar="DIR")
    parser.add_argument("--roots", type=Path, default=cache_directory() / "places", metavar="DIR")
    parser.add_argument("--only", metavar="TEXT", help="only places whose name has this text")
    parser.add_argument(
        "--demo", action="store_true", help="time pip and the demo in the roots, on an idle machine"
    )
    parser.add_argument("--write", action="store_true", help="write the table to docs/install.md")
    asked = parser.parse_args(arguments)
    if os.geteuid() != 0 or shutil.which("debootstrap") is None:
        print("places: this needs root and debootstrap (`apt-get install debootstrap`)")
        return 2
    mirror = debian_mirror()
    wheels = asked.wheels.resolve()
    shutil.copy(REPOSITORY / "scripts" / "without_calls.py", wheels)
    found = []
    for place in PLACES:
        if asked.only is None or asked.only in place.name:
            found.append(tried(place, asked.roots, wheels, mirror, demo=asked.demo))
            print(json.dumps({**vars(found[-1])}, ensure_ascii=False), flush=True)
    text = table(found)
    print(text)
    if asked.write:
        page = PAGE.read_text(encoding="utf-8")
        before, _, rest = page.partition(BEGIN)
        _, _, after = rest.partition(END)
        PAGE.write_text(f"{before}{BEGIN}{text}{END}{after}", encoding="utf-8")
    return 0 if all(each.study or each.refusal for each in found) else 1


def debian_mirror() -> str:
    """Return the archive that roots are made from: the one that guest kernels' sources come from.

    Raises:
        SystemExit: this machine has none; the message says what to do.
    """
    script = ["bash", "-c", "source guest/source.sh && debian_mirror"]
    found = subprocess.run(script, cwd=REPOSITORY, check=False, capture_output=True, text=True)
    if found.returncode != 0:
        raise SystemExit(f"places: no archive to make roots from: {found.stderr.strip()}")
    return found.stdout.strip()


def tried(place: Place, roots: Path, wheels: Path, mirror: str, *, demo: bool = False) -> Found:
    """Make a place, install the wheels there as its user, and try what works."""
    root = Root(roots / place.suite, place.suite)
    root.make(mirror)
    begun = time.monotonic()
    if place.is_root or not (root.directory / NETWARP.lstrip("/")).exists():
        for each in ("venv", ".local"):
            shutil.rmtree(root.directory / HOME.lstrip("/") / each, ignore_errors=True)
        installed = root.run(place.install, wheels)
        if installed.returncode != 0:
            return Found(place.name, refusal=last_error(installed.stderr), output=installed.stderr)
    install_s = demo_s = None
    if demo and place.is_root:
        install_s = time.monotonic() - begun
        done = root.run(f"cd /tmp && {NETWARP} demo", wheels)
        demo_s = time.monotonic() - begun if done.returncode == 0 else None
    if place.container is not None:
        probed = _in_container(root, place.container)
    else:
        probed = root.run(PROBE, wheels, restrict=place.restrict, chroot=place.chroot)
    return read(place.name, probed, install_s, demo_s)


def last_error(text: str) -> str:
    """Return the last line of pip that is an error, or the last line."""
    lines = [line.strip() for line in text.splitlines() if line.strip()] or ["(nothing was said)"]
    return ([line for line in lines if line.startswith("ERROR: ")] or lines)[-1]


def read(
    place: str,
    probed: subprocess.CompletedProcess[str],
    install_s: float | None = None,
    demo_s: float | None = None,
) -> Found:
    """Read what the probe printed."""
    said = dict(line.partition(" ")[::2] for line in probed.stdout.splitlines())
    try:
        findings = json.loads(said["doctor"])["findings"]
    except (LookupError, ValueError):
        findings = []
    return Found(
        place,
        study="study" in said,
        records=said.get("records", "").split(" ")[0] or None,
        program="exec" in said,
        lacking=tuple(each["name"] for each in findings if not each["ok"]),
        install_s=install_s,
        demo_s=demo_s,
        output=probed.stdout[-2000:] + probed.stderr[-2000:],
    )


def _in_container(root: Root, options: Iterable[str]) -> subprocess.CompletedProcess[str]:
    """Run the probe in a container with Podman's default profile; the root is not changed."""
    # In a mount namespace, as crun does not start where both kinds of cgroups are mounted.
    podman = 'umount /sys/fs/cgroup/unified 2>/dev/null; exec podman run "$@"'
    return subprocess.run(
        ["unshare", "--mount", "sh", "-c", podman, "podman", "--rm", "--network=none",
         "--cgroups=disabled", "--ulimit=nofile=1024:1024", "--ulimit=nproc=1024:1024",
         f"--env=HOME={HOME}", *options, "--rootfs", f"{root.directory}:O", "sh", "-c",
         # Root runs what root has installed, and nobody else's.
         f"[ $(id -u) != 0 ] || chown -R 0:0 {HOME}\n{PROBE}"],
        capture_output=True, text=True, check=False, timeout=LIMIT_S,
    )  # fmt: skip


def table(found: Sequence[Found]) -> str:
    """Return the table of the page: a row for each place, held against the first."""
    rows = ["| place | a study | a program (`exec`) | without |", "| --- | --- | --- | --- |"]
    first = next((each.records for each in found if each.records), None)
    for each in found:
        if each.refusal is not None:
            rows.append(f"| {each.place} | no: `{each.refusal}` | no | |")
            continue
        study = "no"
        if each.study:
            study = "the same records" if each.records == first else "**other records**"
        program = "yes" if each.program else "no"
        rows.append(f"| {each.place} | {study} | {program} | {', '.join(each.lacking) or '–'} |")
    return "\n".join(rows) + "\n"


if __name__ == "__main__":
    sys.exit(main())
