"""What nobody foresaw ends in one line, a report file and exit status 70."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

BROKEN = """
import sys
from netwarp import cli
from netwarp.cli import inspect

def broken(path):
    raise ZeroDivisionError("a defect: " + "x" * 10_000)

inspect._run_directory = broken
sys.argv = ["netwarp", "show", "a directory"]
cli.main()
"""


def test_the_unexpected_is_one_line_and_a_report(tmp_path: Path) -> None:
    answer = subprocess.run(
        [sys.executable, "-c", BROKEN],
        env={"TMPDIR": str(tmp_path), "NO_COLOR": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert answer.returncode == 70
    (line,) = answer.stderr.splitlines()
    assert len(line) < 1000
    (report,) = tmp_path.glob("netwarp-error-*.txt")
    assert "ZeroDivisionError: a defect" in line
    assert line.endswith(f"please report it with {report}")
    text = report.read_text()
    assert "$ netwarp show 'a directory'" in text
    assert "Traceback" in text
    assert "in broken" in text


def test_where_no_report_can_be_written_that_is_said(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    gone = "import tempfile; tempfile.tempdir = '/proc/self/nowhere'\n"
    answer = subprocess.run(
        [sys.executable, "-c", gone + BROKEN], capture_output=True, text=True, check=False
    )
    assert answer.returncode == 70
    (line,) = answer.stderr.splitlines()
    assert "no report could be written" in line
