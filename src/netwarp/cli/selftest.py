"""The command that runs the kernel's own tests."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from netwarp.cli.command import Argument, command
from netwarp.errors import InputError, ResultError
from netwarp.options import Option, Takes
from netwarp.options.kernel_source import GIT, REF, SOURCE
from netwarp.options.running import JOBS, JSON, MARKDOWN, OUT, SEED

if TYPE_CHECKING:
    from collections.abc import Sequence

    from netwarp.backends.guest_files import GuestKernel
    from netwarp.selftests.catalogue import SelfTest
    from netwarp.selftests.outcomes import Row
    from netwarp.study import Study

OF_KERNEL = (
    replace(
        SOURCE,
        help="The kernel's source, if it is not a package of Debian's, or that is not to be had any"
        " more: a tarball, or a directory.",
    ),
    replace(GIT, help="The kernel's source is a commit of this git repository, which --ref names."),
    REF,
)
"""Options that say from which source a kernel is built."""


@command(
    Argument(
        "names", "[NAME]…",
        "Tests, such as mptcp/simult_flows or 'fib*', or a folder of them. Default: all.", nargs=-1,
    ),
    Option(
        name="repeat", metavar="N", takes=Takes.WHOLE, least=1,
        help="Run each test N times, each time with other random numbers. Default: 1.",
    ),
    Option(
        name="same_seed", takes=Takes.FLAG,
        help="With --repeat: give all times the same random numbers, and tell whether what is"
        " printed is the same to the byte.",
    ),
    Option(
        name="kernel", metavar="NAME",
        help="The guest kernel: a version such as 6.12, or a name of `netwarp kernel list`."
        " Default: the default of this machine.",
    ),
    JOBS,
    SEED,
    OUT,
    Option(
        name="list", takes=Takes.FLAG,
        help="Only list the tests, with what they lack here; run nothing.",
    ),
    replace(MARKDOWN, help="Write the table as a page in Markdown, with the reasons."),
    *OF_KERNEL,
    JSON,
)  # fmt: skip
def selftest(
    names: Sequence[str] = (),
    *,
    repeat: int = 1,
    same_seed: bool = False,
    kernel: str | None = None,
    jobs: int | None = None,
    seed: int | None = None,
    out: Path | None = None,
    list: bool = False,  # noqa: A002 - the option's name
    markdown: Path | None = None,
    source: Path | None = None,
    git: Path | None = None,
    ref: str | None = None,
    as_json: bool = False,
) -> None:
    """Run the kernel's own tests of the network in virtual time.

    They are those of tools/testing/selftests/net, built from the very source of the kernel on which
    they run. Each runs as root in a guest of its own. A test that needs an option which the kernel
    lacks, or a program that is not installed here, is skipped, with its name.

    The exit status is 1 if a test fails, and 3 if none does but one was stopped before its end.
    """
    from netwarp.backends.guest_files import find_kernel
    from netwarp.backends.kernels import kernel_named
    from netwarp.backends.selftest_building import selftests_of
    from netwarp.cli.interruption import interruption
    from netwarp.output.own_files import refuse_foreign
    from netwarp.selftests.catalogue import built_tests, chosen
    from netwarp.selftests.study import study_of
    from netwarp.selftests.table import PAGE_START

    if source is not None and git is not None:
        raise InputError("selftest --source beside --git: the kernel was built of one source")
    if list and markdown is not None:
        raise InputError("selftest --list beside --markdown: the page is of what ran; drop one")
    if same_seed and repeat == 1:
        raise InputError("selftest --same-seed: one run has one seed; give --repeat N, too")
    if markdown is not None:
        refuse_foreign("selftest --markdown", markdown, PAGE_START)
    guest_kernel = find_kernel() if kernel is None else kernel_named(kernel)
    interruption.kept_text = lambda: "nothing of the tests' build is kept"
    given = {"--source": source, "--git": git, "--ref": ref}
    where = [each for name, value in given.items() if value for each in (name, str(value))]
    place = selftests_of(guest_kernel, where)
    tests = chosen(built_tests(place, guest_kernel), names)
    if list:
        print_list(tests, as_json=as_json)
        return
    name = None if kernel is None else guest_kernel.name
    able = [each for each in tests if each.lacks is None]
    study = None
    if able:
        study = study_of(
            able, place, repeat=repeat, same_seed=same_seed, kernel=name, seed=seed
        )  # fmt: skip
    found, directory = run_tests(tests, study, repeat, jobs, out)
    if markdown is not None:
        write_page(markdown, found, guest_kernel)
    print_found(found, directory, as_json=as_json)


def run_tests(
    tests: Sequence[SelfTest], study: Study | None, repeat: int, jobs: int | None, out: Path | None
) -> tuple[Sequence[Row], Path | None]:
    """Run the tests that lack nothing as a study. Return how all tests ended, and the run
    directory; None if no test could run.
    """
    from netwarp.cli.running import command_line, progress_bar
    from netwarp.library import run
    from netwarp.selftests.outcomes import rows

    data = None
    if study is not None:
        given: dict[str, Any] = {"jobs": jobs, "out": out}
        how = {name: value for name, value in given.items() if value is not None}
        data = run(study, observer=progress_bar(), command_line=command_line(), **how).data
    return rows(tests, data, repeat), None if data is None else data.directory


def write_page(file: Path, found: Sequence[Row], kernel: GuestKernel) -> None:
    """Write how the tests ended as a page in Markdown.

    Raises:
        ResultError: the file cannot be written.
    """
    from netwarp.cli.running import command_line
    from netwarp.run_files import write_text
    from netwarp.selftests.table import page

    try:
        write_text(file, page(found, f"{kernel.version} ({kernel.name})", command_line()))
    except OSError as error:
        raise ResultError(f"cannot write {file}: {error.strerror}") from None


def print_found(found: Sequence[Row], directory: Path | None, *, as_json: bool) -> None:
    """Print how the tests ended, and end the process with the exit status for that."""
    from netwarp.cli.terminal import answer_console, end_by, escaped, print_json
    from netwarp.selftests.outcomes import flip_texts, place_text, same_seed_texts, summary

    if as_json:
        told = [each.to_json() for each in found]
        print_json({"out": directory and str(directory), "tests": told})
    else:
        print_rows(found)
        for text in (*flip_texts(found), *same_seed_texts(found), summary(found)):
            answer_console().print(escaped(text), highlight=False, soft_wrap=True)
        if directory is not None:
            answer_console().print(place_text(directory), highlight=False, soft_wrap=True)
    end_by(status_of(found))


def status_of(found: Sequence[Row]) -> int:
    """Return the exit status: 1 if a test failed, else 3 if one was stopped before its end."""
    from netwarp.cli.checks import UNDECIDED
    from netwarp.selftests.outcomes import Verdict

    verdicts = {each.verdict for each in found}
    if Verdict.FAIL in verdicts:
        return 1
    return UNDECIDED if Verdict.STOPPED in verdicts else 0


def print_rows(found: Sequence[Row]) -> None:
    """Print a line for each test: its name, how it ended, how often it ran, its time, and the
    reason.
    """
    from netwarp.cli.terminal import answer_console, escaped
    from netwarp.selftests.outcomes import Verdict

    styles = {Verdict.PASS: "green", Verdict.FAIL: "bold red", Verdict.STOPPED: "yellow"}
    width = max(len(each.test.name) for each in found)
    for each in found:
        style = styles.get(each.verdict, "dim")
        took_s = [run.took_s for run in each.runs if run.took_s is not None]
        took = f"{max(took_s):8.1f} s" if took_s else " " * 10
        often = ""
        if each.planned > 1:
            counts = (f"{each.counts[of]} {of.value}" for of in Verdict if each.counts[of])
            often = f"  {', '.join(counts)} of {each.planned}{', FLIPS' if each.flips else ''}"
        answer_console().print(
            f"[{style}]{each.verdict.value:7}[/] {escaped(each.test.name):{width}} {took}{often}"
            f"  {escaped(each.why)}".rstrip(),
            soft_wrap=True,
            highlight=False,
        )


def print_list(tests: Sequence[SelfTest], *, as_json: bool) -> None:
    """Print the names of tests, and what they lack."""
    from netwarp.cli.terminal import answer_console, escaped, print_json

    if as_json:
        print_json({"tests": [{"test": each.name, "lacks": each.lacks} for each in tests]})
        return
    for each in tests:
        line = each.name if each.lacks is None else f"{each.name}: {each.lacks}"
        answer_console().print(escaped(line), soft_wrap=True, highlight=False)
    if not tests:
        raise click.exceptions.Exit(1)
