"""The command that finds the commit of a kernel's repository that broke an expectation."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from netwarp.cli.command import Argument, command
from netwarp.errors import InputError
from netwarp.options import Option, Takes
from netwarp.options.kernel_source import CONFIG, GIT, PATCH, TREE
from netwarp.options.running import (
    EXPECT,
    JOBS,
    JSON,
    METRIC,
    OUT,
    QUICK,
    REPLICATES,
    SEED,
    SET,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

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
    Option(
        name="differs", takes=Takes.FLAG,
        help="Call a commit bad if what was measured differs from the good commit's, for better or"
        " worse, by more than the smallest relevant difference; instead of --expect.",
    ),
    replace(METRIC, help="The metrics that --differs compares. Default: the study's."),
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
    differs: bool = False,
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
    the expectations: good if they hold, bad if one does not; or, with --differs, whether it differs
    from the good commit. A commit that does not build, or of which all replicates that may be added
    decide nothing, is skipped. The log is one of git bisect's; the same command again goes on.
    """
    from netwarp.backends.git_history import History
    from netwarp.backends.guest_files import find_endpoint
    from netwarp.backends.kernel_commits import CommitBuilder
    from netwarp.bisection.bisection import Bisection, default_place
    from netwarp.cache import cache_directory
    from netwarp.cli.bisection_steps import Steps
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
    loaded = judged_study(study, expect, changes, differs=differs)
    find_endpoint()  # before a kernel is compiled, see whether every run would be refused
    own = [word for line in config for word in ("--config", line)]
    own += [word for file in patch for word in ("--patch", str(Path(file).absolute()))]
    asked: dict[str, Any] = {"study": dict(loaded.raw), "seed": loaded.seed, "kernel": own}
    if differs:
        asked["differs"] = True
    place = out or default_place({**commits, **asked}, loaded.file)
    repository = git.resolve()
    builder = CommitBuilder(
        repository, tree or cache_directory() / "kernel-tree" / repository.name,
        place.absolute() / "kernels", own, jobs,
    )  # fmt: skip
    steps = Steps(loaded, builder, history, place, jobs, commits["good"] if differs else None)
    bisection = Bisection(place, history, steps.examine, steps.say, steps.say_next)
    interruption.kept_text = lambda: (
        f"{len(bisection.known)} commits are examined; the same command goes on from there"
    )
    culprits = bisection.run(**commits, asked=asked)
    steps.tell(bisection, culprits, as_json=as_json)


def judged_study(
    study: Path, expect: Sequence[str], changes: dict[str, Any], *, differs: bool
) -> Study:
    """Load the study of a bisection; it must have an expectation unless commits are compared with
    the good one.

    Raises:
        InputError: it has no expectation, or names a kernel itself; or it is to be judged both by
            expectations and by differences.
    """
    from netwarp.cli.terminal import planning
    from netwarp.library import load
    from netwarp.sources.shipped import study_named
    from netwarp.study.expecting import expecting

    with planning():
        loaded = expecting(load(study_named(study), **changes), expect)
    if differs and expect:
        raise InputError(
            "bisect --differs beside --expect: one of them tells good from bad; drop one"
        )
    if changes.get("metric") and not differs:
        raise InputError(
            "bisect --metric: an expectation names its metric; --differs compares them"
        )
    if not loaded.expectations and not differs:
        raise InputError(
            "bisect: what tells good from bad? Give --expect 'completion_time_s < 2.5 s', an"
            " [[expect]] in the study, or --differs"
        )
    if any(cell.template.kernel is not None for cell in loaded.cells):
        raise InputError("bisect: the study names its kernel, and a bisection boots many: drop it")
    return loaded
