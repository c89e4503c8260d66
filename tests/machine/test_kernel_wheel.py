"""The kernel out of a release's wheel in place of a build: guest/build.sh --wheel."""

from __future__ import annotations

import re
import subprocess
import zipfile
from hashlib import sha256
from pathlib import Path

import pytest

GUEST = Path(__file__).parents[2] / "guest"
PINNED, PACKAGE, VERSION = next(
    line.split()
    for line in reversed((GUEST / "sources.sha256").read_text().splitlines())
    if not line.startswith("#")
)
NUMBER = VERSION.partition("-")[0]
LINUX = f"#!/bin/sh\necho {NUMBER}-netwarp\n"
CONFIG = "CONFIG_UML=y\n"


def wheel(place: Path, key: str, **said: str) -> Path:
    """Write a wheel as `make wheel` does; what it says of its kernel may be otherwise."""
    given = {
        "version": NUMBER, "key": key, "source_package": PACKAGE, "source_version": VERSION,
        "source_sha256": PINNED, "patches_sha256": "", "seccomp": "true",
        "kernel_sha256": sha256(LINUX.encode()).hexdigest(),
        "config_sha256": sha256(CONFIG.encode()).hexdigest(),
    } | said  # fmt: skip
    lines = ",\n".join(f'  "{name}": "{value}"' for name, value in given.items())
    file = place / "netwarp_kernel-1-py3-none-any.whl"
    with zipfile.ZipFile(file, "w") as packed:
        for name, text in (
            ("linux", LINUX), ("config", CONFIG), ("kernel.json", f"{{\n{lines},\n}}\n")
        ):  # fmt: skip
            packed.writestr(f"netwarp_kernel/{key}/{name}", text)
    return file


def build(place: Path, *options: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["bash", GUEST / "build.sh", "--cache", place / "cache", *options],
        capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip


@pytest.fixture
def key(tmp_path: Path) -> str:
    """Return the key of the kernel that would be built now, from the refusal of another."""
    refused = build(tmp_path, "--wheel", wheel(tmp_path, f"{NUMBER}-aa"))
    assert refused.returncode == 1, refused.stderr
    found = re.search(rf"kernel {NUMBER}-aa, and guest/ as it is now makes (\S+):", refused.stderr)
    assert found is not None, refused.stderr
    assert not list((tmp_path / "cache").glob(f"{NUMBER}*"))
    return found[1]


def test_the_kernel_that_would_be_built_is_taken(tmp_path: Path, key: str) -> None:
    taken = build(tmp_path, "--wheel", wheel(tmp_path, key))
    assert taken.returncode == 0, taken.stderr
    entry = tmp_path / "cache" / key
    assert build(tmp_path, "--print").stdout == f"{entry}\n"
    assert (tmp_path / "cache" / "current").resolve() == entry
    assert (entry / "linux").read_text() == LINUX
    assert not list((tmp_path / "cache").glob(".netwarp-build.*"))


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ({"kernel_sha256": "0" * 64}, "its linux is not what its kernel.json says"),
        ({"config_sha256": "0" * 64}, "its config is not what its kernel.json says"),
        ({"source_sha256": "0" * 64}, "which is not what guest/sources.sha256 pins"),
        ({"source_version": "9.9-1"}, "and guest/ as it is now makes"),
    ],
)
def test_another_kernel_is_refused(
    tmp_path: Path, key: str, said: dict[str, str], why: str
) -> None:
    done = build(tmp_path, "--wheel", wheel(tmp_path, key, **said))
    assert done.returncode == 1
    assert why in done.stderr
    assert build(tmp_path, "--print").returncode == 1


def test_what_is_no_wheel_of_a_kernel_is_refused(tmp_path: Path) -> None:
    (tmp_path / "text.whl").write_text("text")
    with zipfile.ZipFile(tmp_path / "empty.whl", "w") as packed:
        packed.writestr("netwarp/__init__.py", "")
    assert "cannot be unpacked" in build(tmp_path, "--wheel", tmp_path / "text.whl").stderr
    refused = build(tmp_path, "--wheel", tmp_path / "empty.whl")
    assert refused.returncode == 1
    assert "has no kernel: name a netwarp_kernel-*.whl" in refused.stderr


@pytest.mark.parametrize(
    ("options", "why"),
    [
        (("6.12",), "--wheel beside what makes another kernel"),
        (("--config", "CONFIG_TCP_CONG_BBR=n"), "--wheel beside what makes another kernel"),
        (("--wheel", "/nosuch.whl"), "--wheel /nosuch.whl: no such file"),
    ],
)
def test_a_wheel_has_the_default_kernel_alone(
    tmp_path: Path, options: tuple[str, ...], why: str
) -> None:
    refused = build(tmp_path, "--wheel", wheel(tmp_path, "aa"), *options)
    assert refused.returncode == 2
    assert why in refused.stderr
