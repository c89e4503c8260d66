"""Which kernel's source guest/build.sh takes, and with which patches, for what an archive has."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

GUEST = Path(__file__).parents[2] / "guest"
PACKAGE, VERSION = next(
    line.split()[1:]
    for line in reversed((GUEST / "sources.sha256").read_text().splitlines())
    if not line.startswith("#")
)
"""The source that the repository pins."""
APT_CACHE = """#!/bin/sh
case $1 in
search) sed 's/ .*/ - Linux kernel source/' "{archive}" ;;
madison) sed -n "s/^\\($2\\) \\(.*\\)/ \\1 | \\2 | an archive main/p" "{archive}" ;;
esac
"""


def sourced(tmp_path: Path, archive: list[str], command: str) -> subprocess.CompletedProcess[str]:
    """Run a command as build.sh would, over an archive that has these sources."""
    (tmp_path / "archive").write_text("".join(f"{line}\n" for line in archive))
    apt_cache = tmp_path / "apt-cache"
    apt_cache.write_text(APT_CACHE.format(archive=tmp_path / "archive"))
    apt_cache.chmod(0o755)
    begin = (
        "set -euo pipefail; say() { echo \"$*\" >&2; }; die() { say \"$*\"; exit 1; }\n"
        f"GUEST_DIR='{GUEST}'; WORK='{tmp_path}'; OLDEST_DEFAULT=6.6; OLDEST_KERNEL=6.1\n"
        f"apt_env=('PATH={tmp_path}:/usr/bin:/bin')\n"
        'for each in arguments cache patches source; do source "$GUEST_DIR/$each.sh"; done\n'
    )  # fmt: skip
    return subprocess.run(
        ["bash", "-c", begin + command], capture_output=True, text=True, check=False
    )


CHOOSE = '{ choose_pinned || choose_newest || die "$REASON"; }; echo "$PACKAGE $PACKAGE_VERSION"'


def test_the_pinned_source_is_taken_although_there_is_a_newer_one(tmp_path: Path) -> None:
    archive = [f"{PACKAGE} {VERSION}", "linux-source-9.9 9.9.1-1"]
    answer = sourced(tmp_path, archive, CHOOSE)
    assert answer.stdout == f"{PACKAGE} {VERSION}\n", answer.stderr
    assert answer.stderr == ""


@pytest.mark.parametrize(
    "has", ["linux-source-9.9 9.9.1-1", "linux-source-6.12 6.12.5-1", f"{PACKAGE} 99.9-9"]
)
def test_an_archive_without_the_pinned_source_is_said_with_what_it_means(
    tmp_path: Path, has: str
) -> None:
    answer = sourced(tmp_path, ["linux-source-6.6 6.6.1-1", has], CHOOSE)
    assert answer.stdout == f"{has}\n", answer.stderr
    assert f"newest source is {has}" in answer.stderr
    assert f"{PACKAGE} {VERSION}. Records repeat on either" in answer.stderr
    assert "reference-hashes.json" in answer.stderr


def test_no_default_is_so_old_that_loss_cannot_be_repeated(tmp_path: Path) -> None:
    answer = sourced(tmp_path, ["linux-source-6.1 6.1.192-1"], CHOOSE)
    assert answer.returncode == 1
    assert "its newest kernel source is linux-source-6.1, and netwarp needs 6.6" in answer.stderr


def test_a_version_is_asked_for_by_its_name(tmp_path: Path) -> None:
    archive = ["linux-source-6.1 6.1.192-1", "linux-source-6.12 6.12.5-1"]
    chosen = 'choose_series || die "$REASON"; echo "$PACKAGE $PACKAGE_VERSION"'
    assert sourced(tmp_path, archive, f"SERIES=6.1; {chosen}").stdout.startswith(
        "linux-source-6.1 "
    )
    answer = sourced(tmp_path, archive, f"SERIES=6.6; {chosen}")
    assert answer.returncode == 1
    assert "no package linux-source-6.6, only: linux-source-6.1 linux-source-6.12" in answer.stderr


@pytest.mark.parametrize(
    ("version", "is_patched"),
    [("6.0.19", False), ("6.1", True), ("6.1.192", True), ("6.12.117", True), ("6.13", False),
     ("6.13.0-rc1", False), ("7.3.4", False)],
)  # fmt: skip
def test_patches_are_for_their_versions_alone(
    tmp_path: Path, version: str, is_patched: bool
) -> None:
    answer = sourced(tmp_path, [], f"patches_for {version}")
    names = [Path(line).name for line in answer.stdout.splitlines()]
    assert names == (["fp-registers-of-any-size.patch"] if is_patched else []), answer.stderr


def test_every_patch_says_why_and_stays_out_of_the_network_stack() -> None:
    patches = list((GUEST / "patches").glob("*.patch"))
    assert patches
    for patch in patches:
        text = patch.read_text()
        assert re.search(r"^Linux-Versions: \S+ \S+$", text, re.MULTILINE), patch
        assert re.search(r"^Why: ", text, re.MULTILINE), patch
        changed = re.findall(r"^\+\+\+ b/(\S+)", text, re.MULTILINE)
        assert changed
        assert all(file.startswith(("arch/um/", "arch/x86/um/")) for file in changed)
