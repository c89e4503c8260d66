"""What `run` and `show` print around the table: conditions, claims, each metric's answer."""

import io
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

import support
from netwarp.cli.compare import lacks_path
from netwarp.cli.printing import print_results
from netwarp.evaluation import RunData, load
from netwarp.output.summary import summary
from netwarp.results import ComparedBy
from netwarp.results.fixed_conditions import fixed_conditions


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> RunData:
    return load(support.write_run_directory(tmp_path_factory.mktemp("answers") / "out"))


def printed(data: RunData, width: int = 100) -> str:
    out = io.StringIO()
    print_results(data, Console(file=out, width=width))
    return out.getvalue()


def test_the_conditions_that_all_cells_share_stand_above_the_table(kept: RunData) -> None:
    first = printed(kept).splitlines()[0]
    assert first == "Rate 50 Mbit/s, queue 1 BDP, size 10 MB"


@pytest.mark.parametrize(
    ("second", "said"),
    [
        ({"rate": "8mbit", "loss": "2%"}, "second path's rate 8 Mbit/s, second path's loss 2 %"),
        ({}, "second path as the first"),
    ],
)
def test_a_second_path_is_named_with_the_first(
    kept: RunData, second: dict[str, str], said: str
) -> None:
    """What arrives faster than over the first path alone is not beyond the rate."""
    path = {"rtt": "20ms", "rate_down": "128kbit", "second": second}
    tables = support.tables("mptcp", path=path)
    data = replace(kept)
    vars(data)["fixed"] = fixed_conditions(tables, support.job_of("mptcp", path=path))
    assert said in " ".join(printed(data, width=200).split("\n\n")[0].split())


@pytest.mark.parametrize(
    ("path", "queue"),
    [
        ({"rtt": "100ms", "rate": "50mbit"}, "1bdp"),
        ({"rtt": "2ms", "rate": "10mbit"}, "20p"),
        ({"rtt": "100ms", "rate": "50mbit", "queue": "4bdp"}, "4bdp"),
        ({"rtt": "100ms"}, None),
    ],
)
def test_a_default_queue_is_named(path: dict[str, str], queue: str | None) -> None:
    tables = support.tables("tcp", path=path)
    assert fixed_conditions({}, support.job_of("tcp", path=path)) == {}, "a damaged study"
    found = fixed_conditions(tables, support.job_of("tcp", path=path))
    assert found.get("path.queue") == queue


@pytest.mark.parametrize("width", [80, 100])
def test_each_main_metric_has_its_table(kept: RunData, width: int) -> None:
    compared_by = ComparedBy(("completion_time_s", "connect_time_s"), {"path.loss": "1%"})
    asked = replace(kept, results=replace(kept.results, compared_by=compared_by))
    text = printed(asked, width)
    lines = text.splitlines()
    assert max(map(len, lines)) <= width
    assert lines.count("Completion time") == lines.count("Connection time") == 1
    assert text.count("against 1 %") >= 2
    cell = summary(asked)["cells"][0]
    assert [each["metric"] for each in cell["comparisons"]] == list(compared_by.metrics)
    assert cell["comparison"] == cell["comparisons"][0]
    assert json.dumps(cell)


def test_a_metric_that_no_run_has_is_named(kept: RunData) -> None:
    compared_by = ComparedBy(("completion_time_s", "jain_index"))
    asked = replace(kept, results=replace(kept.results, compared_by=compared_by))
    assert "no run has jain_index" in printed(asked)


def test_claims_are_printed_with_verdict_and_numbers(tmp_path: Path) -> None:
    directory = support.write_run_directory(tmp_path / "out")
    file = directory / "study.json"
    claim = {
        "text": "QUIC connects faster than TCP.", "metric": "connect_time_s",
        "less": {"transport": "quic"}, "than": {"transport": "tcp"}, "authors": False,
    }  # fmt: skip
    file.write_text(json.dumps(json.loads(file.read_text()) | {"claim": [claim]}))
    text = printed(load(directory))
    (line,) = (each for each in text.splitlines() if "QUIC connects faster" in each)
    verdict = load(directory).claims[0]
    assert line == f"{verdict.word}: QUIC connects faster than TCP."
    assert "found: QUIC against TCP" in text
    file.write_text(json.dumps(json.loads(file.read_text()) | {"claim": []}))
    assert "Claims" not in printed(load(directory))


def test_a_row_names_the_stack_that_is_not_netwarps(kept: RunData) -> None:
    other = replace(kept)
    other.__dict__["fixed"] = {"transport.stack.name": "quic-go"}
    assert "\nQUIC (quic-go) " in printed(other)
    assert printed(other).startswith("Stack quic-go\n")
    assert "\nTCP " in printed(other)


@pytest.mark.parametrize(
    ("given", "lacks"),
    [
        ({}, True),
        ({"size": ["1MB"]}, True),
        ({"rtt": ["1ms"]}, False),
        ({"set": ["path.rate=1mbit"]}, False),
        ({"set": ["factors.path.rate=1mbit"]}, False),
        ({"set": ["seed=2"], "backend": "virtual"}, True),
        ({"backend": "remote:host:4434"}, False),
    ],
)
def test_a_race_without_a_path_is_noticed(given: dict[str, Any], lacks: bool) -> None:
    assert lacks_path(given) is lacks
