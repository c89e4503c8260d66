"""Examines commits of a kernel's repository for a bisection, and prints the result of each."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

    from netwarp.backends.git_history import History
    from netwarp.backends.kernel_commits import CommitBuilder
    from netwarp.bisection.bisection import Bisection
    from netwarp.bisection.search import Culprits, Examined, Remaining
    from netwarp.evaluation import RunData
    from netwarp.study import Study


class Steps:
    """Carries out the steps of a bisection, each of which examines a commit, and prints the
    results.
    """

    def __init__(
        self, study: Study, builder: CommitBuilder, history: History, place: Path,
        jobs: int | None, good: str | None,
    ) -> None:  # fmt: skip
        self.study, self.builder, self.history = study, builder, history
        self.place, self.jobs = place, jobs
        self.good = good
        """The good commit with which others are compared; None if expectations decide."""

    def examine(self, commit: str) -> Examined:
        """Build a commit, run the study on it, and return whether it is good or bad."""
        from netwarp.bisection.judging import differing, examined
        from netwarp.bisection.search import Answer, Examined

        kernel = self.builder.kernel(commit)
        if kernel is None:
            return Examined(commit, Answer.SKIP, "it cannot be built")
        found = self.run_on(commit, kernel.directory)
        if self.good is None:
            return examined(commit, found)
        return differing(commit, self.data_of(self.good), found)

    def run_on(self, commit: str, kernel: Path) -> RunData:
        """Run the study on a kernel, with as many replicates as decide its expectations, or with
        the study's own number if commits are compared.
        """
        from netwarp.backends.virtual import VirtualBackend
        from netwarp.cli.running import command_line
        from netwarp.estimate.staging import Staging
        from netwarp.library import run
        from netwarp.library.backends import bounds_of

        environ = {**os.environ, "NETWARP_KERNEL": str(kernel)}
        backend = VirtualBackend(bounds_of(self.study), environ)
        how: dict[str, Any] = {} if self.jobs is None else {"jobs": self.jobs}
        staging = Staging() if self.good is None else None
        return run(
            self.study, backend, staging=staging, command_line=command_line(),
            out=self.runs_of(commit), **how,
        ).data  # fmt: skip

    def data_of(self, commit: str) -> RunData:
        """Return the results of the runs with a commit."""
        from netwarp.evaluation import load

        return load(self.runs_of(commit), study=self.study)

    def runs_of(self, commit: str) -> Path:
        """Return the path of the run directory for a commit."""
        return self.place / "runs" / commit[:12]

    def say_next(self, remaining: Remaining) -> None:
        """Print which commit is examined next."""
        from netwarp.cli.terminal import console, escaped

        subject = escaped(self.history.subject(remaining.commit))
        console().print(
            f"{remaining.commits} commits left, about {remaining.steps} steps; next:"
            f" {remaining.commit[:12]} {subject}",
            highlight=False, soft_wrap=True,
        )  # fmt: skip

    def say(self, examined: Examined, subject: str) -> None:
        """Print the result of examining a commit."""
        from netwarp.cli.terminal import console, escaped

        styles = {"good": "green", "bad": "bold red", "skip": "yellow"}
        answer = examined.answer.value
        console().print(
            f"[{styles[answer]}]{answer:4}[/] {examined.commit[:12]} {escaped(subject)}",
            highlight=False, soft_wrap=True,
        )  # fmt: skip
        for line in examined.why.splitlines():
            console().print(f"     {escaped(line)}", highlight=False, soft_wrap=True)

    def tell(self, bisection: Bisection, culprits: Culprits, *, as_json: bool) -> None:
        """Print the first bad commit, its message, and the results before and after it, and draw
        these results.
        """
        from netwarp.bisection.bisection import before_and_after
        from netwarp.bisection.picture import pictures
        from netwarp.cli.terminal import answer_console, end_by, print_json

        before, after = before_and_after(bisection.known, culprits, self.history)
        drawn = pictures(
            self.place, *((each.commit, self.data_of(each.commit)) for each in (before, after)),
            differs=self.good is not None,
        )  # fmt: skip
        if as_json:
            print_json(
                {
                    "found": culprits.is_found,
                    "commits": list(culprits.commits),
                    "subjects": [self.history.subject(each) for each in culprits.commits],
                    "out": str(self.place),
                    "pictures": [str(each) for each in drawn],
                    "steps": [
                        {"commit": each.commit, "answer": each.answer.value, "why": each.why}
                        for each in bisection.known.values()
                    ],
                }
            )
        else:
            put = answer_console(highlight=False, soft_wrap=True, markup=False).print
            if culprits.is_found:
                put(f"the first bad commit:\n\n{self.history.description(after.commit)}\n")
            else:
                put("the first bad commit is one of these, of which the others cannot be told:\n")
                for each in culprits.commits:
                    put(f"  {each[:12]} {self.history.subject(each)}")
                put("")
            for said, one in (("before", before), ("after", after)):
                for line in one.why.splitlines():
                    put(f"{said:6}  {one.commit[:12]}  {line}")
            put(f"\nnetwarp diff {self.runs_of(before.commit)} {self.runs_of(after.commit)}")
            for picture in drawn:
                put(f"picture: {picture}")
            put(f"log: {self.place / 'bisect.log'}; objects for the next one: {self.builder.tree}")
        end_by(0 if culprits.is_found else 3)
