"""What a study asks: its main metrics, what is compared against what, and the usual answers."""

from dataclasses import replace
from pathlib import Path

import pytest

import support
from netwarp.errors import InputError, StudyError
from netwarp.estimate.comparison import Verdict
from netwarp.estimate.criteria import Criteria
from netwarp.evaluation import RunData
from netwarp.measurement_notes import flow_queueing_text
from netwarp.output.table import notes, result_blocks
from netwarp.results import ComparedBy, Results, RunResult
from netwarp.results.comparisons import compare_contenders, main_metrics
from netwarp.results.undecided import undecided_text
from netwarp.study import study_from_mapping
from netwarp.study.contenders import LATENCY, contender_factor


def with_metrics(factor: str, **of: float) -> Results:
    """Make results with a factor in place of the transport, and more metrics."""
    runs = [
        replace(
            run,
            factors={factor: run.factors["transport"], "path.loss": run.factors["path.loss"]},
            metrics={**run.metrics, **{name.replace("__", "."): of[name] for name in of}},
        )
        for run in support.results(failed_run=None).runs
        if run.factors["path.rtt"] == "50ms"
    ]
    return Results(tuple(runs))


@pytest.mark.parametrize(
    ("factor", "is_answer"),
    [("path.queue", True), ("path.discipline", True), ("transport.congestion", True),
     ("workload.a.transport.congestion", True), ("transport", False), ("workload.size", False)],
)  # fmt: skip
def test_latency_under_load_is_an_answer_where_queues_may_differ(
    factor: str, is_answer: bool
) -> None:
    found = main_metrics(with_metrics(factor, rtt_under_load_s_p95=0.1))
    assert found == ["completion_time_s", *([LATENCY] if is_answer else [])]


def test_each_of_several_workloads_has_an_answer() -> None:
    runs = []
    for run in support.results(failed_run=None).runs:
        metrics = {"jain_index": 0.9, "bulk.goodput_bit_s": 1e6, "ping.rr_latency_s_mean": 0.1}
        runs.append(replace(run, metrics=metrics))
    assert main_metrics(Results(tuple(runs))) == [
        "jain_index", "bulk.goodput_bit_s", "ping.rr_latency_s_mean"
    ]  # fmt: skip


def test_a_study_names_its_metrics_and_what_is_compared_against() -> None:
    tables = support.tables(
        "tcp", factors={"transport": ["tcp", "quic"], "path.loss": ["0%", "1%"]}
    )
    study = study_from_mapping(
        {**tables, "metrics": ["goodput_bit_s"], "against": {"path.loss": "1%"}}
    )
    assert study.metrics == ("goodput_bit_s",)
    assert study.against == {"path.loss": "1%"}
    assert study.raw["against"] == {"path.loss": "1%"}, "spelled as the factor's level is"
    for wrong, said in (
        ({"metrics": ["goodput"]}, "goodput_bit_s"),
        ({"against": {"path.loss": "7%"}}, "not a level of"),
        ({"against": {"path.rtt": "1s"}}, "not a factor"),
        ({"against": {"path.loss": "1%", "transport": "tcp"}}, "one level of one factor"),
    ):
        with pytest.raises(StudyError, match=said):
            study_from_mapping({**tables, **wrong})


def test_the_others_are_compared_against_what_was_asked() -> None:
    asked = replace(support.results(), compared_by=ComparedBy(against={"path.loss": "5%"}))
    assert (asked.contender_factor, asked.first) == ("path.loss", "5%")
    compared = compare_contenders(asked)
    (baseline,) = {e.label for g in compared.groups for e in g.contenders if e.comparison is None}
    assert baseline == "5%"
    assert {"transport", "path.rtt"} == set(compared.groups[0].condition)


def test_a_run_directory_can_be_asked_another_question() -> None:
    data = RunData(Path("out"), support.results(), {})
    shown = data.asked(["connect_time_s"], {"path.rtt": "200ms"})
    assert [each.metric for each in shown.answers] == ["connect_time_s"]
    assert shown.comparisons.first == "200ms"
    assert data.comparisons.metric == "completion_time_s"
    for metrics, against, said in (
        (["conect_time_s"], {}, "did you mean"),
        ([], {"path.rtt": "300ms"}, "no run has it"),
        ([], {"path.rate": "1mbit"}, "no run has it"),
    ):
        with pytest.raises(InputError, match=said):
            data.asked(metrics, against)


@pytest.mark.parametrize(
    ("metric", "levels", "said"),
    [
        (LATENCY, ("fifo", "fq_codel", "cake"), "fq_codel, cake have a queue for each flow"),
        ("queue_delay_s_p95", ("fifo", "fq"), "fq has a queue for each flow"),
        ("ping.rtt_under_load_s_p95", ("fq", "red"), "fq has"),
        (LATENCY, ("fifo", "codel", "pie"), None),
        ("completion_time_s", ("fifo", "fq_codel"), None),
    ],
)
def test_a_latency_behind_a_queue_for_each_flow_says_whose_it_is(
    metric: str, levels: tuple[str, ...], said: str | None
) -> None:
    """A table of fq_codel had 95.7 ms where a ping beside the transfer took 40.7 ms."""
    level = dict(zip(("tcp", "tls", "sctp"), levels, strict=False))
    runs = [
        replace(
            run,
            factors={
                "path.discipline": level[run.factors["transport"]],
                "path.loss": run.factors["path.loss"],
            },
            metrics={**run.metrics, metric: 0.1},
        )
        for run in support.results(failed_run=None).runs
        if run.factors["path.rtt"] == "50ms" and run.factors["transport"] in level
    ]
    data = RunData(Path("out"), Results(tuple(runs), compared_by=ComparedBy((metric,))), {})
    assert (flow_queueing_text(data) is None) is (said is None)
    assert (said or "") in (flow_queueing_text(data) or "")
    shown = "\n".join(str(block) for block in result_blocks(data))
    assert ("has a queue for each" in shown or "have a queue for each" in shown) is bool(said)


def test_a_discipline_that_no_cell_varies_counts_as_well() -> None:
    shown = with_metrics("transport.congestion", rtt_under_load_s_p95=0.1)
    data = RunData(Path("out"), replace(shown, compared_by=ComparedBy((LATENCY,))), {})
    assert flow_queueing_text(data) is None
    vars(data)["fixed"] = {"path.discipline_down": "cake"}
    assert flow_queueing_text(data) is not None


@pytest.mark.parametrize(
    ("levels", "wanted"),
    [
        ({"path.queue": "ab", "transport.congestion": "ab", "transport": "a"},
         "transport.congestion"),
        ({"path.loss": "ab", "path.discipline": "ab"}, "path.discipline"),
        ({"path.loss": "ab", "workload.http": "ab", "transport.ecn": "ab"}, "workload.http"),
        ({"path.loss": "ab", "workload.bbr.transport.congestion": "ab"},
         "workload.bbr.transport.congestion"),
        ({"path.loss": "ab", "path.rtt": "ab"}, "path.loss"),
    ],
)  # fmt: skip
def test_contenders_are_who_transfers_before_what_the_path_does(
    levels: dict[str, str], wanted: str
) -> None:
    assert contender_factor(levels) == wanted
    assert contender_factor(levels, "path.loss") == (
        "path.loss" if "path.loss" in levels else wanted
    )


def test_what_is_undecided_has_a_number_of_replicates() -> None:
    few = support.results(replicates=3, failed_run=None)
    compared = compare_contenders(few)
    assert compared.undecided
    hardest = compared.undecided[-1]
    needed = compared.replicates_needed(hardest)
    assert needed is not None
    assert needed > 3
    text = undecided_text(compared, few) or ""
    assert text.startswith(
        f"{len(compared.undecided)} of {len(compared.comparisons)} are undecided"
    )
    assert "--decide stops at 24" in text
    staged = replace(few, criteria=replace(few.criteria, looks=4))
    assert "It stopped at 3 replicates" in (undecided_text(compared, staged) or "")
    assert all(c.verdict is Verdict.UNDECIDED for c in compared.undecided)


def equal_but_for_noise(replicates: int, looks: int = 1, ratio: float = 1.0) -> Results:
    """Make results of two transports whose ratio varies by a ten-thousandth, under loss."""
    runs = [
        RunResult(
            f"c{cell:03}-r{replicate:02}", cell, replicate, replicate, {"transport": transport},
            "ok", None,
            {"completion_time_s": ratio**cell * 10 + cell * (replicate % 3) / 1000}, ("loss",),
        )
        for cell, transport in enumerate(("tcp", "quic"))
        for replicate in range(replicates)
    ]  # fmt: skip
    return Results(tuple(runs), Criteria(looks=looks))


def test_an_equivalence_needs_as_many_replicates_as_exclude_rare_events() -> None:
    compared = compare_contenders(equal_but_for_noise(10))
    (open_one,) = compared.undecided
    assert compared.replicates_needed(open_one) == 29
    enough = compare_contenders(equal_but_for_noise(29))
    assert not enough.undecided
    (reservation,) = (n for n in notes(equal_but_for_noise(29), [enough]) if "equivalent:" in n)
    assert "29 replicates, what happens in less than 9.8 % of the runs may not have" in reservation


def test_a_difference_needs_seven_replicates_however_small_its_spread() -> None:
    slower = equal_but_for_noise(5, ratio=1.2)
    compared = compare_contenders(slower)
    assert [compared.replicates_needed(each) for each in compared.undecided] == [7]


def test_tables_share_the_error_among_looks() -> None:
    """Of 0.05 each of four looks has a quarter: what 29 replicates show once, they do not then."""
    (once,) = compare_contenders(equal_but_for_noise(29)).comparisons
    compared = compare_contenders(equal_but_for_noise(29, looks=4))
    (often,) = compared.comparisons
    assert (once.verdict, often.verdict) == (Verdict.EQUIVALENT, Verdict.UNDECIDED)
    assert often.error == once.error / 4
    assert compared.replicates_needed(often) == 42


def test_what_deciding_would_not_reach_says_so() -> None:
    """Three replicates become 24 at most; the equivalence takes 29."""
    few, enough = equal_but_for_noise(3), equal_but_for_noise(5)
    text, reached = (undecided_text(compare_contenders(each), each) or "" for each in (few, enough))
    assert text.endswith("--decide stops at 24: begin with more (--replicates).")
    assert reached.endswith("--decide adds them, up to 8 times as many.")
