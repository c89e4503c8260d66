"""Cells whose runs lie in two modes are named: in the table, the report and `--json`."""

import io
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

import support
from netwarp.cli.printing import print_results
from netwarp.estimate.modes import clear_modes
from netwarp.evaluation import RunData
from netwarp.output.summary import summary
from netwarp.report.page import render
from netwarp.results import Results
from netwarp.study import study_from_mapping

WAITED = (8.3, 19.2, 8.4, 18.8, 19.0, 8.5, 19.0, 19.1, 8.4, 18.9)
"""Four of ten runs did not wait for a time-out."""
SAID = "QUIC, loss 5 %, RTT 50 ms: 4 of 10 runs near 8.4 s, 6 near 19 s"


def run_directory(path: Path) -> RunData:
    """Make results in which QUIC's runs lie in two modes at 5 % loss and 50 ms."""
    runs = [
        replace(run, metrics={**run.metrics, "completion_time_s": WAITED[run.replicate]})
        if run.factors == {"transport": "quic", "path.loss": "5%", "path.rtt": "50ms"}
        else run
        for run in support.results(failed_run=None).runs
    ]
    study = study_from_mapping(support.STUDY)
    return RunData(path, Results(tuple(runs)), {"clock": "virtual"}, given_study=study)


def test_the_table_and_the_report_name_the_cell(tmp_path: Path) -> None:
    data = run_directory(tmp_path)
    written = io.StringIO()
    print_results(data, Console(file=written, width=100))
    table = " ".join(written.getvalue().split())
    page = " ".join(render(data, []).split())
    for text in (table, page):
        assert text.count("bimodal, so that no run is near the mean") == 1
        assert SAID in text.replace("\u2009", " ")
    without = RunData(tmp_path, support.results(failed_run=None), {})
    assert without.bimodal_text is None


def test_json_has_the_modes_of_the_cell(tmp_path: Path) -> None:
    (cell,) = [each for each in summary(run_directory(tmp_path))["cells"] if "bimodal" in each]
    assert cell["factors"] == {"transport": "quic", "path.loss": "5%", "path.rtt": "50ms"}
    (found,) = cell["bimodal"]
    assert found["metric"] == "completion_time_s"
    assert [(mode["runs"], round(mode["mean"], 3)) for mode in found["modes"]] == [
        (4, 8.4), (6, 19.0)
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("values", "parts"),
    [
        ((1.0, 1.01, 1.02, 2.0, 2.01), None),  # too few to say
        ((1.0, 1.01, 1.02, 1.0, 2.0, 2.01), (4, 2)),
        ((1.0, 1.01, 1.02, 1.0, 1.0, 2.0), None),  # one late run of six is none
        ((*[1.0, 1.01, 1.02] * 3, 4.0), (9, 1)),
        ((1.0, 1.01, 1.02, 1.0, 1.15, 1.15), None),  # the two differ by less than a fifth
        ((1.0, 1.3, 1.6, 1.9, 2.2, 2.5), None),
        ((0.0, 0.0, 0.0, 1.0, 1.0, 1.0), None),  # zeros have no ratio
    ],
)
def test_only_clear_modes_are_worth_a_warning(
    values: tuple[float, ...], parts: tuple[int, int] | None
) -> None:
    found = clear_modes(values)
    assert (found and tuple(map(len, found))) == parts
