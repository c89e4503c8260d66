"""Programs and files that have changed since: no earlier answer is given for them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

NETWARP = Path(sys.executable).with_name("netwarp")
SERVER = ("--server", "echo said; sleep 100", "--ready", "line:said")
STUDY = """
title = "What a server says"
replicates = 1
transport = "tcp"
[path]
rtt = "20ms"
[workload]
kind = "command"
server = "echo said; sleep 100"
ready = "line:said"
client = "cat answer"
[workload.metrics]
answer_count = { regex = "([0-9]+)" }
"""


def netwarp(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [NETWARP, *arguments], cwd=folder, capture_output=True, text=True, check=False
    )


def test_the_same_command_gives_the_answer_of_today(tmp_path: Path) -> None:
    said = []
    for answer in (1, 2):
        (tmp_path / "answer").write_text(f"{answer}\n")
        done = netwarp(tmp_path, "exec", "--out", "o", *SERVER, "--", "cat", "answer")
        assert done.returncode == 0, done.stderr
        said.append(done.stdout)
    assert said == ["1\n", "2\n"]


def test_what_another_command_printed_is_not_printed_again(tmp_path: Path) -> None:
    first = netwarp(tmp_path, "exec", "--out", "o", *SERVER, "--", "echo", "first")
    assert first.stdout == "first\n", first.stderr
    other = netwarp(tmp_path, "exec", "--out", "o", *SERVER, "--", "echo", "other")
    assert (other.returncode, other.stdout) == (2, "")
    assert "another study" in other.stderr


def test_a_study_of_commands_measures_todays_files(tmp_path: Path) -> None:
    (tmp_path / "study.toml").write_text(STUDY)
    for answer in (1, 1, 2):
        (tmp_path / "answer").write_text(f"{answer}\n")
        done = netwarp(tmp_path, "run", "study.toml")
        assert done.returncode == 0, done.stderr
    made = sorted((tmp_path / "netwarp-out").iterdir(), key=lambda path: path.stat().st_mtime_ns)
    answers = [(each / "runs/c000-r00/client.stdout").read_text() for each in made]
    assert answers == ["1\n", "2\n"], "what is the same is not run again"
    (tmp_path / "answer").write_text("3\n")
    refused = netwarp(tmp_path, "run", "study.toml", "--out", str(made[1]))
    assert refused.returncode == 2
    assert f"read another {tmp_path}/answer than today's" in refused.stderr
