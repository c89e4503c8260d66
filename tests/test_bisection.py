"""Which commit a bisection examines next, when it ends, and how it is resumed."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import support
from netwarp.bisection import log
from netwarp.bisection.bisection import LOG_FILE, Bisection, before_and_after
from netwarp.bisection.judging import answer_of, differing
from netwarp.bisection.picture import charts, pictures, side_by_side
from netwarp.bisection.search import Answer, Culprits, Examined, Ranked, Remaining, search
from netwarp.claims.expectations import Kept
from netwarp.errors import InputError
from netwarp.evaluation import RunData, load
from netwarp.results import Results, RunResult


def name(number: int) -> str:
    return f"{number:040x}"


def line_of(count: int) -> Ranked:
    """A history without branches: commit 0 is the oldest."""

    def ranked(bad: str, goods: Sequence[str]) -> list[str]:
        newest_good = max(int(each, 16) for each in goods if int(each, 16) < int(bad, 16))
        candidates = range(newest_good + 1, int(bad, 16) + 1)
        assert len(candidates) <= count
        by_distance = sorted(
            candidates, key=lambda each: -min(each - newest_good, int(bad, 16) - each)
        )
        return [name(each) for each in by_distance]

    return ranked


Examine = Callable[[str], Answer]


def carried_out(
    count: int, examine: Examine, known: dict[str, Examined] | None = None
) -> tuple[Culprits, dict[str, Examined]]:
    """Search with a builder that is a function, from commit 0, which is good, to the last."""
    known = {} if known is None else known
    bad, good = name(count), name(0)
    known.setdefault(bad, Examined(bad, Answer.BAD, ""))
    known.setdefault(good, Examined(good, Answer.GOOD, ""))
    for following in search(bad, good, line_of(count), known):
        if isinstance(following, Culprits):
            return following, known
        assert following.commit not in known
        answer = examine(following.commit)
        known[following.commit] = Examined(following.commit, answer, f"about {following.commit}")
    raise AssertionError("the search ended without a result")


@pytest.mark.parametrize("count", [1, 2, 3, 8, 37, 1000])
def test_the_first_bad_commit_is_found_in_as_many_steps_as_halving_takes(count: int) -> None:
    for culprit in {1, 2, count // 2, count - 1, count} & set(range(1, count + 1)):

        def examine(commit: str, culprit: int = culprit) -> Answer:
            return Answer.BAD if int(commit, 16) >= culprit else Answer.GOOD

        found, known = carried_out(count, examine)
        assert found.commits == (name(culprit),)
        assert len(known) - 2 <= math.ceil(math.log2(count)) if count > 1 else len(known) == 2


@pytest.mark.parametrize("broken", [{8}, {7, 8, 9}, {4, 5, 6, 7, 8, 9, 10, 11}, set(range(1, 16))])
@pytest.mark.parametrize("culprit", range(1, 17))
def test_what_cannot_be_built_is_skipped_and_named_where_it_may_be_the_culprit(
    broken: set[int], culprit: int
) -> None:
    asked = []

    def examine(commit: str) -> Answer:
        asked.append(commit)
        if int(commit, 16) in broken:
            return Answer.SKIP
        return Answer.BAD if int(commit, 16) >= culprit else Answer.GOOD

    found, _ = carried_out(16, examine)
    assert len(asked) == len(set(asked))
    # All that lie between the newest good and the oldest bad commit that can be told.
    oldest_bad = min(each for each in range(culprit, 17) if each not in broken)
    newest_good = max(each for each in range(culprit) if each not in broken)
    expected = {name(each) for each in range(newest_good + 1, oldest_bad + 1)}
    assert set(found.commits) == expected
    assert found.is_found == (len(expected) == 1)
    assert found.commits[0] == name(oldest_bad)


def test_a_search_that_is_resumed_asks_nothing_again_and_ends_as_it_would_have() -> None:
    culprit = 77

    def examine(commit: str) -> Answer:
        if int(commit, 16) in (50, 75):
            return Answer.SKIP
        return Answer.BAD if int(commit, 16) >= culprit else Answer.GOOD

    whole, known = carried_out(100, examine)
    text = log.START + "".join(log.entry(each, "a subject") for each in known.values())
    for steps in range(2, len(known) + 1):
        begun = dict(list(log.read(text).items())[:steps])
        again, asked = carried_out(100, examine, begun)
        assert again == whole
        assert list(asked) == list(known)


def test_the_log_is_git_bisects_and_keeps_what_was_found() -> None:
    examined = Examined(name(7), Answer.BAD, "completion_time_s < 1 s: does not hold\n3.1 s")
    text = log.START + log.entry(examined, "tcp: wait longer")
    assert text.splitlines() == [
        "git bisect start",
        f"# bad: [{name(7)}] tcp: wait longer",
        "# completion_time_s < 1 s: does not hold",
        "# 3.1 s",
        f"git bisect bad {name(7)}",
    ]
    assert log.read(text) == {name(7): examined}
    # A line that was not written to its end says nothing.
    assert log.read(text.removesuffix("\n")) == {}


def test_it_says_how_many_steps_are_left() -> None:
    first = next(search(name(1000), name(0), line_of(1000), {}))
    assert isinstance(first, Remaining)
    assert (first.commit, first.commits, first.steps) == (name(500), 1000, 10)


class Line:
    """A repository whose commits are on one line."""

    def ranked(self, bad: str, goods: Sequence[str]) -> Sequence[str]:
        return line_of(10**6)(bad, goods)

    def subject(self, commit: str) -> str:
        return f"commit {int(commit, 16)}"


def bisection(place: Path, examine: Examine, asked: list[str]) -> Bisection:
    """A bisection whose builder is a function, which notes what it is asked."""

    def examined(commit: str) -> Examined:
        asked.append(commit)
        return Examined(commit, examine(commit), f"value of {int(commit, 16)}")

    return Bisection(place, Line(), examined, lambda *_: None, lambda _: None)


def bad_from(culprit: int) -> Examine:
    return lambda commit: Answer.BAD if int(commit, 16) >= culprit else Answer.GOOD


def test_a_bisection_that_is_interrupted_goes_on_from_its_log(tmp_path: Path) -> None:
    place, asked = tmp_path / "out", list[str]()

    def interrupted(commit: str) -> Answer:
        if len(asked) == 4:
            raise KeyboardInterrupt
        return bad_from(13)(commit)

    ends: dict[str, Any] = {"bad": name(20), "good": name(0), "asked": {"study": "one"}}
    with pytest.raises(KeyboardInterrupt):
        bisection(place, interrupted, asked).run(**ends)
    kept = asked[:3]
    assert list(log.read((place / LOG_FILE).read_text())) == kept
    again: list[str] = []
    resumed = bisection(place, bad_from(13), again)
    assert resumed.run(**ends).commits == (name(13),)
    assert not set(again) & set(kept)
    before, after = before_and_after(resumed.known, Culprits((name(13),)), Line())
    assert (before.commit, after.commit) == (name(12), name(13))
    # Nothing is left to do the third time.
    third: list[str] = []
    assert bisection(place, bad_from(13), third).run(**ends).commits == (name(13),)
    assert third == []
    with pytest.raises(InputError, match="holds another bisection"):
        bisection(place, bad_from(13), []).run(**{**ends, "asked": {"study": "another"}})


@pytest.mark.parametrize(
    ("culprit", "says"),
    [(99, "--bad 0000.* meets the expectations"), (0, "--good .* does not meet")],
)
def test_ends_that_are_not_as_was_said_are_refused_with_what_was_measured(
    tmp_path: Path, culprit: int, says: str
) -> None:
    with pytest.raises(InputError, match=f"{says}.*value of"):
        bisection(tmp_path / "out", bad_from(culprit), []).run(name(9), name(0), {})


def test_a_directory_with_files_of_others_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("x")
    with pytest.raises(InputError, match="files of others"):
        bisection(tmp_path, bad_from(3), []).run(name(9), name(0), {})
    assert [each.name for each in tmp_path.iterdir()] == ["thesis.tex"]


def test_one_broken_expectation_makes_a_commit_bad_and_one_undecided_leaves_it_untold() -> None:
    assert answer_of([Kept.HOLDS, Kept.HOLDS]) is Answer.GOOD
    assert answer_of([Kept.HOLDS, Kept.UNDECIDED]) is Answer.SKIP
    assert answer_of([Kept.UNDECIDED, Kept.BROKEN]) is Answer.BAD


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> RunData:
    """The runs of a good commit."""
    data = load(support.write_run_directory(tmp_path_factory.mktemp("good") / "out"))
    return replace(data, results=support.results(failed_run=None))


def slower(data: RunData, factor: Callable[[RunResult], float]) -> RunData:
    """The same runs on the kernel of another commit, with other completion times."""
    runs = []
    for run in data.results.runs:
        time_s = (run.value("completion_time_s") or 0.0) * factor(run)
        runs.append(replace(run, metrics={**run.metrics, "completion_time_s": time_s}))
    return replace(data, results=Results(tuple(runs), data.results.criteria))


def is_one_cell(run: RunResult) -> bool:
    wanted = {"transport": "sctp", "path.loss": "0%", "path.rtt": "50ms"}
    return dict(run.factors) == wanted


@pytest.mark.parametrize("factor", [0.9, 1.2])
def test_a_commit_differs_if_one_cell_does_for_better_or_worse(
    good: RunData, factor: float
) -> None:
    commit = slower(good, lambda run: factor if is_one_cell(run) else 1.0)
    found = differing(name(7), good, commit)
    assert found.answer is Answer.BAD
    counted, only = found.why.splitlines()
    assert "23 unchanged" in counted
    assert "SCTP" in only
    assert "50" in only


def test_a_commit_that_changes_less_than_is_relevant_does_not_differ(good: RunData) -> None:
    assert differing(name(7), good, good).answer is Answer.GOOD
    close = slower(good, lambda run: 1.0 + 0.004 * (run.replicate % 2))
    assert differing(name(7), good, close).answer is Answer.GOOD


def test_a_commit_of_which_the_replicates_tell_nothing_is_skipped(good: RunData) -> None:
    unclear = slower(good, lambda run: 1.0 if run.replicate else 1.3)
    assert differing(name(7), good, unclear).answer is Answer.SKIP
    failed = tuple(replace(run, outcome="failed", reason="no boot") for run in good.results.runs)
    found = differing(name(7), good, replace(good, results=Results(failed)))
    assert found.answer is Answer.SKIP
    assert "no boot" in found.why


def test_before_and_after_are_drawn_side_by_side(good: RunData, tmp_path: Path) -> None:
    bad = slower(good, lambda _: 2.0)
    both = side_by_side(("before", good.results), ("after", bad.results))
    assert both.factors["commit"] == ("before", "after")
    assert len(both.cells) == 2 * len(good.results.cells)
    (chart,) = charts(both, ["completion_time_s", "rr_latency_s_p50"])
    assert "before and after the first bad commit" in chart.title
    (file,) = pictures(tmp_path, (name(7), good), (name(8), bad), differs=True)
    text = file.read_text()
    assert "before: 000000000000" in text
    assert "after: 000000000000" in text
