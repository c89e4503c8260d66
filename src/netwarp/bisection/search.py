"""Decides which commit is examined next, and when a bisection is over."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum


class Answer(StrEnum):
    """Whether a commit is good, bad or skipped, in the words of git bisect."""

    GOOD = "good"
    BAD = "bad"
    SKIP = "skip"
    """Unknown: the commit cannot be built, or its runs decide nothing."""


@dataclass(frozen=True)
class Examined:
    """A commit that was examined, with the answer."""

    commit: str
    answer: Answer
    why: str
    """The results of the expectations, or the reason why the commit has none."""


@dataclass(frozen=True)
class Culprits:
    """The result of a search: the first bad commit, or the commits among which it is."""

    commits: tuple[str, ...]
    """The first bad commit alone, if it is known; else a bad commit and the skipped ones before
    it.
    """

    @property
    def is_found(self) -> bool:
        """Whether the first bad commit is known."""
        return len(self.commits) == 1


@dataclass(frozen=True)
class Remaining:
    """The next step of a search, and how much of the search is left."""

    commit: str
    """The commit that is examined next."""
    commits: int
    """Number of commits among which the first bad one is."""

    @property
    def steps(self) -> int:
        """Estimated number of further examinations."""
        return (self.commits - 1).bit_length()


Ranked = Callable[[str, Sequence[str]], Sequence[str]]
"""A function that returns the commits among which the first bad one is: those in the history of a
bad commit and in that of none of the good ones, with the bad one. Those that divide the others best
come first (`git rev-list --bisect-all`)."""


def what_next(bad: str, ranked: Sequence[str], skipped: Sequence[str]) -> Remaining | Culprits:
    """Return the commit to examine next, or the result of the search.

    Args:
        bad: the commit that was found bad last; all others are in its history.
        ranked: see `Ranked`.
        skipped: the commits whose examination decided nothing.
    """
    untold = [each for each in ranked if each in set(skipped) and each != bad]
    open_ = [each for each in ranked if each != bad and each not in set(skipped)]
    if open_:
        return Remaining(_away_from(untold, open_, ranked), len(ranked))
    return Culprits((bad, *untold))


def _away_from(skipped: Sequence[str], open_: Sequence[str], ranked: Sequence[str]) -> str:
    """Return the commit to test next. If commits near the best one were skipped, a commit further
    away is returned, because commits that do not build are often neighbours.

    Args:
        skipped: the commits that were skipped.
        open_: the commits that can be tested, best first.
        ranked: all remaining commits, best first: those that divide the others best.
    """
    beginning = ranked[: 2 * len(skipped)]
    near = sum(each in set(skipped) for each in beginning)
    return open_[min(near * near // 2, len(open_) - 1)]


def search(
    bad: str, good: str, ranked: Ranked, earlier: Mapping[str, Examined]
) -> Iterator[Remaining | Culprits]:
    """Yield each next step, until the result is known. The caller adds the answer for each commit
    to `earlier` before it asks for the next step.

    Args:
        bad: a commit that was found bad.
        good: a commit that was found good, in the history of the bad one.
        ranked: see `Ranked`.
        earlier: commits examined so far, with their answers; the caller adds to it.
    """
    while True:
        goods = list(dict.fromkeys([good, *_commits_with(earlier, Answer.GOOD)]))
        candidates = ranked(bad, goods)
        others = set(candidates) - {bad}
        narrower = [each for each in _commits_with(earlier, Answer.BAD) if each in others]
        if narrower:
            # Each bad commit that was found lies in the history of the one before.
            bad = min(narrower, key=lambda each: len(ranked(each, goods)))
            continue
        following = what_next(bad, candidates, _commits_with(earlier, Answer.SKIP))
        yield following
        if isinstance(following, Culprits):
            return


def _commits_with(earlier: Mapping[str, Examined], answer: Answer) -> list[str]:
    return [each.commit for each in earlier.values() if each.answer is answer]
