"""The two wheels in an environment that has nothing else of netwarp's: no clone, no cache, and no
kernel that was built here.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[2]
MOST_BYTES = 25_000_000
COMPARE = ("compare", "--transport", "tcp,sctp,quic", "--size", "100kB", "--rtt", "50ms",
           "--loss", "1%", "--replicates", "2", "--seed", "7")  # fmt: skip


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    return build(tmp_path_factory.mktemp("wheels"))


def build(out: Path) -> list[Path]:
    script = REPOSITORY / "scripts" / "wheels.py"
    subprocess.run([sys.executable, script, "--out", out], check=True, stdout=subprocess.DEVNULL)
    return sorted(out.glob("*.whl"))


@pytest.fixture(scope="module")
def installed(wheels: list[Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Install the wheels into a new environment, whose other packages are those of the tests'."""
    venv = tmp_path_factory.mktemp("installed") / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", venv], check=True)
    (site,) = venv.glob("lib/python3*/site-packages")
    # Editable installations there are not followed: of netwarp there are the wheels alone.
    (others,) = Path(sys.prefix).glob("lib/python3*/site-packages")
    (site / "dependencies.pth").write_text(f"{others}\n")
    subprocess.run(
        [sys.executable, "-m", "pip", "--python", venv, "install", "--quiet", "--no-index",
         "--no-deps", "--ignore-installed", *wheels],
        check=True,
    )  # fmt: skip
    return venv


def netwarp(venv: Path, home: Path, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """Run the installed program with an empty home, outside the clone."""
    home.mkdir(exist_ok=True)
    return subprocess.run(
        [venv / "bin" / "netwarp", *arguments],
        cwd=home, env={"PATH": os.environ["PATH"], "HOME": str(home)},
        capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip


def records(directory: Path) -> dict[Path, bytes]:
    files = sorted(directory.rglob("records.jsonl"))
    return {each.relative_to(directory): each.read_bytes() for each in files}


def test_two_builds_are_the_same_bytes(wheels: list[Path], tmp_path: Path) -> None:
    again = build(tmp_path)
    assert [each.name for each in again] == [each.name for each in wheels]
    assert [each.read_bytes() for each in again] == [each.read_bytes() for each in wheels]


def test_they_are_small_and_name_what_they_need(wheels: list[Path]) -> None:
    assert sum(each.stat().st_size for each in wheels) <= MOST_BYTES
    ours, kernel = wheels
    assert re.fullmatch(r"netwarp-.*-py3-none-manylinux_2_17_x86_64\.whl", ours.name)
    assert re.fullmatch(r"netwarp_kernel-.*-py3-none-manylinux_2_[0-9]+_x86_64\.whl", kernel.name)
    names = set(zipfile.ZipFile(kernel).namelist())
    assert {f"netwarp_kernel/{each}" for each in ("COPYING", "SOURCE", "source/build.sh")} <= names


def test_they_measure_what_the_clone_measures(installed: Path, tmp_path: Path) -> None:
    """No compiler, no cache: the same kernel gives the same records, byte for byte."""
    answer = netwarp(installed, tmp_path / "home", *COMPARE, "--out", tmp_path / "wheel")
    assert answer.returncode == 0, answer.stderr
    here: list[Path | str] = [
        Path(sys.prefix) / "bin" / "netwarp",
        *COMPARE,
        "--out",
        tmp_path / "clone",
    ]
    subprocess.run(here, check=True, capture_output=True, timeout=300)
    by_wheel, by_clone = records(tmp_path / "wheel"), records(tmp_path / "clone")
    assert len(by_wheel) == 6
    assert by_wheel == by_clone


def test_all_that_is_shipped_is_there(installed: Path, tmp_path: Path) -> None:
    home = tmp_path / "home"
    told = json.loads(netwarp(installed, home, "doctor", "--json").stdout)["findings"]
    assert all(each["ok"] or each["optional"] for each in told)
    (kernel,) = (each["detail"] for each in told if each["name"] == "kernel")
    assert str(installed) in kernel
    for command in (["studies"], ["stack", "list"], ["kernel", "list"], ["kernel", "info"]):
        answer = netwarp(installed, home, *command)
        assert (answer.returncode, answer.stderr) == (0, ""), command
        assert answer.stdout.strip()
    for command in (["run", "loss-sweep", "--dry-run"], ["reproduce", "park-2008", "--dry-run"]):
        answer = netwarp(installed, home, *command)
        assert answer.returncode == 0, answer.stderr


def test_nothing_is_written_outside_the_cache(installed: Path, tmp_path: Path) -> None:
    home = tmp_path / "home"
    before = {each: each.stat().st_mtime_ns for each in installed.rglob("*") if each.is_file()}
    answer = netwarp(installed, home, *COMPARE, "--out", home / "out")
    assert answer.returncode == 0, answer.stderr
    after = {each: each.stat().st_mtime_ns for each in installed.rglob("*") if each.is_file()}
    assert {each for each in after if before.get(each) != after[each]} <= {
        each for each in after if each.suffix == ".pyc"
    }
    assert {each.name for each in home.iterdir()} <= {"out", ".cache"}
