"""Looks for advisories about the packages that are locked, as far as registries carry them.

Of Python packages, the index itself says which versions have advisories, and pip-audit asks it. The
registry of Rust's crates carries none: they are in a database of its own, which `cargo audit` asks
where that is installed. What could not be asked is said, and is no success.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
import venv
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

REPOSITORY = Path(__file__).parents[1]
PIP_AUDIT = "pip-audit==2.10.1"
FOUND, NOT_AUDITED = 4, 3
"""Exit statuses: there is an advisory; something could not be asked about."""


@dataclass(frozen=True)
class Audit:
    """What came of asking about a set of packages."""

    advisories: tuple[str, ...]
    not_audited: tuple[str, ...]


def judged(answer: Mapping[str, Any]) -> Audit:
    """Read what pip-audit answers with `--format json`."""
    advisories, not_audited = [], []
    for package in answer["dependencies"]:
        if "skip_reason" in package:
            not_audited.append(package["name"])
        for each in package.get("vulns", ()):
            mended = ", ".join(each["fix_versions"]) or "no version yet"
            what = f"{package['name']} {package['version']}"
            advisories.append(f"{what}: {each['id']}, mended in {mended}")
    return Audit(tuple(advisories), tuple(not_audited))


def exit_status(audits: Iterable[Audit]) -> int:
    """Give the status that says the worst of what was found."""
    audits = list(audits)
    if any(audit.advisories for audit in audits):
        return FOUND
    return NOT_AUDITED if any(audit.not_audited for audit in audits) else 0


def main() -> int:
    """Audit all locks, and say what was found."""
    audits = [_python(), _rust()]
    for audit in audits:
        for advisory in audit.advisories:
            print(f"advisory: {advisory}")
        if audit.not_audited:
            print(f"not audited: {', '.join(audit.not_audited)}")
    return exit_status(audits)


def _python() -> Audit:
    with tempfile.TemporaryDirectory(prefix="netwarp-audit-") as place:
        venv.create(place, with_pip=True)
        program = Path(place) / "bin" / "pip-audit"
        install: list[str | Path] = [Path(place) / "bin" / "pip", "install", "--quiet", PIP_AUDIT]
        subprocess.run([*install, "--disable-pip-version-check"], check=True)
        audits = []
        for lock in sorted((REPOSITORY / "locks").glob("*.txt")):
            options = ["--disable-pip", "--require-hashes", "--format", "json"]
            answer = subprocess.run(
                [program, *options, "--requirement", lock],
                capture_output=True, text=True, check=False,
            )  # fmt: skip
            if not answer.stdout:
                print(f"{lock.name}: pip-audit failed: {answer.stderr.strip()[-500:]}")
                audits.append(Audit((), (lock.name,)))
            else:
                audits.append(judged(json.loads(answer.stdout)))
    return Audit(
        tuple(sorted({each for audit in audits for each in audit.advisories})),
        tuple(sorted({each for audit in audits for each in audit.not_audited})),
    )


def _rust() -> Audit:
    tracked = subprocess.run(
        ["git", "-C", REPOSITORY, "ls-files", "*Cargo.lock"],
        capture_output=True, text=True, check=True,
    ).stdout.split()  # fmt: skip
    if shutil.which("cargo-audit") is None:
        print("there is no cargo-audit here, which asks about Rust's: `cargo install cargo-audit`")
        return Audit((), tuple(tracked))
    advisories, not_audited = [], []
    for lock in tracked:
        answer = subprocess.run(
            ["cargo", "audit", "--json", "--file", REPOSITORY / lock],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        if not answer.stdout:
            not_audited.append(lock)
            continue
        for each in json.loads(answer.stdout)["vulnerabilities"]["list"]:
            package, advisory = each["package"], each["advisory"]
            what = f"{package['name']} {package['version']} in {lock}"
            advisories.append(f"{what}: {advisory['id']}, {advisory['title']}")
    return Audit(tuple(advisories), tuple(not_audited))


if __name__ == "__main__":
    sys.exit(main())
