"""A question is run in a thread: one replicate first, then more, until it is done or cancelled."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

import pytest

import netwarp.library
from fake_backend import FakeBackend
from netwarp.claims.too_few import too_few_as_planned
from netwarp.run_directory import RECORDS_FILE
from netwarp.run_status import Status
from netwarp.ui.address import options_of
from netwarp.ui.asked import Asked, Event
from netwarp.ui.lanes import ENDED, MOST_DIRECTORIES, MOST_LANES, Lanes
from netwarp.ui.what_if import WhatIf, study_of
from netwarp.units import NS_PER_S
from netwarp.wire import Calibration, GaveUp, Job, read_records, record_to_json

PAIRS = [("transport", "tcp,quic"), ("rtt", "50ms"), ("loss", "1%"), ("replicates", "4")]


class Waiting(FakeBackend):
    """Its runs go on until they are stopped."""

    def __init__(self) -> None:
        super().__init__()
        self.begun = threading.Event()

    def run(
        self, job: Job, directory: Path, *, slot: int, on_progress: Callable[[float], None]
    ) -> Status:
        self.begun.set()
        assert self.stopped.wait(60)
        return Status("failed", "killed", 0.1, 0.1, 1 << 20, 2.0)


@pytest.fixture
def use(monkeypatch: pytest.MonkeyPatch) -> Callable[[FakeBackend], None]:
    def used(*backends: FakeBackend) -> None:
        left = list(backends)
        monkeypatch.setattr(
            netwarp.library, "backend_for", lambda *_: left.pop(0) if len(left) > 1 else left[0]
        )

    return used


def asked(pairs: list[tuple[str, str]], folder: Path) -> WhatIf:
    question = WhatIf(pairs, folder)
    question.begin()
    return question


def events_of(question: Asked) -> list[Event]:
    found = []
    while (event := question.next_event()) is not None:
        if event[0] != "progress":  # which a busy machine has more of
            found.append(event)
    return found


def test_an_answer_comes_after_one_replicate_and_tightens(
    use: Callable[..., None], tmp_path: Path
) -> None:
    use(FakeBackend())
    question = asked(PAIRS, tmp_path)
    events = events_of(question)
    assert [name for name, _ in events] == ["started", *["answer"] * 4]
    assert [said["replicates"] for name, said in events if name == "answer"] == [1, 2, 3, 4]
    last = events[-1][1]
    assert last["of"] == 4
    assert last["runs"] == ["c000-r00", "c001-r00"]
    (metric,) = last["metrics"]
    assert metric["name"] == "completion_time_s"
    (group,) = metric["groups"]
    first, second = group["bars"]
    assert (first["label"], second["label"]) == ("TCP", "QUIC")
    assert first["is_first"]
    assert not second["is_first"]
    assert second["verdict"]
    assert len(first["samples"]) == 4
    # What the command's table has beside it.
    goodput = metric["beside"][0]
    assert goodput["title"] == "Goodput"
    assert all(len(bar["beside"]) == len(metric["beside"]) for bar in (first, second))
    assert len(first["beside"][0]) == len(goodput["units"])
    assert float(first["beside"][0][-1]) > 0
    question.join()
    again = FakeBackend()
    use(again)
    assert [name for name, _ in events_of(asked(PAIRS, tmp_path))] == ["started", *["answer"] * 4]
    assert again.ran == []  # the runs are kept


def test_fewer_replicates_than_before_are_an_answer_of_their_own(
    use: Callable[..., None], tmp_path: Path
) -> None:
    use(FakeBackend())
    events_of(asked(PAIRS, tmp_path))
    fewer = [*PAIRS[:-1], ("replicates", "2")]
    last = events_of(asked(fewer, tmp_path))[-1][1]
    assert (last["replicates"], last["of"]) == (2, 2)
    assert all(len(bar["samples"]) == 2 for bar in last["metrics"][0]["groups"][0]["bars"])


def test_a_contender_that_is_alone_is_compared_with_nothing(
    use: Callable[..., None], tmp_path: Path
) -> None:
    use(FakeBackend())
    name, said = events_of(asked([("transport", "tcp"), *PAIRS[1:]], tmp_path))[-1]
    assert name == "answer"
    ((bar,),) = [group["bars"] for group in said["metrics"][0]["groups"]]
    assert bar["verdict"] == ""
    assert not bar["is_first"]


def test_a_refusal_says_what_the_command_line_says(
    use: Callable[..., None], tmp_path: Path
) -> None:
    use(FakeBackend())
    ((name, said),) = events_of(asked([("rtt", "5furlong")], tmp_path))
    assert name == "refused"
    assert said["option"] == "--rtt"
    assert said["message"].startswith('compare: --rtt = "5furlong": unknown unit "furlong"')


def test_what_the_backend_refuses_is_said(use: Callable[..., None], tmp_path: Path) -> None:
    use(FakeBackend())
    events = events_of(asked([("transport", "tcp,sctp")], tmp_path))
    assert [name for name, _ in events] == ["started", "refused"]
    assert "it is sctp" in events[-1][1]["message"]


def test_runs_that_fail_are_a_state(use: Callable[..., None], tmp_path: Path) -> None:
    use(FakeBackend(fails=("c000-r00", "c001-r00")))
    events = events_of(asked(PAIRS, tmp_path))
    assert [name for name, _ in events] == ["started", "answer", "failed"]
    assert "told to" in events[-1][1]["message"]


def test_a_change_ends_what_it_outdates(use: Callable[..., None], tmp_path: Path) -> None:
    waiting = Waiting()
    use(waiting, FakeBackend())
    lanes = Lanes(tmp_path)
    outdated = lanes.ask("a", PAIRS)
    assert waiting.begun.wait(60)
    then = lanes.ask("a", PAIRS)
    assert waiting.stopped.is_set()
    assert [name for name, _ in events_of(outdated)] == ["started"]
    assert events_of(then)[-1][1]["replicates"] == 4  # nothing of what was killed is kept
    assert outdated.is_over


def test_a_question_that_arrives_late_does_not_end_a_newer_one(
    use: Callable[..., None], tmp_path: Path
) -> None:
    waiting = Waiting()
    use(waiting, FakeBackend())
    lanes = Lanes(tmp_path)
    newer = lanes.ask("a", PAIRS, 2)
    assert waiting.begun.wait(60)
    assert events_of(lanes.ask("a", PAIRS, 1)) == []
    assert not waiting.stopped.is_set()
    then = lanes.ask("a", PAIRS, 3)
    assert waiting.stopped.is_set()
    assert [name for name, _ in events_of(newer)] == ["started"]
    assert events_of(then)[-1][1]["replicates"] == 4


def test_the_end_of_the_pages_ends_all(use: Callable[..., None], tmp_path: Path) -> None:
    several = [Waiting() for _ in range(MOST_LANES + 1)]
    use(*several, FakeBackend())
    lanes = Lanes(tmp_path)
    questions = []
    for number, backend in enumerate(several):
        questions.append(lanes.ask(f"lane{number}", PAIRS))
        assert backend.begun.wait(60)
    assert several[0].stopped.is_set()  # there was no room for it any more
    assert not several[1].stopped.is_set()
    lanes.end(60)
    assert all(backend.stopped.is_set() for backend in several)
    assert all(question.is_over for question in questions[1:])
    assert [name for name, _ in events_of(questions[0])] == ["started"]
    assert events_of(questions[1])[-1] == ("failed", {"message": ENDED})


def test_old_run_directories_are_removed(use: Callable[..., None], tmp_path: Path) -> None:
    use(FakeBackend())
    lanes = Lanes(tmp_path)
    for number in range(MOST_DIRECTORIES + 3):
        (tmp_path / "old" / f"what-if-{number:012x}-10").mkdir(parents=True)
    question = lanes.ask("new", PAIRS)
    events_of(question)
    assert len(list(tmp_path.glob("old/*"))) == MOST_DIRECTORIES - 1
    directory = question.directory
    assert directory is not None
    assert lanes.directory("new", directory.name) == directory
    assert lanes.directory("..", directory.name) is None
    assert lanes.directory("new", "../new") is None


class GivingUp(FakeBackend):
    """Of some of its runs a transport gives up after 8 s."""

    def __init__(self, *runs: str) -> None:
        super().__init__()
        self._runs = runs

    def run(
        self, job: Job, directory: Path, *, slot: int, on_progress: Callable[[float], None]
    ) -> Status:
        status = super().run(job, directory, slot=slot, on_progress=on_progress)
        if job.run in self._runs:
            file = directory / RECORDS_FILE
            *found, end = read_records(file)
            lost = [
                each.model_copy(update={"delivered_packets": 0})
                if isinstance(each, Calibration)
                else each
                for each in found
            ]
            told = GaveUp(record="gave_up", side="client", at_ns=8 * NS_PER_S, cause="no answer")
            file.write_text("".join(record_to_json(each) + "\n" for each in [*lost, told, end]))
        return status


def test_conditions_under_which_all_gave_up_are_part_of_the_answer(
    use: Callable[..., None], tmp_path: Path
) -> None:
    use(GivingUp("c001-r00"))
    pairs = [("transport", "tcp"), ("loss", "1%,100%"), ("replicates", "1")]
    answer = next(said for name, said in events_of(asked(pairs, tmp_path)) if name == "answer")
    assert answer["notes"] == [
        "gave up: in 1 of 2 runs a transport had no answer any more (c001-r00 after 8.00 s); they"
        " have no other value, and means are of the runs that have one"
    ]
    bars = [bar for group in answer["metrics"][0]["groups"] for bar in group["bars"]]
    assert [(bar["mean"] is None, bar["gave_up"]) for bar in bars] == [(False, 0), (True, 1)]


@pytest.mark.parametrize(("loss", "note"), [("1%", "all equal"), ("0%", "exact")])
def test_equal_runs_are_exact_only_where_nothing_random_was_planned(
    use: Callable[..., None], tmp_path: Path, loss: str, note: str
) -> None:
    """And the answer says, as the command line does, what so few random ones cannot decide."""
    use(FakeBackend())
    pairs = [("transport", "tcp"), ("rtt", "50ms,60ms"), ("loss", loss), ("replicates", "3")]
    happened = events_of(asked(pairs, tmp_path))
    answer = [said for name, said in happened if name == "answer"][-1]
    bars = [bar for group in answer["metrics"][0]["groups"] for bar in group["bars"]]
    assert [bar["note"] for bar in bars] == [note, note]
    said = [few.sentence() for few in too_few_as_planned(study_of(options_of(pairs)), None)]
    assert answer["too_few"] == [f"warning: {each}" for each in said]
    assert [
        each.endswith("with 7 they could be, and called equivalent with 29") for each in said
    ] == [True] * (loss == "1%")


def test_values_have_texts_in_the_units_of_answers_beside_them(
    use: Callable[..., None], tmp_path: Path
) -> None:
    """The last unit is the answer's own; larger ones suit another answer on the same axis."""
    use(FakeBackend())
    answer = events_of(asked(PAIRS, tmp_path))[-1][1]
    (metric,) = answer["metrics"]
    bar = metric["groups"][0]["bars"][0]
    assert metric["units"] == ["s", "ms", "µs"][: len(metric["units"])]
    assert [text.rpartition(" ")[2] for text in bar["texts"]] == metric["units"]
    assert bar["mean"] == pytest.approx(sum(bar["samples"]) / 4)
    in_s = float(bar["texts"][0].split(" ")[0])
    assert in_s == pytest.approx(bar["mean"], rel=0.01)
    assert metric["whole"] is None


def test_a_refusal_names_the_option_that_it_asks_for(
    use: Callable[..., None], tmp_path: Path
) -> None:
    """By the study's own check, so that the page has no second rule."""
    use(FakeBackend())
    asked_for = {
        (("queue", "1bdp"), ("rate", "10mbit")): "--rtt",
        (("queue", "1bdp"), ("rtt", "10ms")): "--rate",
        (("discipline", "codel"), ("rtt", "10ms")): "--rate",
        (("policer", "100kB"), ("rtt", "10ms")): "--rate",
        (("jitter_order", "free"), ("rtt", "10ms")): "--jitter",
        (("loss", "9999%"), ("rtt", "10ms")): None,
    }
    for pairs, missing in asked_for.items():
        name, said = events_of(asked(list(pairs), tmp_path))[-1]
        assert name == "refused"
        assert said["option"] == "--" + pairs[0][0].replace("_", "-")
        assert said["missing"] == missing


def test_nothing_but_zeros_has_the_usual_unit(use: Callable[..., None], tmp_path: Path) -> None:
    use(FakeBackend())
    pairs = [*PAIRS, ("metric", "queue_delay_s_p95")]
    (metric,) = events_of(asked(pairs, tmp_path))[-1][1]["metrics"]
    texts = [bar["texts"] for group in metric["groups"] for bar in group["bars"]]
    assert texts == [["0 s"], ["0 s"]]
