"""Bad input gets one clear line that names what, where and the remedy; exit 2; nothing is run."""

from __future__ import annotations

from importlib import metadata
from pathlib import Path

import pytest

from cli.conftest import Netwarp
from netwarp.output.export import EXPORTS

STUDY = """# Is this a study?
title = "small"
replicates = 1
[path]
rtt = "10ms"
[workload]
kind = "bulk"
size = "1kB"
[factors]
transport = ["tcp"]
"""

BAD_STUDIES = {
    "unknown key": (STUDY.replace("rtt", "rrt"), ["path.rrt", "rtt"]),
    "unknown section": (STUDY + "[pth]\n", ["pth", "path"]),
    "loss beyond all": (STUDY.replace('rtt = "10ms"', 'loss = "120%"'), ["path.loss", "120%"]),
    "negative delay": (STUDY.replace('"10ms"', '"-10ms"'), ["path.rtt", "-10ms"]),
    "rate of nothing": (STUDY.replace('rtt = "10ms"', 'rate = "0mbit"'), ["path.rate", "0mbit"]),
    "unknown transport": (STUDY.replace('"tcp"', '"tpc"'), ["tpc", "tcp"]),
    "level that is impossible": (
        STUDY + '"path.loss" = ["1%", "101%"]\n',
        ["path.loss", "101%"],
    ),
    "cubic sctp": (
        STUDY.replace('"tcp"]', '"sctp"]\n"transport.congestion" = ["cubic"]'),
        ["sctp", "cubic"],
    ),
    "not TOML": (STUDY.replace("[path]", "[path"), ["line 4"]),
    "missing file": (STUDY.replace('size = "1kB"', 'file = "gone"'), ["workload.file", "gone"]),
}


@pytest.mark.parametrize("name", BAD_STUDIES)
def test_bad_studies_are_refused(netwarp: Netwarp, tmp_path: Path, name: str) -> None:
    text, mentioned = BAD_STUDIES[name]
    (tmp_path / "study.toml").write_text(text)
    answer = netwarp("run", "study.toml", "--out", "out")
    assert answer.returncode == 2, answer.stderr
    assert answer.stdout == ""
    (line,) = answer.stderr.strip().splitlines()
    for word in ("error:", "study.toml", *mentioned):
        assert word in line
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("arguments", "mentioned"),
    [
        (["--loss", "120%"], ["--loss", "120%"]),
        (["--transport", "tcp,carrier-pigeon"], ["--transport", "carrier-pigeon"]),
        (["--rtt=-5ms"], ["--rtt", "-5ms"]),
        (["--file", "/does/not/exist"], ["/does/not/exist"]),
        (["--queue", "1bdp"], ["--queue"]),
        (["--filter", "path.los=1%"], ["--filter", "path.los"]),
        (["--backend", "cloud"], ["--backend", "cloud", "virtual"]),
    ],
)
def test_bad_options_are_refused(
    netwarp: Netwarp, tmp_path: Path, arguments: list[str], mentioned: list[str]
) -> None:
    answer = netwarp("compare", *arguments)
    assert answer.returncode == 2, answer.stderr
    (line,) = answer.stderr.strip().splitlines()
    for word in ("error:", *mentioned):
        assert word in line
    assert not (tmp_path / "netwarp-out").exists()


def test_no_kernel_is_said_with_the_remedy(netwarp: Netwarp, tmp_path: Path) -> None:
    answer = netwarp("compare", NETWARP_KERNEL=str(tmp_path))
    assert answer.returncode == 2
    assert "netwarp kernel build" in answer.stderr


def test_no_scratch_is_said_with_the_remedy(netwarp: Netwarp, tmp_path: Path) -> None:
    answer = netwarp("compare", NETWARP_SCRATCH=str(tmp_path / "nothing"))
    assert answer.returncode == 2
    assert "NETWARP_SCRATCH" in answer.stderr


def test_an_out_that_is_a_file_is_refused(netwarp: Netwarp, tmp_path: Path) -> None:
    (tmp_path / "out").write_text("in the way")
    answer = netwarp("compare", "--out", "out")
    assert answer.returncode == 2
    assert "--out" in answer.stderr


@pytest.mark.parametrize("command", ["show", "report", "export"])
def test_what_is_no_run_directory_is_refused(
    netwarp: Netwarp, tmp_path: Path, command: str
) -> None:
    answer = netwarp(command, tmp_path)
    assert answer.returncode == 2
    assert "netwarp run" in answer.stderr


@pytest.mark.parametrize("command", ["", "demo", "run", "compare", "show", "report", "doctor"])
def test_help_teaches(netwarp: Netwarp, command: str) -> None:
    answer = netwarp(*command.split(), "--help")
    assert answer.returncode == 0
    assert len(answer.stdout.splitlines()) > 5


def test_the_version_is_said(netwarp: Netwarp) -> None:
    answer = netwarp("--version")
    assert (answer.returncode, answer.stdout) == (0, f"netwarp {metadata.version('netwarp')}\n")


def test_all_formats_are_named_in_the_help(netwarp: Netwarp) -> None:
    answer = netwarp("export", "--help")
    for name in EXPORTS:
        assert name in answer.stdout
