"""The scripts that set a machine up find the tools it has, wherever it has them."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

SCRIPTS = Path(__file__).parents[2] / "scripts"
# All that toolchain.sh calls, and no Rust.
PROGRAMS = ("bash", "cut", "dirname", "sed", "sort")


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """Make a user whose PATH has no cargo."""
    programs = tmp_path / "bin"
    programs.mkdir()
    for name in PROGRAMS:
        found = shutil.which(name)
        assert found is not None
        (programs / name).symlink_to(found)
    return tmp_path


def sourced(home: Path, command: str, scripts: Path = SCRIPTS) -> subprocess.CompletedProcess[str]:
    """Run a command as setup.sh would, after it has sourced the toolchain."""
    return subprocess.run(
        ["bash", "-c", f"set -euo pipefail; source '{scripts}/toolchain.sh'; {command}"],
        env={"HOME": str(home), "PATH": str(home / "bin")},
        capture_output=True,
        text=True,
        check=False,
    )


def fake_rust(folder: Path, version: str, suffix: str = "") -> Path:
    """Put a cargo and a rustc of a version somewhere."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in ("cargo", "rustc"):
        program = folder / (name + suffix)
        program.write_text(f"#!/bin/sh\necho '{name} {version} (a date)'\n")
        program.chmod(0o755)
    return folder / f"cargo{suffix}"


def test_rust_is_found_where_rustup_puts_it_and_no_path_has_it(home: Path) -> None:
    cargo = fake_rust(home / ".cargo" / "bin", "1.99.0")
    answer = sourced(home, 'find_rust; echo "$CARGO $RUSTC"')
    assert answer.returncode == 0, answer.stderr
    assert answer.stdout.split() == [str(cargo), str(cargo.with_name("rustc"))]


def test_one_in_path_that_is_too_old_is_passed_over(home: Path) -> None:
    fake_rust(home / "bin", "1.60.0")
    cargo = fake_rust(home / ".cargo" / "bin", "1.99.0")
    assert sourced(home, 'find_rust; echo "$CARGO"').stdout.strip() == str(cargo)


def test_versioned_ones_are_looked_for_though_no_path_has_a_cargo(home: Path) -> None:
    """Ubuntu's are in /usr/bin alone, which no test can write to: its list is answered here."""
    cargo = fake_rust(home / "usr", "1.99.0", "-1.99")
    ubuntu = f"compgen() {{ echo '{cargo}'; }}"
    answer = sourced(home, f'{ubuntu}; find_rust; echo "$CARGO $RUSTC"')
    assert answer.stdout.split() == [str(cargo), str(cargo.with_name("rustc-1.99"))]


def test_where_there_is_none_find_rust_says_so(home: Path) -> None:
    found = sourced(home, "compgen() { return 1; }; find_rust || echo none")
    assert found.stdout.strip() == "none", found.stderr


@pytest.mark.parametrize("place", ["/tmp", "/dev/shm"])
def test_a_checkout_that_guests_do_not_see_is_told_so(home: Path, place: str) -> None:
    with tempfile.TemporaryDirectory(dir=place) as directory:
        checkout = Path(directory)
        (checkout / "endpoint").mkdir()
        shutil.copy(SCRIPTS.parent / "endpoint" / "Cargo.toml", checkout / "endpoint")
        (checkout / "scripts").mkdir()
        shutil.copy(SCRIPTS / "toolchain.sh", checkout / "scripts")
        answer = sourced(home, "warn_of_hidden_place setup.sh", checkout / "scripts")
    assert answer.returncode == 0, answer.stderr
    assert f"setup.sh: {checkout} is below {place}, which programs in guests" in answer.stderr
    assert "Clone it elsewhere." in answer.stderr
