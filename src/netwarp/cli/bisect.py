"""The command that finds the commit of a kernel's repository that broke an expectation."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from netwarp.cli.command import Argument, command
from netwarp.errors import InputError
from netwarp.options import Option
from netwarp.options.kernel_source import CONFIG, GIT, PATCH, TREE
from netwarp.options.running import EXPECT, JOBS, JSON, OUT, QUICK, REPLICATES, SEED, SET

if TYPE_CHECKING:
    from collections.abc import Sequence

    from netwarp.backends.git_history import History
    from netwarp.backends.kernel_commits import CommitBuilder
    from netwarp.bisection.bisection import Bisection
    from netwarp.bisection.search import Culprits, Examined, Remaining
    from netwarp.evaluation import RunData
    from netwarp.study import Study


@command(
    Argument(
        "study", "STUDY", "The study to run: a file, or a name of `netwarp studies`.", type=Path
    ),
    replace(GIT, help="The repository of the kernel's source."),
    Option(
        name="good", metavar="REF",
        help="A tag, branch or hash for which the expectations hold, such as v6.8.",
    ),
    Option(
        name="bad", metavar="REF", help="A later one for which they do not, such as v6.13.",
    ),
    EXPECT,
    replace(CONFIG, help="An additional line of the kernels' configuration. Repeatable."),
    replace(PATCH, help="A patch to apply to each commit (`patch -p1`). Repeatable."),
    replace(
        TREE,
        help="Where source and objects are kept between steps, and for the next bisection (2.5 GB)."
        " Default: netwarp's cache.",
    ),
    OUT, JOBS, REPLICATES, SEED, SET, QUICK, JSON,
)  # fmt: skip
def bisect(
    study: Path,
    *,
    git: Path | None = None,
    good: str | None = None,
    bad: str | None = None,
    expect: Sequence[str] = (),
    config: Sequence[str] = (),
    patch: Sequence[str] = (),
    tree: Path | None = None,
    out: Path | None = None,
    jobs: int | None = None,
    as_json: bool = False,
    **changes: Any,
) -> None:
    """Find the commit of a kernel's repository that broke an expectation.

    netwarp bisect --git ~/linux --good v6.8 --bad v6.13 my.toml --expect 'completion_time_s < 2 s'

    Each step builds a commit from the objects of the one before, runs the study on it and judges
    the expectations: good if they hold, bad if one does not. A commit that does not build, or of
    which all replicates that may be added decide nothing, is skipped. The log is one of git
    bisect's; the same command again goes on.
    """
    from netwarp.backends.git_history import History
    from netwarp.backends.kernel_commits import CommitBuilder
    from netwarp.bisection.bisection import Bisection, default_place
    from netwarp.cache import cache_directory
    from netwarp.cli.interruption import interruption

    if git is None or good is None or bad is None:
        raise InputError(
            "bisect: where is the source, and between which commits? Give --git DIR --good REF"
            " --bad REF"
        )
    history = History(git)
    commits = {"bad": history.commit(bad, "--bad"), "good": history.commit(good, "--good")}
    if commits["good"] == commits["bad"] or not history.is_before(commits["good"], commits["bad"]):
        raise InputError(
            f"bisect: --good {good} is not in the history of --bad {bad}, so no commit between them"
            " is the first bad one; choose a good one that is (`git merge-base GOOD BAD` names one)"
        )
    loaded = judged_study(study, expect, changes)
    own = [word for line in config for word in ("--config", line)]
    own += [word for file in patch for word in ("--patch", str(Path(file).absolute()))]
    asked = {"study": dict(loaded.raw), "seed": loaded.seed, "kernel": own}
    place = out or default_place({**commits, **asked}, loaded.file)
    repository = git.resolve()
    builder = CommitBuilder(
        repository, tree or cache_directory() / "kernel-tree" / repository.name,
        place.absolute() / "kernels", own, jobs,
    )  # fmt: skip
    steps = Steps(loaded, builder, history, place, jobs)
    bisection = Bisection(place, history, steps.examine, steps.say, steps.say_next)
    interruption.kept_text = lambda: (
        f"{len(bisection.known)} commits are examined; the same command goes on from there"
    )
    culprits = bisection.run(**commits, asked=asked)
    steps.tell(bisection, culprits, as_json=as_json)


def judged_study(study: Path, expect: Sequence[str], changes: dict[str, Any]) -> Study:
    """Load the study, with at least one expectation.

    Raises:
        InputError: it has none, or names the kernel itself.
    """
    from netwarp.cli.terminal import planning
    from netwarp.library import load
    from netwarp.sources.shipped import study_named
    from netwarp.study.expecting import expecting

    with planning():
        loaded = expecting(load(study_named(study), **changes), expect)
    if not loaded.expectations:
        raise InputError(
            "bisect: what tells good from bad? Give --expect 'completion_time_s < 2.5 s', or an"
            " [[expect]] in the study"
        )
    if any(cell.template.kernel is not None for cell in loaded.cells):
        raise InputError("bisect: the study names its kernel, and a bisection boots many: drop it")
    return loaded


class Steps:
    """Examines commits, and prints what is found of each."""

    def __init__(
        self, study: Study, builder: CommitBuilder, history: History, place: Path, jobs: int | None
    ) -> None:
        self.study, self.builder, self.history = study, builder, history
        self.place, self.jobs = place, jobs

    def examine(self, commit: str) -> Examined:
        """Build a commit and run the study on it."""
        from netwarp.bisection.judging import examined
        from netwarp.bisection.search import Answer, Examined

        kernel = self.builder.kernel(commit)
        if kernel is None:
            return Examined(commit, Answer.SKIP, "it cannot be built")
        return examined(commit, self.run_on(commit, kernel.directory))

    def run_on(self, commit: str, kernel: Path) -> RunData:
        """Run the study on a kernel, with as many replicates as decide it."""
        from netwarp.backends.virtual import VirtualBackend
        from netwarp.cli.running import command_line
        from netwarp.estimate.staging import Staging
        from netwarp.library import run
        from netwarp.library.backends import bounds_of

        environ = {**os.environ, "NETWARP_KERNEL": str(kernel)}
        backend = VirtualBackend(bounds_of(self.study), environ)
        how: dict[str, Any] = {} if self.jobs is None else {"jobs": self.jobs}
        return run(
            self.study, backend, staging=Staging(), command_line=command_line(),
            out=self.runs_of(commit), **how,
        ).data  # fmt: skip

    def runs_of(self, commit: str) -> Path:
        """Return the run directory of a commit."""
        return self.place / "runs" / commit[:12]

    def say_next(self, remaining: Remaining) -> None:
        """Print which commit is next."""
        from netwarp.cli.terminal import console, escaped

        subject = escaped(self.history.subject(remaining.commit))
        console().print(
            f"{remaining.commits} commits left, about {remaining.steps} steps; next:"
            f" {remaining.commit[:12]} {subject}",
            highlight=False, soft_wrap=True,
        )  # fmt: skip

    def say(self, examined: Examined, subject: str) -> None:
        """Print what was found of a commit."""
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
        """Print the first bad commit, its message, and the results before and after it."""
        from netwarp.bisection.bisection import before_and_after
        from netwarp.cli.terminal import answer_console, end_by, print_json

        before, after = before_and_after(bisection.known, culprits, self.history)
        if as_json:
            print_json(
                {
                    "found": culprits.is_found,
                    "commits": list(culprits.commits),
                    "subjects": [self.history.subject(each) for each in culprits.commits],
                    "out": str(self.place),
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
            put(f"log: {self.place / 'bisect.log'}; objects for the next one: {self.builder.tree}")
        end_by(0 if culprits.is_found else 3)
