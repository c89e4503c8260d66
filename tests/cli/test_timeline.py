"""`netwarp timeline`: one run of a run directory as a picture."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cli.conftest import Netwarp
from recorded import write_directory

SVG_START = "<svg "


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    return write_directory(tmp_path / "out")


def test_a_run_is_drawn_into_its_directory_and_the_place_is_said(
    netwarp: Netwarp, directory: Path
) -> None:
    answer = netwarp("timeline", "out", "c003-r01")
    assert (answer.returncode, answer.stderr) == (0, "")
    assert answer.stdout == "out/figures/c003-r01.svg\n"
    svg = (directory / "figures" / "c003-r01.svg").read_text()
    assert svg.startswith(SVG_START)
    for text in ("QUIC, loss 1 %", "Run c003-r01.", "Goodput (Mbit/s)", "stalled"):
        assert f">{text}<" in svg


def test_a_run_is_drawn_as_vega_lite(netwarp: Netwarp, directory: Path, tmp_path: Path) -> None:
    answer = netwarp("timeline", directory, "c000-r00", "-o", "run.json")
    assert (answer.returncode, answer.stdout) == (0, "run.json\n")
    spec = json.loads((tmp_path / "run.json").read_text())
    assert spec["$schema"].startswith("https://vega.github.io/schema/vega-lite")
    assert spec["title"]["text"] == "TCP, loss 0 %"


@pytest.mark.usefixtures("directory")
@pytest.mark.parametrize(
    ("arguments", "mentioned"),
    [
        (["out", "c003-r11"], ["out has no run c003-r11", 'did you mean "c003-r01"?']),
        (["out", "c003-r01", "-o", "run.gif"], ["-o run.gif", ".svg, .png, .pdf, .json"]),
        (["out", ""], ["out has no run"]),
        (["out/runs", "c003-r01"], ["out/runs is not a run directory", "netwarp run"]),
        (["gone", "c003-r01"], ["gone is not a run directory", "netwarp run"]),
    ],
)
def test_what_cannot_be_drawn_is_refused_in_a_line(
    netwarp: Netwarp, tmp_path: Path, arguments: list[str], mentioned: list[str]
) -> None:
    before = sorted(tmp_path.rglob("*"))
    answer = netwarp("timeline", *arguments)
    assert (answer.returncode, answer.stdout) == (2, "")
    (line,) = answer.stderr.strip().splitlines()
    for word in ("error:", *mentioned):
        assert word in line
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.usefixtures("directory")
def test_a_link_of_a_run_without_a_network_is_refused_in_a_line(netwarp: Netwarp) -> None:
    answer = netwarp("timeline", "out", "c003-r01", "--link", "wan")
    assert (answer.returncode, answer.stdout) == (2, "")
    assert "--link wan: the run has one client and one server" in answer.stderr
