"""Metrics that a study reads from what programs print, and words that it puts into commands."""

from __future__ import annotations

from typing import Any

import pytest

from netwarp.errors import StudyError
from netwarp.measure.printed import printed_metric
from netwarp.metrics import METRICS, failure_from_records, metric_named, metrics_from_records
from netwarp.plan import plan_study
from netwarp.study import Study
from netwarp.study.study import study_from_mapping
from netwarp.wire import Command, End, Job, Program, Record, Side
from netwarp.wording import quantity
from netwarp.workloads.command import search

IPERF = '{"end": {"sum_received": {"bits_per_second": 9.5e6}, "streams": [{"jitter_ms": 0.25}]}}'


def command_study(factors: dict[str, list[Any]] | None = None, **workload: Any) -> Study:
    tables = {"kind": "command", "server": "serve", "client": "fetch", **workload}
    return study_from_mapping(
        {"title": "t", "replicates": 1, "transport": "tcp", "workload": tables,
         "factors": factors or {}}
    )  # fmt: skip


def job_measuring(**metrics: Any) -> Job:
    return plan_study(command_study(metrics=metrics))[0].job


def ran(client: str, server: str = "") -> list[Record]:
    return [
        _program("client", client),
        _program("server", server),
        End(record="end", virtual_ns=2_000_000_000, failure=None),
    ]


def _program(side: Side, printed: str) -> Program:
    return Program(
        record="program", side=side, started_ns=0, ready_ns=1 if side == "server" else None,
        ended_ns=2_000_000_000, exit_status=0, signal=None, stdout_bytes=len(printed),
        stderr_bytes=0, stdout=printed,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("name", "unit", "better", "title"),
    [
        ("throughput_bit_s", "bit/s", "higher", "Throughput"),
        ("requests_per_s", "1/s", "higher", "Requests"),
        ("page_load_s_p95", "s", "lower", "Page load, p95"),
        ("lost_packets_down", "packets", "neither", "Lost, down"),
    ],
)
def test_a_metrics_name_says_its_unit(name: str, unit: str, better: str, title: str) -> None:
    metric = metric_named(name)
    assert (metric.unit, metric.better, metric.title) == (unit, better, title)
    assert quantity(name, 1.0).title == title


@pytest.mark.parametrize("name", ["latency", "latency_ms", "_s", "s", "Latency_s", "a__s", "a_s_x"])
def test_a_name_without_a_unit_is_no_metric(name: str) -> None:
    assert printed_metric(name) is None
    with pytest.raises(StudyError, match="ends in its unit"):
        job_measuring(**{name: {"json": "a"}})


@pytest.mark.parametrize(
    ("place", "printed", "value"),
    [
        ({"json": "end.sum_received.bits_per_second"}, IPERF, 9.5e6),
        ({"json": "end.streams.0.jitter_ms", "scale": 0.001}, IPERF, 0.00025),
        ({"json": "end.streams.0.jitter_ms"}, f"some words\n{IPERF}\n", 0.25),
        ({"json": "0"}, '["7.5"]', 7.5),
        ({"regex": r"took (\d+\.\d+) s"}, "took 1.5 s\ntook 2.5 s\n", 2.5),
        ({"regex": r"^\d+$"}, "x 1\n12\ny 3", 12.0),
        ({"regex": r"n=(-?\d+)", "scale": 2}, "n=-3", -6.0),
    ],
)
def test_a_number_is_found_in_the_clients_output(
    place: dict[str, Any], printed: str, value: float
) -> None:
    measured = metrics_from_records(job_measuring(found_s=place), ran(printed, server="n=1"))
    assert measured["found_s"] == pytest.approx(value)
    assert measured["run_time_s"] == 2.0
    assert next(iter(measured)) == "found_s"


def test_a_number_is_found_in_the_servers_output() -> None:
    job = job_measuring(served_count={"regex": r"served (\d+)", "program": "server"})
    assert metrics_from_records(job, ran("served 1", "served 5"))["served_count"] == 5


@pytest.mark.parametrize(
    ("place", "printed", "words"),
    [
        ({"json": "end.rate"}, IPERF, r"its JSON has no end.rate \(rate is missing\)"),
        ({"json": "end.streams.1"}, IPERF, r"1 is missing"),
        ({"json": "end.streams"}, IPERF, "end.streams is not a number"),
        ({"json": "a"}, '{"a": true}', "printed True"),
        ({"json": "a"}, '{"a": NaN}', "printed nan"),
        ({"json": "a"}, "plain words", "no JSON document"),
        ({"regex": "took (.*) s"}, "took long s", "could not convert"),
        ({"regex": "took (.*) s"}, "", "nothing matches"),
    ],
)
def test_a_run_without_the_number_has_failed(
    place: dict[str, Any], printed: str, words: str
) -> None:
    failure = failure_from_records(job_measuring(found_s=place), ran(printed))
    assert failure is not None
    assert failure.message.startswith("the client's program printed")
    with pytest.raises(ValueError, match=words):
        metrics_from_records(job_measuring(found_s=place), ran(printed))


@pytest.mark.parametrize(
    ("place", "words"),
    [
        ({}, "in a JSON document or found by"),
        ({"json": "a", "regex": "b"}, "in a JSON document or found by"),
        ({"regex": "("}, "not a regular expression"),
        ({"regex": "(a)(b)"}, "more than one group"),
        ({"json": "a", "colour": "b"}, "unknown key"),
    ],
)
def test_what_says_no_place_is_refused(place: dict[str, Any], words: str) -> None:
    with pytest.raises(StudyError, match=words):
        job_measuring(found_s=place)


def test_a_name_that_netwarp_has_is_refused() -> None:
    assert "run_time_s" in METRICS
    with pytest.raises(StudyError, match="itself has a metric of this name"):
        job_measuring(run_time_s={"json": "a"})


def test_figures_and_claims_take_a_studys_own_metrics() -> None:
    tables: dict[str, Any] = {
        "title": "t", "transport": "tcp", "replicates": 1,
        "workload": {"kind": "command", "server": "s", "client": "c",
                     "metrics": {"found_s": {"json": "a"}}},
        "factors": {"path.loss": ["0%", "1%"]},
        "figure": [{"kind": "line", "x": "path.loss", "y": "found_s"}],
        "claim": [{"text": "t", "metric": "found_s", "less": {"path.loss": "0%"},
                   "than": {"path.loss": "1%"}}],
    }  # fmt: skip
    assert study_from_mapping(tables).figures[0].metric == "found_s"
    tables["claim"][0]["metric"] = "fuond_s"
    with pytest.raises(StudyError, match='did you mean "found_s"'):
        study_from_mapping(tables)


def test_words_stand_in_commands_and_a_factor_varies_one() -> None:
    study = command_study(
        {"command.version": [1.2, "1.3"], "command.flag": [True]},
        server="serve-{version} --port {port} '{ print }' ${HOME}",
        client=["fetch", "http://{server}:{port}/{run}", "{flag}"],
        ready="port:8080",
        environment={"VERSION": "{version}"},
    )
    first, second = (cell.template.only.workload for cell in study.cells)
    assert isinstance(first, Command)
    assert isinstance(second, Command)
    assert first.server[-1] == "serve-1.2 --port 8080 '{ print }' ${HOME}"
    assert second.client == ("fetch", "http://server:8080/{run}", "true")
    assert second.environment[0].value == "1.3"
    assert study.cells[1].levels == {"command.version": "1.3", "command.flag": "true"}


@pytest.mark.parametrize(
    ("factor", "words"),
    [
        ("command.version", "no command has it"),
        ("command.port", "netwarp itself fills this word"),
        ("command.a-b", "no word"),
        ("workload.metrics", "nothing of this name to vary"),
    ],
)
def test_words_that_stand_nowhere_are_refused(factor: str, words: str) -> None:
    with pytest.raises(StudyError, match=words) as refused:
        command_study({factor: ["1"]})
    assert f'factors."{factor}"' in str(refused.value)


def test_a_factor_of_commands_needs_commands() -> None:
    tables = {"title": "t", "transport": "tcp", "factors": {"command.version": ["1"]}}
    with pytest.raises(StudyError, match=r'factors\."command\.version"'):
        study_from_mapping(tables)


@pytest.mark.parametrize("pattern", ["((?:a+)+)[0-9]$", "(?:a|a)*b"])
def test_a_search_that_would_not_end_fails_the_run(
    pattern: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search, "MOST_CPU_S", 1)
    job = job_measuring(found_count={"regex": pattern})
    failure = failure_from_records(job, ran("a" * 60))
    assert failure is not None
    assert "more than 1 s of CPU time" in failure.message
    assert pattern in failure.message


def test_a_repetition_in_a_repetition_is_no_fault() -> None:
    job = job_measuring(version_count={"regex": r"^v(?:[0-9]+[.])+([0-9]+)$"})
    assert metrics_from_records(job, ran("v1.2.3" + 99_999 * "\nv1.2.4"))["version_count"] == 4


@pytest.mark.parametrize("printed", ["[" * 200_000, '{"a": 1' + "0" * 400 + "}"])
def test_a_document_that_holds_no_number_of_ours_fails_the_run(printed: str) -> None:
    """It is nested deeper than Python reads, or the number is beyond a float."""
    failure = failure_from_records(job_measuring(a_count={"json": "a"}), ran(printed))
    assert failure is not None
    assert "printed no a_count" in failure.message
