"""No file of the repository names the host of a package registry: a machine's own settings do."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[1]
HOSTS = tuple(
    words.replace(" ", ".")
    for words in (
        "deb debian org",
        "ftp debian org",
        "security debian org",
        "archive ubuntu com",
        "security ubuntu com",
        "pypi org",
        "files pythonhosted org",
        "crates io",
        "registry npmjs org",
        "registry yarnpkg com",
        "proxy golang org",
        "sum golang org",
        "repo maven apache org",
        "repo1 maven org",
        "rubygems org",
    )
)
"""The hosts, which are written apart here so that this file names none of them either."""
GENERATED = frozenset({"Cargo.lock"})
"""Names of files that a package tool writes: Cargo has its registry's name in every lock file."""


def named_in(text: bytes) -> list[str]:
    return [host for host in HOSTS if host.encode() in text]


def test_no_file_names_a_registrys_host() -> None:
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=REPOSITORY, check=True, capture_output=True
    )
    files = [REPOSITORY / name for name in listed.stdout.decode().split("\0") if name]
    assert len(files) > 1000
    found = {
        str(path.relative_to(REPOSITORY)): hosts
        for path in files
        if path.is_file() and path.name not in GENERATED
        if (hosts := named_in(path.read_bytes()))
    }
    assert found == {}


@pytest.mark.parametrize("host", HOSTS)
def test_a_host_would_be_found(host: str) -> None:
    assert named_in(f'MIRROR = "http://{host}/debian"'.encode()) == [host]
