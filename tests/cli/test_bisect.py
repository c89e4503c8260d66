"""`netwarp bisect`: what is refused before anything is built."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from cli.conftest import Netwarp

STUDY = """
title = "A file"
replicates = 7
[path]
rtt = "20ms"
rate = "10mbit"
[workload]
size = "100kB"
[transport]
kind = "tcp"
"""


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """Make a repository with three commits, of which one is on a branch of its own."""
    place = tmp_path / "linux"
    place.mkdir()
    git = ["git", "-C", str(place), "-c", "user.name=n", "-c", "user.email=e@example.org"]
    subprocess.run([*git, "init", "-q"], check=True)
    for tag in ("old", "new"):
        subprocess.run([*git, "commit", "-q", "--allow-empty", "-m", tag], check=True)
        subprocess.run([*git, "tag", tag], check=True)
    subprocess.run([*git, "checkout", "-q", "-b", "side", "old"], check=True)
    subprocess.run([*git, "commit", "-q", "--allow-empty", "-m", "aside"], check=True)
    (tmp_path / "study.toml").write_text(STUDY)
    (tmp_path / "kernel.toml").write_text(f'kernel = "7.3"\n{STUDY}')
    return place


EXPECT = ("--expect", "completion_time_s < 2 s")


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("--good", "old"), "Give --git DIR --good REF --bad REF"),
        (("--good", "old", "--bad", "v9", *EXPECT), "--bad v9: there is no such commit"),
        (("--good", "side", "--bad", "new", *EXPECT), "is not in the history of --bad new"),
        (("--good", "new", "--bad", "old", *EXPECT), "is not in the history of --bad old"),
        (("--good", "old", "--bad", "old", *EXPECT), "is not in the history of --bad old"),
        (("--good", "old", "--bad", "new"), "what tells good from bad? Give --expect"),
        (("--good", "old", "--bad", "new", "--expect", "rubbish"), "rubbish"),
        (("--good", "old", "--bad", "new", "--differs", *EXPECT), "--differs beside --expect"),
        (
            ("--good", "old", "--bad", "new", "--metric", "completion_time_s", *EXPECT),
            "--metric: an expectation names its metric",
        ),
    ],
)
def test_what_cannot_be_bisected_is_refused_with_the_remedy(
    netwarp: Netwarp, repository: Path, arguments: tuple[str, ...], says: str
) -> None:
    answer = netwarp("bisect", "study.toml", "--git", repository, *arguments)
    assert answer.returncode == 2, answer.stderr
    assert says in " ".join(answer.stderr.split())
    assert not (repository.parent / "netwarp-out").exists()


def test_an_endpoint_that_no_run_could_use_is_named_before_a_kernel_is_built(
    netwarp: Netwarp, repository: Path
) -> None:
    ends = ("--good", "old", "--bad", "new")
    answer = netwarp(
        "bisect", "study.toml", "--git", repository, *ends, *EXPECT,
        NETWARP_ENDPOINT="/nowhere",
    )  # fmt: skip
    assert answer.returncode != 0
    assert "no endpoint program at /nowhere" in answer.stderr
    assert not (repository.parent / "netwarp-out").exists()


def test_a_study_that_names_its_kernel_is_refused(netwarp: Netwarp, repository: Path) -> None:
    ends = ("--good", "old", "--bad", "new")
    answer = netwarp("bisect", "kernel.toml", "--git", repository, *ends, *EXPECT)
    assert answer.returncode == 2
    assert "names its kernel" in answer.stderr


def test_a_commit_that_is_no_kernel_tells_nothing(netwarp: Netwarp, repository: Path) -> None:
    ends = ("--good", "old", "--bad", "new")
    tree = ("--tree", repository.parent / "tree")
    answer = netwarp("bisect", "study.toml", "--git", repository, *ends, *EXPECT, *tree)
    assert answer.returncode == 2, answer.stderr
    said = " ".join(answer.stderr.split())
    assert "does not tell whether it meets the expectations" in said
    assert "it cannot be built" in said
