"""Shares, Jain's index, convergence and harm, against numbers worked out by hand."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from netwarp.measure.sharing import Arrived, convergence_ns, harm, jain_index, shares
from netwarp.metrics import competing, failure_from_records, metric_named, metrics_from_records
from netwarp.metrics.competing import workload_views
from netwarp.results import Results, RunResult
from netwarp.results.harm import with_harm
from netwarp.wire import (
    Bulk,
    ConnectionSamples,
    GaveUp,
    Goodput,
    OfWorkload,
    Record,
    Transfer,
    job_from_json,
    read_records,
)
from support import GOLDEN

SECOND = 1_000_000_000
COLUMNS = (
    "cwnd_bytes", "ssthresh_bytes", "rtt_ns", "unacked_bytes", "acked_bytes", "retrans_packets",
    "pacing_rate_bit_s", "busy_ns", "rwnd_limited_ns", "sndbuf_limited_ns",
)  # fmt: skip


def arrived(*bytes_: int, step_ns: int = SECOND) -> Arrived:
    return Arrived.of(Goodput(record="goodput", step_ns=step_ns, bytes=bytes_))


def test_jains_index_is_that_of_the_report_of_1984() -> None:
    assert jain_index([5, 5]) == 1
    assert jain_index([7, 0, 0, 0]) == pytest.approx(1 / 4), "one of four has all"
    # 20 users of 100 have the same, and 80 nothing: fair to a fifth of them.
    assert jain_index([1] * 20 + [0] * 80) == pytest.approx(0.2)
    assert jain_index([3, 1]) == pytest.approx(16 / 20)
    assert jain_index([0, 0]) is None


def test_harm_is_that_of_ware_and_others() -> None:
    # 15 Mbit/s alone, 5 beside another; 30 ms alone, 40 beside it.
    assert harm(15, 5, more_is_better=True) == pytest.approx(2 / 3)
    assert harm(30, 40, more_is_better=False) == pytest.approx(1 / 4)
    assert harm(10, 10, more_is_better=True) == 0
    assert harm(10, 12, more_is_better=True) == pytest.approx(-0.2), "it was helped"
    assert harm(0, 0, more_is_better=True) is None


def test_what_arrived_is_counted_as_if_evenly_within_a_step() -> None:
    content = arrived(100, 300)
    assert [content.until(second * SECOND) for second in (0, 0.5, 1, 1.5, 2, 9)] == [
        0, 50, 100, 250, 400, 400,
    ]  # fmt: skip
    assert content.between(0.5 * SECOND, 1.5 * SECOND) == 200
    assert shares([content, arrived(100, 100)], 0, 2 * SECOND) == [4 / 6, 2 / 6]
    assert shares([arrived(), arrived(0)], 0, SECOND) is None


def test_convergence_is_to_the_first_second_in_which_each_has_its_part_within_a_tenth() -> None:
    # The second one begins at 2 s; of what comes it has 10, 20, 40, 47 and 50 %.
    first = arrived(100, 100, 90, 80, 60, 53, 50, 50)
    second = arrived(0, 0, 10, 20, 40, 47, 50, 50)
    # 45 % are enough. Of the second from 4.7 s on it has 0.3 · 40 + 0.7 · 47 = 44.9, from 4.8 s on
    # 45.6.
    span_ns = 2 * SECOND, 8 * SECOND
    assert convergence_ns([first, second], span_ns, rtt_ns=0) == 28 * SECOND // 10
    assert convergence_ns([first, second], (2 * SECOND, 5 * SECOND), rtt_ns=0) is None
    # Of two seconds from 4.2 s on it has (0.8 · 40 + 47 + 0.2 · 50) ÷ 2 = 44.5, from 4.4 s on 45.5.
    assert convergence_ns([first, second], span_ns, rtt_ns=SECOND // 5) == 24 * SECOND // 10
    assert convergence_ns([second, second], span_ns, rtt_ns=0) == 0


def test_shares_that_only_cross_do_not_converge() -> None:
    first, second = arrived(100, 50, 10, 10, 10), arrived(0, 50, 90, 90, 90)
    assert shares([first, second], SECOND, 2 * SECOND) == [0.5, 0.5]
    assert convergence_ns([first, second], (SECOND, 5 * SECOND), rtt_ns=0) is None


def test_a_run_of_several_workloads_has_the_metrics_of_each() -> None:
    job = job_from_json((GOLDEN / "job-competing.json").read_text())
    records = read_records(GOLDEN / "records-competing.jsonl")
    assert failure_from_records(job, records) is None
    found = metrics_from_records(job, records)
    came = {
        each.workload: sum(each.line.bytes)
        for each in records
        if isinstance(each, OfWorkload) and isinstance(each.line, Goodput)
    }
    assert set(came) == {"one", "two"}
    assert {"one.goodput_bit_s", "two.goodput_bit_s", "wire_packets_down"} <= set(found)
    assert "completion_time_s" not in {name.partition(".")[2] for name in found}
    assert "goodput_bit_s" not in found, "there is none of all together"
    for name in found:
        assert metric_named(name).name == name


def test_the_share_of_the_delivery_rate_is_that_of_the_means_of_its_samples(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    job = job_from_json((GOLDEN / "job-competing.json").read_text())
    kept: list[Record] = []
    for each in read_records(GOLDEN / "records-competing.jsonl"):
        if isinstance(each, ConnectionSamples):
            sampled = each
        else:
            kept.append(each)
    end_ns = min(view.span_ns[1] for view in workload_views(job, kept))
    # The first sample is before the last seconds, and 0 is no estimate.
    times = {"at_ns": tuple(end_ns - left_ns for left_ns in (end_ns, SECOND, 2000, 1000, 0))}
    columns = dict.fromkeys(COLUMNS, (0,) * 5) | {"has_sent_all": (False,) * 5} | times
    rates = {"one": (99, 30, 0, 30, 60), "two": (99, 10, 10, 10, 10)}

    def shares_of(rates: Mapping[str, tuple[int, ...]]) -> list[float | None]:
        samples = [
            sampled.model_copy(
                update=columns
                | {"server_port": each.port, "delivery_rate_bit_s": rates[each.name or ""]}
            )
            for each in job.workloads
        ]
        found = metrics_from_records(job, [*kept[:-1], *samples, kept[-1]])
        metric = "delivery_rate_share_ratio_last_minute"
        return [found.get(f"{each.name}.{metric}") for each in job.workloads]

    assert shares_of(rates) == [None, None], "they were together for ten seconds"
    monkeypatch.setattr(competing, "LAST_MINUTE_NS", 5 * SECOND)
    assert shares_of(rates) == [pytest.approx(0.8), pytest.approx(0.2)], "40 and 10"
    assert shares_of(rates | {"two": ()}) == [None, None], "its stack reports none"


def test_a_workload_that_did_less_than_it_was_asked_fails_the_run_by_its_name() -> None:
    job = job_from_json((GOLDEN / "job-competing.json").read_text())
    records = read_records(GOLDEN / "records-competing.jsonl")
    without = [
        each for each in records if not (isinstance(each, OfWorkload) and each.workload == "two")
    ]
    failure = failure_from_records(job, without)
    assert failure is not None
    assert failure.message.startswith("two: the client recorded 0 of 1 chunks")


def test_what_others_did_stands_where_one_gave_up() -> None:
    job = job_from_json((GOLDEN / "job-competing.json").read_text())
    records = read_records(GOLDEN / "records-competing.jsonl")
    whole = metrics_from_records(job, records)
    gave_up = GaveUp(record="gave_up", side="server", at_ns=8 * SECOND, cause="sending: timed out")
    others = [
        each for each in records if not (isinstance(each, OfWorkload) and each.workload == "two")
    ]
    told = OfWorkload(record="of_workload", workload="two", line=gave_up)
    without = [*others[:-1], told, others[-1]]
    assert failure_from_records(job, without) is None
    found = metrics_from_records(job, without)
    of_one = {name: value for name, value in found.items() if name.startswith("one.")}
    assert of_one == {name: whole[name] for name in of_one}
    assert of_one["one.goodput_bit_s"] > 0
    assert {name for name in found if name.startswith("two.")} == {"two.gave_up_s"}
    assert found["two.gave_up_s"] == 8
    assert found["wire_packets_down"] == whole["wire_packets_down"]
    run = RunResult("c000-r00", 0, 0, 1, {}, "ok", None, found)
    assert run.gave_up_s == {"two": 8}
    (cell,) = Results((run,)).cells
    assert cell.gave_up == (run,)


def result(workloads: str, replicate: int, **metrics: float) -> RunResult:
    named = {name.replace("__", "."): value for name, value in metrics.items()}
    factors = {"path.rtt": "20ms", "workloads": workloads}
    return RunResult(f"{workloads}-{replicate}", 0, replicate, 1, factors, "ok", None, named)


def test_harm_is_against_the_run_alone_of_the_same_replicate() -> None:
    runs = [
        result("all", 0, load__goodput_bit_s=6e6, ping__rr_latency_s_p95=0.04),
        result("all", 1, load__goodput_bit_s=5e6, ping__rr_latency_s_p95=0.05),
        result("load", 0, load__goodput_bit_s=8e6),
        result("load", 1, load__goodput_bit_s=10e6),
        result("ping", 1, ping__rr_latency_s_p95=0.02),
    ]
    found = [{**each.metrics} for each in with_harm(Results(tuple(runs))).runs]
    assert found[0]["load.harm_ratio"] == pytest.approx(1 / 4)
    assert found[1]["load.harm_ratio"] == pytest.approx(1 / 2)
    assert found[1]["ping.harm_ratio"] == pytest.approx(3 / 5)
    assert "ping.harm_ratio" not in found[0], "nobody measured it alone"
    assert found[2:] == [{**each.metrics} for each in runs[2:]], "alone nobody is harmed"


def test_the_goodput_of_what_was_broken_off_is_over_its_whole_time() -> None:
    """One that others starved early was there all the same."""
    job = job_from_json((GOLDEN / "job-competing.json").read_text())
    records = read_records(GOLDEN / "records-competing.jsonl")
    (one,) = (
        each.line
        for each in records
        if isinstance(each, OfWorkload) and each.workload == "one"
        if isinstance(each.line, Transfer) and each.line.side == "client"
    )
    starved = one.model_copy(update={"bytes": 3_000_000, "last_byte_ns": 2_000_000_000})
    changed = [
        each.model_copy(update={"line": starved})
        if isinstance(each, OfWorkload) and each.line is one
        else each
        for each in records
    ]
    workload = job.workloads[0].workload
    assert isinstance(workload, Bulk)
    assert workload.duration_ns == 30 * SECOND
    assert metrics_from_records(job, changed)["one.goodput_bit_s"] == pytest.approx(24e6 / 30)
