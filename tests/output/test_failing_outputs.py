"""Outputs that cannot be written when runs are done cost neither the answer nor the report."""

from __future__ import annotations

from pathlib import Path

import pytest

import support
from netwarp.cli.checks import Checks
from netwarp.cli.terminal import print_and_end
from netwarp.errors import InputError, ResultError
from netwarp.evaluation import RunData
from netwarp.library import Run, open_run
from netwarp.output import baseline as baselines


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return open_run(support.write_run_directory(tmp_path_factory.mktemp("answers") / "out"))


@pytest.fixture
def written(monkeypatch: pytest.MonkeyPatch) -> list[RunData]:
    """The results of which the outputs were written."""
    found: list[RunData] = []

    def write(data: RunData, *, anew: bool) -> None:
        assert not anew
        found.append(data)

    monkeypatch.setattr("netwarp.pipeline.write_outputs", write)
    return found


@pytest.mark.parametrize("as_json", [False, True])
def test_a_file_that_cannot_be_written_costs_neither_answer_nor_report(
    finished: Run, written: list[RunData], capsys: pytest.CaptureFixture[str], tmp_path: Path,
    as_json: bool,
) -> None:  # fmt: skip
    gone = Checks(markdown=tmp_path / "gone" / "summary.md")
    with pytest.raises(ResultError, match="cannot write"):
        print_and_end(finished, as_json, checks=gone)
    assert written == [finished.data]
    assert "completion" in capsys.readouterr().out


@pytest.mark.parametrize("as_json", [False, True])
def test_a_baseline_that_cannot_be_compared_costs_neither(
    finished: Run, written: list[RunData], capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch, as_json: bool,
) -> None:  # fmt: skip
    """It fails with status 1: as runs were done, nothing is refused."""

    def refused(*_: object) -> None:
        raise InputError("the baseline cannot be compared")

    monkeypatch.setattr(baselines, "compare_with_baseline", refused)
    before = baselines.Baseline("a study", {}, 0.01, ("completion_time_s",), (), ())
    with pytest.raises(ResultError, match="cannot be compared") as raised:
        print_and_end(finished, as_json, checks=Checks(before, "b.json"))
    assert raised.value.exit_status == 1
    assert written == [finished.data]
    assert "completion" in capsys.readouterr().out
