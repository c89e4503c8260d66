"""Installs the two wheels in an empty root of Debian, and runs demo and command line tests there.

Run by `make test`, as root, for `debootstrap` and for mounting; in the root an ordinary user does
all of it, and sees neither the clone nor this machine's compilers and caches. The root itself is
kept in the cache of the user who runs this; nothing is written into it.
"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import places
import wheels
from empty_root import SHARED, USER, Root
from netwarp.cache import cache_directory
from netwarp.errors import NetwarpError

REPOSITORY = Path(__file__).resolve().parents[1]
SUITE = "bookworm"
LANE = ("diff", "dry_run", "expectations", "last_resort", "odd_outputs", "printable", "timeline")
"""The tests of the command line that need a netwarp and nothing of a clone; others try the same
commands in more ways.
"""
JUNIT = "junit.xml"
STEPS = f"""
set -eu
cd {SHARED}
export HOME={SHARED}/home
for each in cc gcc cargo rustc go; do
    if command -v $each; then echo "this root has a compiler, so it is not empty"; exit 1; fi
done
python3 -m venv venv
venv/bin/pip install -q --disable-pip-version-check --constraint locked.txt *.whl
echo "installed after $(cut -d ' ' -f 1 /proc/uptime)"
venv/bin/netwarp demo --out home/demo
echo "demo after $(cut -d ' ' -f 1 /proc/uptime)"
venv/bin/pip install -q --disable-pip-version-check --constraint locked.txt pytest numpy
venv/bin/python -m pytest -q -p no:cacheprovider --junit-xml={JUNIT} {{tests}}
"""


def main(arguments: list[str] | None = None) -> int:
    """Build the wheels, install them in the root and run what is run there."""
    parser = argparse.ArgumentParser(description="Try the wheels in an empty root.")
    parser.add_argument("--roots", type=Path, default=cache_directory() / "places", metavar="DIR")
    parser.add_argument("--junit-xml", type=Path, metavar="FILE", help="how the tests ended")
    asked = parser.parse_args(arguments)
    root = Root(asked.roots / SUITE, SUITE)
    with tempfile.TemporaryDirectory(prefix="netwarp-installed-") as directory:
        shared = Path(directory)
        try:
            root.make(places.debian_mirror())
            wheels.build_wheels(shared, None, wheels.epoch_s())
        except (NetwarpError, subprocess.CalledProcessError) as error:
            print(f"installed: {error}", file=sys.stderr)
            return 1
        give_tests(shared)
        tests = " ".join(f"tests/cli/test_{name}.py" for name in LANE)
        done = root.run(STEPS.format(tests=tests), shared)
        print(done.stdout, done.stderr, sep="\n")
        if asked.junit_xml is not None and (shared / JUNIT).exists():
            shutil.copy(shared / JUNIT, asked.junit_xml)
    return done.returncode


def give_tests(shared: Path) -> None:
    """Put the tests, their settings and the locked versions into the user's directory."""
    left_out = shutil.ignore_patterns("__pycache__", "guest", "native", "browser")
    shutil.copytree(REPOSITORY / "tests", shared / "tests", ignore=left_out)
    shutil.copy(REPOSITORY / "pyproject.toml", shared)
    (shared / "scripts").mkdir()
    locked = (REPOSITORY / "locks" / "dev.txt").read_text(encoding="utf-8")
    versions = re.findall(r"^([\w.-]+==[^\\\n]*)", locked, re.MULTILINE)
    (shared / "locked.txt").write_text("\n".join(versions) + "\n", encoding="utf-8")
    (shared / "home").mkdir()
    for each in (shared, *shared.rglob("*")):
        shutil.chown(each, USER, USER)


if __name__ == "__main__":
    sys.exit(main())
