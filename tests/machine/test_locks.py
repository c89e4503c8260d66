"""What is fetched from elsewhere is pinned by its hash: Python packages, the kernel's source."""

from __future__ import annotations

import re
import subprocess
import tomllib
from pathlib import Path

import pytest

from audit import FOUND, NOT_AUDITED, Audit, exit_status, judged

REPOSITORY = Path(__file__).parents[2]
PROJECT = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())
EXTRAS = {"run": ("remote",), "dev": ("dev", "cluster", "remote"), "site": ("site",)}
"""The optional dependencies in each lock."""


def name_of(requirement: str) -> str:
    found = re.match(r"[A-Za-z0-9._-]+", requirement)
    assert found is not None
    return found[0].lower().replace("_", "-")


def locked(lock: str) -> dict[str, list[str]]:
    """Give the packages of a lock, each with the hashes of its files."""
    packages: dict[str, list[str]] = {}
    for statement in (
        (REPOSITORY / "locks" / f"{lock}.txt").read_text().replace("\\\n", "").split("\n")
    ):
        if statement and not statement.startswith("#"):
            packages.setdefault(name_of(statement), []).extend(
                re.findall(r"--hash=sha256:([0-9a-f]{64})", statement)
            )
    return packages


@pytest.mark.parametrize("lock", EXTRAS)
def test_all_that_the_project_asks_for_is_locked_with_hashes(lock: str) -> None:
    project = PROJECT["project"]
    optional = [each for extra in EXTRAS[lock] for each in project["optional-dependencies"][extra]]
    asked = [*project["dependencies"], *optional, *PROJECT["build-system"]["requires"]]
    packages = locked(lock)
    assert {name_of(each) for each in asked} - {"netwarp"} <= packages.keys()
    assert all(packages.values())


def test_locks_name_no_place_that_packages_come_from() -> None:
    for lock in EXTRAS:
        text = (REPOSITORY / "locks" / f"{lock}.txt").read_text()
        assert "://" not in text
        assert "-url" not in text


@pytest.mark.parametrize("lock", ["run", "site"])
def test_a_package_has_one_version_in_all_locks(lock: str) -> None:
    everything = locked("dev")
    for name, hashes in locked(lock).items():
        assert name not in everything or everything[name] == hashes


KNOWN = [
    line.split()
    for line in (REPOSITORY / "guest" / "sources.sha256").read_text().splitlines()
    if not line.startswith("#")
]


def checked(sha256: str, package: str, version: str, pinned: bool = False) -> tuple[int, str]:
    """Have the kernel's build hold a source against those that it knows."""
    script = f"""
        set -euo pipefail
        GUEST_DIR='{REPOSITORY}/guest'
        say() {{ printf '%s\\n' "$*"; }}
        die() {{ printf '%s\\n' "$*"; exit 1; }}
        source "$GUEST_DIR/inputs.sh"
        source "$GUEST_DIR/source.sh"
        TARBALL_HASH={sha256} PACKAGE={package} PACKAGE_VERSION='{version}'
        ONLY_PINNED={str(pinned).lower()}
        check_pin
    """
    answer = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=False)
    return answer.returncode, answer.stdout + answer.stderr


def test_the_source_that_is_known_is_taken_without_a_word() -> None:
    for sha256, package, version in KNOWN:
        assert checked(sha256, package, version, pinned=True) == (0, "")


def test_another_source_of_the_same_name_is_refused() -> None:
    sha256, package, version = KNOWN[-1]
    status, said = checked("0" * 64, package, version)
    assert status == 1
    assert f"the source of {package} {version} is not the one that netwarp knows" in said
    assert sha256 in said


def test_a_newer_source_is_named_and_refused_where_only_pinned_ones_are_wanted() -> None:
    new = ("a" * 64, "linux-source-99.1", "99.1-1")
    status, said = checked(*new)
    assert (status, "SHA-256 of linux-source-99.1 99.1-1 is not pinned" in said) == (0, True)
    status, said = checked(*new, pinned=True)
    assert (status, "99.1-1 is not in guest/sources.sha256" in said) == (1, True)


CLEAN = {"name": "a", "version": "1", "vulns": []}
BAD = {"name": "b", "version": "2", "vulns": [{"id": "PYSEC-1", "fix_versions": ["3"]}]}
UNKNOWN = {"name": "c", "skip_reason": "not found"}


def test_an_advisory_is_named_with_what_mends_it() -> None:
    audit = judged({"dependencies": [CLEAN, BAD]})
    assert audit.advisories == ("b 2: PYSEC-1, mended in 3",)


def test_what_could_not_be_asked_about_is_no_success() -> None:
    unknown = judged({"dependencies": [CLEAN, UNKNOWN]})
    assert unknown.not_audited == ("c",)
    assert exit_status([unknown]) == NOT_AUDITED
    assert exit_status([Audit((), ())]) == 0
    assert exit_status([unknown, judged({"dependencies": [BAD]})]) == FOUND
