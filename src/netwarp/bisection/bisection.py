"""Examines commits until the first bad one is known, and keeps a log from which the search can be
resumed.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any, Protocol

from netwarp.bisection import log
from netwarp.bisection.search import Answer, Culprits, Examined, Remaining, search
from netwarp.errors import InputError
from netwarp.pipeline import DEFAULT_PARENT
from netwarp.run_files import write_json, write_text

LOG_FILE = "bisect.log"
ASKED_FILE = "bisection.json"


class Commits(Protocol):
    """The repository of commits that a bisection searches."""

    def ranked(self, bad: str, goods: Sequence[str]) -> Sequence[str]:
        """Return the commits to test, in the order that :data:`netwarp.bisection.search.Ranked`
        describes.
        """

    def subject(self, commit: str) -> str:
        """Return the first line of a commit's message."""


Examine = Callable[[str], Examined]
"""A function that builds a commit, runs the study on it, and returns whether the commit is good or
bad.
"""


@dataclass
class Bisection:
    """A search for the first bad commit, with its own directory."""

    place: Path
    commits: Commits
    examine: Examine
    on_step: Callable[[Examined, str], None]
    """Called with each commit that was examined, and the first line of its message."""
    on_next: Callable[[Remaining], None]
    """Called with the next step of the search, before its commit is examined."""
    known: dict[str, Examined] = field(default_factory=dict)

    def run(self, bad: str, good: str, asked: Mapping[str, Any]) -> Culprits:
        """Search for the first bad commit.

        Args:
            bad: the commit in whose history the expectations are broken.
            good: a commit before that, for which they hold.
            asked: everything else on which the answer depends; a directory of a bisection with
                other values is refused.

        Raises:
            InputError: `bad` is not bad, or `good` is not good; or the directory has another
                bisection.
        """
        self._begin({"bad": bad, "good": good, **asked})
        # The good one first, because others are compared with it.
        for commit, wanted in ((good, Answer.GOOD), (bad, Answer.BAD)):
            found = self._examined(commit)
            if found.answer is not wanted:
                differs = bool(asked.get("differs"))
                raise InputError(_not_as_said(found, wanted, differs=differs))
        for following in search(bad, good, self.commits.ranked, self.known):
            if isinstance(following, Culprits):
                return following
            self.on_next(following)
            self._examined(following.commit)
        raise AssertionError("a search ends with culprits")

    def _begin(self, asked: Mapping[str, Any]) -> None:
        """Read which commits were examined before. Refuse the directory if it belongs to another
        bisection, with other values of `asked`.
        """
        file = self.place / ASKED_FILE
        if file.is_file():
            try:
                before = json.loads(file.read_text(encoding="utf-8"))
            except ValueError:
                before = None
            if before != asked:
                raise InputError(
                    f"{self.place} holds another bisection (of other commits, or another question):"
                    " choose another place with --out DIR, or remove it"
                )
        elif self.place.is_dir() and any(self.place.iterdir()):
            raise InputError(f"{self.place} has files of others: choose another with --out DIR")
        else:
            self.place.mkdir(parents=True, exist_ok=True)
            write_json(file, dict(asked))
        if self._log.is_file():
            self.known |= log.read(self._log.read_text(encoding="utf-8"))

    @property
    def _log(self) -> Path:
        return self.place / LOG_FILE

    def _examined(self, commit: str) -> Examined:
        """Examine a commit and add it to the log, unless the log has it already; return its
        answer.
        """
        if commit not in self.known:
            self.known[commit] = self.examine(commit)
            entries = (log.entry(each, self.commits.subject(each.commit)) for each in self._all())
            write_text(self._log, log.START + "".join(entries))
        found = self.known[commit]
        self.on_step(found, self.commits.subject(commit))
        return found

    def _all(self) -> Sequence[Examined]:
        return list(self.known.values())


def default_place(asked: Mapping[str, Any], study: str) -> Path:
    """Return the default directory of a bisection. Its name follows from the bisection's
    parameters, so that the same command finds it again.
    """
    digest = sha256(json.dumps(asked, sort_keys=True).encode()).hexdigest()[:8]
    return DEFAULT_PARENT / f"bisect-{Path(study).stem}-{digest}"


def before_and_after(
    known: Mapping[str, Examined], culprits: Culprits, commits: Commits
) -> tuple[Examined, Examined]:
    """Return the newest good commit, and the first bad one. If several commits may be the first bad
    one, it is the one of them that was found bad.
    """
    bad = culprits.commits[0]
    goods = [each for each in known.values() if each.answer is Answer.GOOD]
    # The nearer a good commit, the fewer commits are between.
    newest = min(goods, key=lambda each: len(commits.ranked(bad, [each.commit])))
    return newest, known[bad]


def _not_as_said(found: Examined, wanted: Answer, *, differs: bool) -> str:
    other = "does not meet" if wanted is Answer.GOOD else "meets"
    what, remedy = "the expectations", "Choose another commit or bound"
    if differs:
        other, what = "does not differ", "from the good commit"
        remedy = "Choose another commit or --metric, or more --replicates"
    if found.answer is Answer.SKIP:
        other = f"does not tell whether it {'differs' if differs else 'meets'}"
    return (
        f"--{wanted.value} {found.commit[:12]} {other} {what}, so there is nothing to bisect:"
        f" {'; '.join(found.why.splitlines())}. {remedy}"
    )
