"""What is named as the reason, and what is not, with runs whose times are known beforehand."""

from __future__ import annotations

import runpy
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, cast

import pytest

from netwarp.backends.base import Backend
from netwarp.errors import InputError, ResultError
from netwarp.estimate.comparison import Sample
from netwarp.execution.outcome import Outcome
from netwarp.output.why_lines import answer_json, answer_lines
from netwarp.plan import plan_study
from netwarp.results import Results, RunResult
from netwarp.run_status import Status
from netwarp.study import study_from_mapping
from netwarp.why import answer as answers
from netwarp.why.answer import BaseRun, explain
from netwarp.why.contrast import contrast
from netwarp.why.swap import parts
from netwarp.wire import Job

METRIC = "completion_time_s"
BACKEND = cast("Backend", object())
Time = Callable[[Job, int], float]


def base(time: Time, replicates: int = 1, **transport: Any) -> list[BaseRun]:
    """Plan runs at 5 % loss, or without if there is one, that take a given time."""
    study = {
        "title": "t", "replicates": replicates, "transport": {"kind": "tcp"} | transport,
        "path": {"rtt": "80ms", "rate": "40mbit", "loss": "5%" if replicates > 1 else "0%"},
        "workload": {"size": "2MB"},
    }  # fmt: skip
    plan = plan_study(study_from_mapping(study))
    return [
        BaseRun(run.job, [], Sample(time(run.job, run.replicate), run.seeds["run"], False,
                                    bool(run.random)))
        for run in plan
    ]  # fmt: skip


@pytest.fixture
def take(monkeypatch: pytest.MonkeyPatch) -> Callable[[Time], None]:
    """Let jobs take the times of a function of the job and its replicate."""

    def use(time: Time) -> None:
        def outcomes(_: object, jobs: Sequence[Job], on_done: Callable[[], None]) -> list[Outcome]:
            found = []
            for job in jobs:
                on_done()
                replicate = int(job.run.partition("-r")[2])
                status = Status("ok", None, 0.1, 0.1, 1, 1.0)
                found.append(Outcome(status, {METRIC: time(job, replicate)}))
            return found

        monkeypatch.setattr(answers, "outcomes", outcomes)

    return use


def by_window(job: Job, replicate: int) -> float:
    """A transfer that a buffer below 1 MB makes four times as long, and Reno a tenth shorter."""
    transport = job.only.transport
    noise = 1 + 0.01 * replicate
    return (
        noise
        * (4 if transport.buffer_bytes < 1e6 else 1)
        * (0.9 if transport.congestion == "reno" else 1)
    )


def test_the_largest_gain_is_named_first_and_both_are_lifted_together(
    take: Callable[[Time], None],
) -> None:
    take(by_window)
    counted: list[int] = []
    found = explain(base(by_window, buffer="64kB"), METRIC, 0.01, BACKEND, counted.append)
    assert found.first is not None
    assert found.first.lifts[0].name == "window"
    assert found.first.comparison.effect == pytest.approx(0.25)
    assert found.first.comparison.exact
    assert found.together is not None
    assert [lift.name for lift in found.together.lifts] == ["window", "reno"]
    assert found.together.comparison.effect == pytest.approx(0.225)
    assert sum(counted) == 0, "every run that was announced has ended"


def test_a_gain_that_its_interval_does_not_show_is_no_explanation(
    take: Callable[[Time], None],
) -> None:
    def erratic(job: Job, replicate: int) -> float:
        """The window halves the time of every second replicate and doubles that of the others."""
        small = job.only.transport.buffer_bytes < 1e6
        return 1.0 if small else (0.5, 2.0)[replicate % 2] * 0.9

    take(erratic)
    found = explain(base(erratic, 6, buffer="64kB"), METRIC, 0.01, BACKEND)
    window = next(each for each in found.alone if each.lifts[0].name == "window")
    assert window.comparison.effect is not None
    assert window.comparison.effect < 1
    assert not window.gains
    assert found.first is None
    assert found.together is None


def test_a_yardstick_is_named_only_where_nothing_else_gains(take: Callable[[Time], None]) -> None:
    def by_rate(job: Job, _: int) -> float:
        slow = (job.paths[0].down.rate_bit_s or 0) < 100e6
        return (10.0 if slow else 1.0) * (0.9 if job.only.transport.congestion == "reno" else 1)

    take(by_rate)
    found = explain(base(by_rate), METRIC, 0.01, BACKEND)
    assert [each.lifts[0].name for each in found.alone if each.gains] == ["reno", "rate"]


def _lossy(copes: float, starts: float) -> Time:
    """Make losses take twice as long, or a little more or less, and BBR gain by coping with them
    and by starting faster.
    """

    def time(job: Job, replicate: int) -> float:
        is_bbr, lossy = (
            job.only.transport.congestion == "bbr",
            job.paths[0].down.loss.kind != "none",
        )
        noise = 1 + 0.2 * (replicate % 3 - 1)
        of_loss = 2 * noise / (copes if is_bbr else 1) if lossy else 1.0
        return of_loss / (starts if is_bbr else 1)

    return time


@pytest.mark.parametrize(
    ("copes", "starts", "first"),
    [
        (2.05, 1, "loss"),  # not shown to gain more than lifting the losses
        (2, 1.3, "loss"),  # shown, but only 1.3 times is left without losses
        (1, 3, "bbr"),  # all of it is left
    ],
)
def test_a_sender_that_copes_is_named_after_the_limit_and_one_that_is_faster_before(
    take: Callable[[Time], None], copes: float, starts: float, first: str
) -> None:
    time = _lossy(copes, starts)
    take(time)
    found = explain(base(time, 12), METRIC, 0.01, BACKEND)
    assert found.first is not None
    assert found.first.lifts[0].name == first
    by_gain = min(found.alone, key=lambda each: each.comparison.effect or 1)
    assert by_gain.lifts[0].name == "bbr"


def test_a_directory_that_gives_other_values_now_is_refused(take: Callable[[Time], None]) -> None:
    take(lambda job, replicate: 2 * by_window(job, replicate))
    with pytest.raises(ResultError, match="run the study again"):
        explain(base(by_window), METRIC, 0.01, BACKEND)


def test_what_makes_two_cells_differ_brings_them_together(take: Callable[[Time], None]) -> None:
    take(by_window)
    one, other = base(by_window, buffer="64kB"), base(by_window, buffer="8MB")
    found = contrast(one, other, METRIC, 0.01, BACKEND)
    assert found.ratio == pytest.approx(0.25)
    made = [each.lift.name for each in found.found if found.makes(each)]
    assert made == ["window"]
    assert found.found[0].ratio == pytest.approx(1)


def test_a_limit_whose_run_failed_in_one_cell_explains_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def outcomes(_: object, jobs: Sequence[Job], on_done: Callable[[], None]) -> list[Outcome]:
        found = []
        for job in jobs:
            sent = job.only.transport
            fails = sent.buffer_bytes == 64 << 20 and sent.initial_window_packets == 5
            status = Status("ok", None, 0.1, 0.1, 1, 1.0)
            if fails:
                status = Status("failed", "refused", 0.1, 0.1, 1, 1.0)
            found.append(Outcome(status, {} if fails else {METRIC: by_window(job, 0)}))
        return found

    monkeypatch.setattr(answers, "outcomes", outcomes)
    one = base(by_window, buffer="8MB", initial_window=5)
    other = base(by_window, buffer="64kB")
    found = contrast(one, other, METRIC, 0.01, BACKEND)
    assert found.failed == {"window": "refused"}
    assert "window" not in [each.lift.name for each in found.found]


def results(time: Callable[[str, str], float], cells: Sequence[tuple[str, str]]) -> Results:
    factors = [{"transport": kind, "path.loss": loss} for kind, loss in cells]
    return Results(
        tuple(
            RunResult(f"c{index:03d}-r00", index, 0, 1, levels, "ok", None,
                      {METRIC: time(levels["transport"], levels["path.loss"])}, ())
            for index, levels in enumerate(factors)
        )
    )  # fmt: skip


ALL = [("tcp", "0%"), ("tcp", "1%"), ("quic", "0%"), ("quic", "1%")]


def test_factors_share_the_difference_and_multiply_to_it() -> None:
    times = {("tcp", "0%"): 1.0, ("tcp", "1%"): 8.0, ("quic", "0%"): 2.0, ("quic", "1%"): 4.0}
    made = results(lambda *levels: times[levels], ALL)
    found = {part.factor: part for part in parts(made, made.cells[0], made.cells[3], METRIC)}
    assert (found["transport"].first, found["transport"].last) == pytest.approx((2, 0.5))
    assert found["transport"].comparison.effect == pytest.approx(1)
    assert (found["path.loss"].first, found["path.loss"].last) == pytest.approx((8, 2))
    assert found["path.loss"].comparison.effect == pytest.approx(4)


def test_a_cell_between_that_was_not_run_is_named() -> None:
    made = results(lambda *_: 1.0, [ALL[0], ALL[3], ALL[1]])
    with pytest.raises(InputError, match="QUIC · loss 0 %, was not run"):
        parts(made, made.cells[0], made.cells[1], METRIC)


def test_nothing_is_named_first_while_a_limit_that_may_gain_more_is_undecided(
    take: Callable[[Time], None],
) -> None:
    def by_luck(job: Job, replicate: int) -> float:
        """Losses make transfers take 2 to 800 times as long, and BBR halves what they take."""
        lossy = job.paths[0].down.loss.kind != "none"
        of_loss = (2, 800, 3, 500, 2)[replicate] if lossy else 1
        return of_loss * (0.5 if job.only.transport.congestion == "bbr" else 1.0)

    take(by_luck)
    found = explain(base(by_luck, 5), METRIC, 0.01, BACKEND)
    assert [each.lifts[0].name for each in found.alone if each.gains] == ["bbr"]
    assert found.before_it is not None
    assert found.before_it.lifts[0].name == "loss"
    assert found.first is None
    made = results(lambda *_: 1.0, ALL[:1])
    told = list(answer_lines(found, made.cells[0], base(by_luck, 5)))
    assert not any(line.startswith("It is") for line in told), "nothing is named first"
    (at,) = (place for place, line in enumerate(told) if line.startswith("None is named first"))
    assert told[at + 1].startswith("Shown to gain: the congestion control")
    as_json = answer_json(found, made.cells[0])
    assert (as_json["first"], as_json["before_it"]) == (None, "loss")


def test_one_run_stands_for_all_but_where_a_stack_draws_by_itself(
    take: Callable[[Time], None],
) -> None:
    """BBR begins its cycle at a random place, so that one run with it would tell nothing."""
    ran: list[Job] = []

    def by_cycle(job: Job, replicate: int) -> float:
        ran.append(job)
        is_bbr = job.only.transport.congestion == "bbr"
        small = job.only.transport.buffer_bytes < 1e6
        return (0.5, 0.9, 1.3, 0.7)[replicate] if is_bbr else 1.0 + small

    plan = plan_study(study_from_mapping(STEADY))
    runs = [
        BaseRun(run.job, [], Sample(2.0, run.seeds["run"], False, bool(run.random))) for run in plan
    ]
    take(by_cycle)
    found = explain(runs, METRIC, 0.01, BACKEND)
    by_name = {each.lifts[0].name: each for each in found.alone}
    assert len(by_name["window"].values) == 1
    assert by_name["window"].comparison.exact
    assert len(by_name["bbr"].values) == 4
    assert not by_name["bbr"].comparison.exact
    assert sum(job.only.transport.congestion == "bbr" for job in ran) >= 4


def test_one_run_of_a_stack_that_draws_by_itself_shows_nothing(
    take: Callable[[Time], None],
) -> None:
    """BBR is not exact with one replicate, and of QUIC nothing is."""
    for kind, drawn in (("tcp", {"bbr"}), ("quic", {"window", "bbr", "reno"})):
        time = _by_window_and_control
        take(time)
        found = explain(base(time, kind=kind, buffer="64kB"), METRIC, 0.01, BACKEND)
        by_name = {each.lifts[0].name: each for each in found.alone}
        for name in ("window", "bbr", "reno"):
            one = by_name[name]
            assert (one.gains, one.comparison.exact) == ((name not in drawn,) * 2), (kind, name)
        assert (found.first is None) == (kind == "quic")


def test_all_replicates_of_quic_are_lifted_where_they_agree(take: Callable[[Time], None]) -> None:
    plan = plan_study(study_from_mapping(STEADY | {"transport": {"kind": "quic"}}))
    time = _by_window_and_control
    runs = [
        BaseRun(run.job, [], Sample(time(run.job, 0), run.seeds["run"], False, bool(run.random)))
        for run in plan
    ]
    take(time)
    found = explain(runs, METRIC, 0.01, BACKEND)
    assert {len(each.values) for each in found.alone} == {4}


def test_a_difference_to_one_run_of_quic_is_not_tested(take: Callable[[Time], None]) -> None:
    """The first cell's stack draws nothing, but the second one's does."""
    time = _by_window_and_control
    take(time)
    one, other = base(time, buffer="64kB"), base(time, kind="quic", buffer="8MB")
    found = contrast(one, other, METRIC, 0.01, BACKEND)
    assert not found.comparison.exact
    assert not any(found.makes(each) or each.comparison.exact for each in found.found)


def test_planted_causes_are_explained_with_all_replicates_also_where_nothing_is_random() -> None:
    script = runpy.run_path(str(Path(__file__).parents[2] / "scripts" / "planted_causes.py"))
    quic = STEADY | {"transport": {"kind": "quic"}}
    assert [len(script["_runs"](tables, 3)) for tables in (STEADY, quic)] == [3, 3]


def _by_window_and_control(job: Job, _: int) -> float:
    transport = job.only.transport
    control = {"bbr": 0.5, "reno": 0.9}.get(transport.congestion or "", 1.0)
    return control * (4 if transport.buffer_bytes < 1e6 else 1)


STEADY: dict[str, Any] = {
    "title": "t", "replicates": 4, "transport": {"kind": "tcp", "buffer": "64kB"},
    "path": {"rtt": "80ms", "rate": "40mbit"}, "workload": {"size": "2MB"},
}  # fmt: skip
