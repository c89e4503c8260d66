"""The terminal table, the words in it, and the exports."""

import csv
import io
import json
from dataclasses import replace
from pathlib import Path

import iperf3
import pytest
from rich.console import Console

import recorded
import support
from netwarp.cli.printing import print_results
from netwarp.errors import InputError
from netwarp.estimate.comparison import Comparison, Sample, compare
from netwarp.estimate.levels import ordered, scale_of
from netwarp.estimate.stats import estimate
from netwarp.evaluation import RunData, load
from netwarp.measure.select import start_ns
from netwarp.output.export import export_results
from netwarp.output.table import exact_notes
from netwarp.results import Results
from netwarp.verdict_wording import effect_text, favourable, p_text, verdict_text
from netwarp.wire import ConnectionSamples, Goodput, read_records, record_to_json
from netwarp.wording import (
    cell_text,
    condition_text,
    digits_to_tell,
    factor_title,
    mean_text,
    number,
    quantity,
    sentence_case,
    spread_note,
)
from student import by_student


def printed(results: Results, width: int = 100, *, colour: bool = False) -> str:
    out = io.StringIO()
    console = Console(
        file=out, width=width, force_terminal=colour, color_system="standard" if colour else None
    )
    print_results(RunData(Path("out"), results, {}), console)
    return out.getvalue()


def test_verdicts_on_what_programs_print_are_headed_by_its_name() -> None:
    runs = [
        replace(run, metrics={"slowest_object_s": run.value("completion_time_s")})
        for run in support.results(failed_run=None).runs
    ]
    heads = printed(Results(tuple(runs))).splitlines()[:2]
    assert heads[0].split("  ")[-1] == "slowest object"
    assert heads[1].endswith("against TCP")


def test_what_a_workload_took_is_headed_by_its_name_once() -> None:
    runs = [
        replace(run, metrics={
            "near.completion_time_s": run.value("completion_time_s"),
            "near.goodput_bit_s": run.value("goodput_bit_s"),
        })
        for run in support.results(failed_run=None).runs
    ]  # fmt: skip
    lines = printed(Results(tuple(runs)), 80).splitlines()
    assert lines[0] == "Completion time, near"
    assert lines[1].split() == ["completion", "goodput", "completion"]
    assert lines[2].endswith("against TCP")


def test_where_nothing_is_compared_no_column_has_verdicts() -> None:
    runs = support.results().runs
    text = printed(Results(tuple(run for run in runs if run.factors == runs[0].factors)))
    assert "completion" in text
    assert "against" not in text


@pytest.mark.parametrize("width", [80, 100, 200])
def test_the_table_fits_and_says_everything(width: int) -> None:
    text = printed(support.results(), width)
    lines = text.splitlines()
    assert max(map(len, lines)) <= min(width, 100)
    assert [line for line in lines if line != line.rstrip()] == []
    for line in lines:
        assert line.count("[") == line.count("]")  # no verdict is broken
    assert "\x1b" not in text
    for wanted in ("Loss 5 %, RTT 200 ms", "against TCP", "Mbit/s", "slower [", "faster [",
                   "undecided", "identical", "(exact)", "of 10 failed"):  # fmt: skip
        assert wanted in text
    assert "Holm-adjusted for 12 comparisons" in " ".join(lines)
    assert f"failed: {support.FAILED_RUN}" in text
    assert "…" not in text


def test_a_narrow_terminal_still_names_each_contender() -> None:
    lines = printed(support.results(), 40).splitlines()
    for name in ("TCP", "TLS", "SCTP", "QUIC"):
        assert sum(line.startswith(f"{name} ") for line in lines) == 6
    assert not any("…" in line for line in lines)


def test_colour_only_repeats_what_the_words_say() -> None:
    assert "\x1b[32m" in printed(support.results(), colour=True)


def test_one_replicate_is_said_to_be_untested() -> None:
    text = printed(support.results(replicates=1, failed_run=None))
    assert "not tested (one replicate)" in text
    assert "±" not in text.split("is half")[0].rsplit("\n", 1)[0]


def test_nothing_finished_yet() -> None:
    assert "no run has finished" in printed(Results(()))


def test_where_everything_failed_there_is_still_a_table() -> None:
    one = Results(tuple(r for r in support.results().runs if r.run == support.FAILED_RUN))
    assert "1 of 1 failed" in printed(one)


@pytest.mark.parametrize(
    ("value", "digits", "text"),
    [(0, 3, "0"), (1234.5, 3, "1\u202f234"), (0.012345, 3, "0.0123"), (-2.5, 2, "\u22122.5"),
     (99.96, 3, "100"), (9.996, 3, "10.0")],
)  # fmt: skip
def test_numbers_keep_the_digits_that_mean_something(value: float, digits: int, text: str) -> None:
    assert number(value, digits) == text


def test_a_mean_has_the_decimals_of_its_interval() -> None:
    shown = quantity("completion_time_s", 13.2)
    assert mean_text(estimate([13.0, 13.5, 13.1, 13.2]), shown) == "13.20 ± 0.34"
    exact = estimate([8.4521, 8.4521])
    assert (mean_text(exact, shown), spread_note(exact, is_random=False)) == ("8.452", "exact")
    assert spread_note(exact, is_random=True) == "all equal"
    assert spread_note(estimate([1.0]), is_random=False) == "one run"
    assert spread_note(estimate([1.0, 2.0]), is_random=True) == ""


@pytest.mark.parametrize(
    ("metric", "largest", "unit"),
    [("connect_time_s", 0.4, "ms"), ("completion_time_s", 20, "s"), ("first_byte_s", 2e-5, "µs"),
     ("goodput_bit_s", 4e7, "Mbit/s"), ("goodput_bit_s", 2e9, "Mbit/s"),
     ("goodput_bit_s", 2e10, "Gbit/s"), ("wire_bytes_down", 1e7, "MB"),
     ("path_loss_down", 0.01, "%"), ("retransmitted_packets", 10, ""),
     ("loading_delay_s_p95", 0.3, "ms"), ("quality_share_lowest", 0.3, "%"), ("stalls", 3, "")],
)  # fmt: skip
def test_units_suit_the_largest_value(metric: str, largest: float, unit: str) -> None:
    assert quantity(metric, largest).unit == unit


def test_verdicts_speak_of_time_and_of_rates() -> None:
    slow = {r: Sample(v, r) for r, v in enumerate([10.0, 11.0, 12.0, 13.0])}
    fast = {r: Sample(v / 2, r) for r, v in enumerate([10.1, 10.9, 12.1, 13.0])}
    found = by_student(slow, fast)
    assert verdict_text(found, "completion_time_s").startswith("2.00× faster [1.9")
    assert favourable(found, "completion_time_s") is True
    assert verdict_text(found, "goodput_bit_s").startswith("2.00× lower [")
    assert favourable(found, "goodput_bit_s") is False
    back = by_student(fast, slow)
    assert verdict_text(back, "completion_time_s").startswith("2.00× slower [1.9")


def test_a_difference_near_one_is_given_in_percent() -> None:
    a = {0: Sample(1.0, 0), 1: Sample(1.0, 1)}
    b = {0: Sample(1.0021, 0), 1: Sample(1.0021, 1)}
    found = by_student(a, b, relevant=0.001)
    assert verdict_text(found, "completion_time_s") == "0.21 % slower (exact)"
    assert verdict_text(by_student(a, b), "completion_time_s") == "equivalent (exact)"


def test_the_word_exact_is_explained_where_it_stands() -> None:
    first, same, near = ({0: Sample(1.0, 0), 1: Sample(1.0 + by, 1)} for by in (0, 0, 0.00002))
    assert exact_notes([by_student(first, near), by_student(first, same)]) == [
        "exact: nothing is random, and all replicates are equal, to a millionth."
    ]
    assert exact_notes([by_student(first, near)]) == []


def test_what_is_open_is_given_with_its_interval() -> None:
    a = {r: Sample(v, r) for r, v in enumerate([10.0, 11.0, 12.0, 13.0])}
    b = {r: Sample(v, r) for r, v in enumerate([11.0, 10.5, 13.0, 12.0])}
    assert verdict_text(by_student(a, b), "completion_time_s") == "undecided [−12, +17 %]"
    # Ten replicates that agree cannot exclude an event in a tenth of the runs.
    ten, more = ({r: Sample(v * (1 + r / 1e6), r) for r in range(10)} for v in (10.0, 10.03))
    text = verdict_text(compare(ten, more), "completion_time_s")
    assert text == "undecided, within 1.0 % [+0.3, +0.3 %]"
    close = {r: Sample(v, r) for r, v in enumerate([9.93904, 10.93295, 11.92685, 12.92076])}
    assert verdict_text(by_student(a, close), "completion_time_s") == "equivalent [−0.6, −0.6 %]"


def test_wide_intervals_are_given_by_their_bounds() -> None:
    shown = quantity("completion_time_s", 10)
    assert mean_text(estimate([1.0, 2.0, 27.0]), shown) == "1.00 to 27.0"
    assert mean_text(estimate([9.9, 10.0, 10.1]), shown) == "10.00 ± 0.25"
    assert mean_text(estimate([1.4195064, 1.4195065]), shown) == "1.41951 ± 0.00001"


def compared(*ratios: float, relevant: float = 0.01) -> Comparison:
    """Compare replicates of a baseline with others that are these times as long."""
    first = [10.0, 11.0, 12.0, 13.0, 14.0][: len(ratios)]
    a = {r: Sample(v, r) for r, v in enumerate(first)}
    b = {r: Sample(v * by, r) for r, (v, by) in enumerate(zip(first, ratios, strict=True))}
    return by_student(a, b, relevant)


@pytest.mark.parametrize(
    ("ratios", "text"),
    [
        ((1.013, 1.0145, 1.0144, 1.015), "1.4 % slower [1.3, 1.6 %]"),
        ((0.947, 0.951, 0.95, 0.952), "5.0 % faster [4.7, 5.3 %]"),
        ((1.30, 1.34, 1.35, 1.29), "1.32× slower [1.27, 1.37]"),
        ((0.5, 0.52, 0.51, 0.49), "1.98× faster [1.90, 2.06]"),
        ((1.0111, 1.0109, 1.0110, 1.01101), "1.10 % slower [1.09, 1.11 %]"),
        ((1.3, 0.2, 6.0), "undecided (1.16×)"),
        ((1.0000001, 1.0000002, 1.0000001, 1.0000001), "equivalent [±0.1 %]"),
    ],
)
def test_a_verdict_is_rounded_in_one_way(ratios: tuple[float, ...], text: str) -> None:
    found = compared(*ratios)
    assert verdict_text(found, "completion_time_s") == text
    assert text.startswith(effect_text(found, "completion_time_s")) or not found.verdict.decided


def test_no_bound_is_rounded_to_a_limit_that_it_does_not_reach() -> None:
    """A difference just above the smallest relevant one is not "1.0 % slower [1.0, 1.0 %]"."""
    just_above = verdict_text(compared(1.01004, 1.01006, 1.01005, 1.01005), "completion_time_s")
    assert just_above == "1.005 % slower [1.004, 1.006 %]"
    low, high = (float(each) for each in just_above[just_above.index("[") + 1 : -3].split(","))
    assert 1.0 < low < high


def test_digits_suffice_to_see_the_difference() -> None:
    assert digits_to_tell(10.91, 10.94) == 4
    assert digits_to_tell(1.0000075, 1.0) == 7
    assert digits_to_tell(2.0, 1.0) == 3


def test_a_difference_from_zero_is_given_in_units() -> None:
    a = {0: Sample(0.0, 0), 1: Sample(0.0, 1)}
    b = {0: Sample(0.25, 0), 1: Sample(0.25, 1)}
    assert effect_text(by_student(a, b), "completion_time_s") == "250 ms"


def test_a_difference_of_shares_is_in_percentage_points() -> None:
    """A loss of 1.10 % against none is no loss that is 1.10 % higher."""
    none = {at: Sample(0.0, at) for at in range(10)}
    some = {at: Sample(0.011 + 0.0001 * (at % 2), at) for at in range(10)}
    found = by_student(none, some)
    text = verdict_text(found, "message_loss_ratio")
    assert text.startswith("1.105 percentage points higher [")
    assert "%" not in text
    assert effect_text(found, "message_loss_ratio") == "1.105 percentage points"


def test_a_ratio_that_is_not_that_of_the_means_is_said_to_be_of_other_means() -> None:
    runs = support.results(failed_run=None).runs
    slow = [
        replace(run, metrics={**run.metrics, "completion_time_s": (20.0, 80.0)[run.replicate % 2]})
        if run.factors["transport"] == "quic"
        else run
        for run in runs
    ]
    assert "geometric means" not in printed(Results(tuple(runs)))
    assert "geometric means" in printed(Results(tuple(slow)))


def test_p_values_stop_at_a_thousandth() -> None:
    assert (p_text(0.0004), p_text(0.04)) == ("p < 0.001", "p = 0.040")


def test_levels_are_ordered_by_number() -> None:
    assert ordered(["200ms", "1s", "50ms"]) == ["50ms", "200ms", "1s"]
    assert ordered(["10%", "0%", "2%"]) == ["0%", "2%", "10%"]
    assert ordered(["1gbit", "10mbit"]) == ["10mbit", "1gbit"]
    assert ordered(["reno", "cubic"]) == ["reno", "cubic"]
    scale = scale_of(["7%", "0%"])
    assert scale is not None
    assert scale.numbers["7%"] == 7
    assert scale_of(["nan", "1"]) is None
    assert condition_text({"path.rtt": "50ms", "path.loss": "1%"}) == "RTT 50 ms, loss 1 %"


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> RunData:
    return load(support.write_run_directory(tmp_path_factory.mktemp("export") / "out"))


def exported(data: RunData, format_: str) -> str:
    return "".join(export_results(data, format_))


def test_csv_has_a_line_for_each_run(kept: RunData) -> None:
    text = exported(kept, "csv")
    heads = "run,cell,replicate,seed,transport,path.loss,path.rtt,path.mtu,path.rate,path.queue,"
    assert text.startswith(f"{heads}workload.kind,workload.size,outcome,reason,busy_s,")
    rows = list(csv.DictReader(io.StringIO(text)))
    assert len(rows) == len(support.results().runs)
    assert {(row["path.rate"], row["workload.size"]) for row in rows} == {("50mbit", "10MB")}
    first = support.results().runs[0]
    assert float(rows[0]["completion_time_s"]) == pytest.approx(first.value("completion_time_s"))
    assert rows[0]["wire_packets_down"] == str(int(first.value("wire_packets_down") or 0))


@pytest.mark.parametrize("format_", ["csv", "json", "iperf3"])
def test_what_has_a_part_for_each_run_is_given_part_by_part(kept: RunData, format_: str) -> None:
    longest = max(map(len, export_results(kept, format_)))
    assert longest < 3 * len(exported(kept, format_)) / len(kept.results.runs)


def test_json_is_written_as_it_would_be_at_once(kept: RunData) -> None:
    text = exported(kept, "json")
    assert text == json.dumps(json.loads(text), indent=2, ensure_ascii=False) + "\n"
    nothing = replace(kept, results=replace(kept.results, runs=()))
    assert exported(nothing, "json") == "[]\n"


def test_json_has_what_the_table_has(kept: RunData) -> None:
    rows = json.loads(exported(kept, "json"))
    failed = next(row for row in rows if row["run"] == support.FAILED_RUN)
    assert failed["reason"] == support.FAILURE
    assert failed["metrics"] == {}
    assert rows[0]["factors"]["path.loss"] == "0%"
    assert rows[0]["conditions"]["path.queue"] == "1bdp"
    assert isinstance(rows[0]["metrics"]["wire_bytes_down"], int)


def test_iperf3_names_mean_what_iperf3_means(kept: RunData) -> None:
    first, *rest = json.loads(exported(kept, "iperf3"))
    total = first["end"]["sum_received"]
    assert total["bytes"] == support.SIZE_BYTES
    assert total["bits_per_second"] == pytest.approx(8 * total["bytes"] / total["seconds"])
    assert first["end"]["sum_sent"]["retransmits"] == 0
    assert first["start"]["test_start"]["protocol"] == "TCP"
    assert [run["error"] for run in rest if "error" in run] == [support.FAILURE]


def test_iperf3_has_the_whole_run_as_an_interval_where_no_seconds_were_recorded(
    kept: RunData,
) -> None:
    for run in json.loads(exported(kept, "iperf3")):
        if "error" not in run:
            (interval,) = run["intervals"]
            assert interval["sum"] == run["end"]["sum_received"] | {"omitted": False}


def test_a_reader_of_iperf3s_output_reads_the_export(kept: RunData) -> None:
    first, *_ = json.loads(exported(kept, "iperf3"))
    read = iperf3.TestResult(json.dumps(first))
    assert (read.type, read.protocol, read.reverse) == ("client", "TCP", True)
    assert (read.local_host, read.remote_host) == ("client", "server")
    assert read.time == "Thu, 01 Jan 2026 00:00:00 GMT"
    assert read.received_bytes == support.SIZE_BYTES
    assert read.received_Mbps == pytest.approx(
        first["end"]["sum_received"]["bits_per_second"] / 1e6
    )
    assert read.local_cpu_total > 0
    assert read.local_cpu_total == read.local_cpu_user + read.local_cpu_system
    assert read.remote_cpu_total == 0, "its usage was not recorded"
    failures = [run for run in json.loads(exported(kept, "iperf3")) if "error" in run]
    assert [iperf3.TestResult(json.dumps(run)).error for run in failures] == [support.FAILURE]


def test_iperf3_has_an_interval_for_each_second_of_a_run_recorded_over_time(
    tmp_path: Path,
) -> None:
    timed = load(recorded.write_directory(tmp_path / "out"))
    run = json.loads(exported(timed, "iperf3"))[0]
    sums = [interval["sum"] for interval in run["intervals"]]
    assert [each["start"] for each in sums] == sorted({int(each["start"]) for each in sums})
    goodput = next(r for r in recorded.Kept().records(run["title"]) if isinstance(r, Goodput))
    assert sum(each["bytes"] for each in sums) == sum(goodput.bytes)
    first = sums[0]
    assert first["bits_per_second"] == pytest.approx(8 * first["bytes"] / first["seconds"])


def test_iperf3_has_what_tcps_sender_was_told_from_sample_to_sample(tmp_path: Path) -> None:
    """Samples are no whole seconds apart, and a rate over less than they span would be none."""
    directory = support.write_run_directory(tmp_path / "out")
    run = "c000-r01"
    file = directory / "runs" / run / "records.jsonl"
    records = read_records(file)
    place = next(place for place, each in enumerate(records) if isinstance(each, ConnectionSamples))
    sampled = records[place]
    begun_ns = start_ns(records)
    at_ns = tuple(begun_ns + at_ms * 1_000_000 for at_ms in (500, 900, 1200, 1700, 99_000))
    columns = {
        name: column[:1] * len(at_ns)
        for name, column in sampled.model_dump().items()
        if isinstance(column, tuple)
    }
    acked_bytes = (1, 100_000, 400_000, 900_000, 99_000_000)
    columns |= {"at_ns": at_ns, "acked_bytes": acked_bytes}
    records[place] = sampled.model_copy(update=columns)
    file.write_text("".join(record_to_json(record) + "\n" for record in records))
    support.forget_hash(directory, run)
    document = next(
        each for each in json.loads(exported(load(directory), "iperf3")) if each["title"] == run
    )
    total = document["end"]["sum_received"]
    sums = [(each["sum"]["end"], each["sum"]["bytes"]) for each in document["intervals"]]
    assert sums == [
        (pytest.approx(1.2), 400_000),
        (pytest.approx(total["seconds"]), support.SIZE_BYTES - 400_000),
    ]


def test_an_unknown_format_is_refused(kept: RunData) -> None:
    with pytest.raises(InputError, match="csv, json, iperf3"):
        export_results(kept, "xml")


def test_a_simulator_is_named_in_words() -> None:
    levels = {"transport": "tcp", "transport.model": "ns3default", "workload.count": "100"}
    assert cell_text(levels) == "TCP · ns-3 as it comes, count 100"


def test_a_name_that_begins_small_does_so_at_the_head_of_a_panel() -> None:
    model = {"transport.model": "ns3default"}
    assert sentence_case(condition_text(model)) == "ns-3 as it comes"
    assert sentence_case(condition_text({"path.loss": "1%"})) == "Loss 1 %"
    assert factor_title("workload.count") == "Count"
