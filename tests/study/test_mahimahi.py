"""Rate traces: timestamps to rates by hand, and in studies."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from netwarp.errors import StudyError
from netwarp.plan import plan_study
from netwarp.study import Study, load_study, study_from_mapping
from netwarp.study.sections.mahimahi import TraceError, parse_trace
from support import job_of, tables

MS = 1_000_000
BITS = 1504 * 8


def text_of(times_ms: list[int]) -> str:
    """Write a trace."""
    return "".join(f"{at_ms}\n" for at_ms in times_ms)


def test_one_opportunity_a_millisecond_is_twelve_megabits() -> None:
    trace = parse_trace(text_of(list(range(1, 1001))), 100 * MS, "f")
    assert trace.step_ns == 100 * MS
    assert trace.rates_bit_s == (12_032_000,) * 10
    assert trace.mean_bit_s == trace.peak_bit_s == 12_032_000


def test_opportunities_count_in_the_step_they_end() -> None:
    # (0, 10]: 0, 5, 10, 10; (10, 20]: 11; (20, 30]: none; (30, 40]: 40.
    trace = parse_trace("0\n5\n10\n10\n11\n40\n", 10 * MS, "f")
    assert trace.rates_bit_s == tuple(count * BITS * 100 for count in (4, 1, 0, 1))
    assert trace.peak_bit_s == 4 * BITS * 100


def test_a_trace_that_is_no_multiple_of_the_step_begins_anew_at_its_own_time() -> None:
    trace = parse_trace(text_of(list(range(1, 1026))), 100 * MS, "f")
    assert len(trace.rates_bit_s) == 11
    assert 0 <= 1025 * MS - trace.step_ns * 11 < 11
    carried_bits = sum(trace.rates_bit_s) * trace.step_ns / 1e9
    assert carried_bits == pytest.approx(1025 * BITS, rel=1e-7)
    assert {round(rate * trace.step_ns / 1e9 / BITS) for rate in trace.rates_bit_s} == {93, 94}


def test_a_trace_shorter_than_a_step_is_one_step() -> None:
    trace = parse_trace("7\n7\n", 100 * MS, "f")
    assert (trace.step_ns, trace.rates_bit_s) == (7 * MS, (round(2 * BITS * 1000 / 7),))


@pytest.mark.parametrize(
    ("text", "line", "reason"),
    [
        ("", None, "no line in it"),
        ("0\n0\n", 2, "the trace is over when it begins"),
        ("1\n\n3\n", 2, "an empty line"),
        ("1\n3\n2\n", 3, "2 comes after 3"),
        ("1\n-2\n", 2, "not a whole number"),
        ("1\n2.5\n", 2, "not a whole number"),
        ("1\n2 3\n", 2, "not a whole number"),
        ("1\n²\n", 2, "not a whole number"),
        ("1\n9999999999999\n", 2, "more than 12 digits, beyond any run"),
        ("900000000000\n", None, "9000000000 steps are too many"),
    ],
)
def test_what_is_no_trace_is_refused_with_its_line(
    text: str, line: int | None, reason: str
) -> None:
    with pytest.raises(TraceError) as caught:
        parse_trace(text, 100 * MS, "f")
    assert (caught.value.line, caught.value.reason) == (line, reason)
    assert caught.value.remedy


def traced(folder: Path, **changes: Any) -> Study:
    """Make a study whose path follows the traces in a folder."""
    (folder / "slow").write_text(text_of(list(range(2, 1001, 2))))
    (folder / "fast").write_text(text_of([1, 1, 1, 1000]))
    (folder / "bad").write_text("1\n2\nx\n")
    sections = {"path": {"rtt": "100ms", "trace": {"down": "slow"}}, **changes}
    return study_from_mapping(tables("tcp", **sections), file="s.toml", folder=folder)


def test_a_trace_has_a_shaper_with_a_bdp_at_its_mean_rate(tmp_path: Path) -> None:
    job = plan_study(traced(tmp_path))[0].job
    down, up = job.paths[0].down, job.paths[0].up
    assert (down.rate_bit_s, down.limit_packets) == (None, 1_000_000)
    assert down.shaper_queue_bytes == round(6_016_000 * 0.1 / 8)
    assert (up.rate_bit_s, up.shaper_queue_bytes) == (None, None)
    (trace,) = job.timeline.traces
    assert (trace.path, trace.direction, trace.step_ns) == (0, "down", 100 * MS)
    assert trace.rates_bit_s == (6_016_000,) * 10


def test_the_largest_rate_sizes_the_buffers(tmp_path: Path) -> None:
    path = {"rtt": "2s", "trace": {"down": "fast", "step": "1ms"}}
    job = plan_study(traced(tmp_path, path=path))[0].job
    peak_bit_s = 3 * BITS * 1000
    assert max(job.timeline.traces[0].rates_bit_s) == peak_bit_s
    assert job.only.transport.buffer_bytes == 64 << 20 > 4 * peak_bit_s * 2 / 8


def test_the_other_direction_keeps_its_rate(tmp_path: Path) -> None:
    path = {"rtt": "9ms", "rate": "5mbit", "queue": "9p", "trace": {"down": "slow"}}
    job = plan_study(traced(tmp_path, path=path))[0].job
    assert job.paths[0].down.shaper_queue_bytes == 9 * 1514
    assert job.paths[0].up.rate_bit_s == 5_000_000


def test_traces_vary_by_file(tmp_path: Path) -> None:
    factors = {"transport": ["tcp"], "path.trace.down": ["slow", "fast"]}
    runs = plan_study(traced(tmp_path, factors=factors))
    assert [run.cell.levels["path.trace.down"] for run in runs] == ["slow", "fast"]
    assert len({run.job.timeline.traces[0].rates_bit_s for run in runs}) == 2


def test_access_points_may_have_traces_of_their_own(tmp_path: Path) -> None:
    handovers = {"every": "5s", "count": 1}
    path = {"rtt": "9ms", "trace": {"down": "slow", "up": "slow"}, "handovers": handovers}
    job = plan_study(traced(tmp_path, path=path))[0].job
    assert [(t.path, t.direction) for t in job.timeline.traces] == [
        (0, "down"), (0, "up"), (1, "down"), (1, "up"),
    ]  # fmt: skip
    second = {"trace": {"down": "fast"}, "rate_up": "1mbit"}
    job = plan_study(traced(tmp_path, path=path | {"second": second}))[0].job
    assert [(t.path, t.direction) for t in job.timeline.traces][2:] == [(1, "down")]
    assert job.paths[1].up.rate_bit_s == 1_000_000
    rates = {"rtt": "9ms", "rate": "8mbit", "handovers": handovers, "second": second}
    job = plan_study(traced(tmp_path, path=rates))[0].job
    assert (job.paths[1].down.rate_bit_s, job.paths[1].up.rate_bit_s) == (None, 1_000_000)
    only_down = rates | {"second": {"trace": {"down": "fast"}}}
    job = plan_study(traced(tmp_path, path=only_down))[0].job
    assert (job.paths[1].down.rate_bit_s, job.paths[1].up.rate_bit_s) == (None, 8_000_000)


def test_a_study_needs_its_traces_once(tmp_path: Path) -> None:
    study = traced(tmp_path)
    (tmp_path / "slow").unlink()
    again = study_from_mapping(study.raw)
    assert plan_study(again)[0].job_sha256 == plan_study(study)[0].job_sha256


def kept_rates(rates_bit_s: object) -> dict[str, object]:
    """A trace as `study.json` keeps it, where the rates may be damaged."""
    return {"label": "slow", "file": "slow", "step_ns": 1_000_000, "rates_bit_s": rates_bit_s}


@pytest.mark.parametrize(
    ("path", "part"),
    [
        ({"trace": {"down": "bad"}}, '/bad:3: not a whole number; write one whole number'),
        ({"trace": {"down": "absent"}}, 's.toml: path.trace.down = "absent": no such file'),
        ({"trace": {"down": 3}}, "s.toml: path.trace.down = 3: not a trace file"),
        ({"trace": {"down": kept_rates([None, 8])}}, "not the rates of a trace"),
        ({"trace": {"down": kept_rates([])}}, "not the rates of a trace"),
        ({"trace": {"down": kept_rates(True)}}, "not the rates of a trace"),
        ({"trace": {"step": "1s"}}, "s.toml: path.trace.down: neither down nor up is given"),
        ({"trace": {"down": "slow", "step": "1us"}}, 'path.trace.step = "1us": too small'),
        ({"trace": {"down": "slow", "step": "x"}}, 'path.trace.step = "x": not a duration'),
        ({"rate": "1mbit", "trace": {"down": "slow", "up": "slow"}},
         'path.rate = "1mbit": rate has no effect beside trace.down'),
        ({"rate_up": "1mbit", "trace": {"up": "slow"}},
         'path.rate_up = "1mbit": rate_up has no effect beside trace.up'),
        ({"trace": {"down": "slow"}, "timeline": [{"at": "1s", "change": "rate", "rate": "1mbit"}]},
         'path.timeline.0.change = "rate": the trace\'s next step undoes it (down)'),
        ({"trace": {"up": "slow"}, "queue_down": "9p"}, "no queue forms where the rate is unlim"),
        ({"trace": {"down": "slow"}, "queue": "1bdp"}, "s.toml: path.queue = "),
    ],
)  # fmt: skip
def test_what_cannot_be_traced_is_refused(tmp_path: Path, path: dict[str, Any], part: str) -> None:
    with pytest.raises(StudyError) as caught:
        traced(tmp_path, path=path)
    assert part in str(caught.value)


def test_a_step_cannot_vary() -> None:
    factors = {"transport": ["tcp"], "path.trace.step": ["1s"]}
    with pytest.raises(StudyError, match="there is nothing of this name to vary"):
        job_of("tcp", factors=factors)


def test_a_malformed_trace_is_named_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "bad").write_text("5\n4\n")
    file = tmp_path / "s.toml"
    file.write_text(
        'title = "t"\ntransport = "tcp"\n[path.trace]\ndown = "bad"\n[workload]\nsize = "1MB"\n'
    )
    with pytest.raises(StudyError) as caught:
        load_study(file)
    assert str(caught.value).startswith(f"{tmp_path}/bad:2: 4 comes after 5; ")
