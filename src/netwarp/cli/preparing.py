"""Installs what `netwarp reproduce` needs besides netwarp, before anything runs, and reports what
cannot be installed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from netwarp.errors import BackendError

if TYPE_CHECKING:
    from netwarp.sources.preparation import Prepared
    from netwarp.study import Study
    from netwarp.workloads.base import Program


def preparations(prepared: Sequence[Prepared]) -> list[str]:
    """Return sentences on what will be built and installed before anything runs, and what cannot
    be.
    """
    from netwarp.backends.needs import Machine, missing_programs
    from netwarp.backends.ns3 import installation
    from netwarp.backends.stack_building import missing_builders

    lines = []
    if _needs_ns3(prepared) and installation.is_missing(Machine()):
        lines.append(f"installs {installation.PACKAGE} before ({installation.COST_TEXT})")
    for name in missing_stacks(prepared):
        lacking = missing_builders(name)
        lines.append(f"cannot run what needs the stack {name}: {'; '.join(lacking)}" if lacking
                     else f"builds the stack {name} before")  # fmt: skip
    programs = {each.name: missing_programs([each]) for each in _needed_programs(prepared)}
    return lines + [
        f"cannot run what needs the program {name}: {lacking}"
        for name, lacking in programs.items()
        if lacking is not None
    ]


def install(prepared: Sequence[Prepared]) -> tuple[BackendError | None, list[str]]:
    """Install ns-3 and build stacks that studies need.

    Returns:
        The error if ns-3 is needed and cannot be installed, and texts about everything that is
            missing.
    """
    ns3_missing = why_ns3_is_missing(prepared)
    lacking = [] if ns3_missing is None else [_not_run("ns-3", ns3_missing)]
    return ns3_missing, [*lacking, *build_stacks(missing_stacks(prepared))]


def _not_run(what: str, why: BackendError) -> str:
    """Return a sentence on why the runs that need a missing program are not carried out."""
    from netwarp.cli.terminal import escaped

    return f"[red]not run:[/] what needs {what}. {escaped(str(why))}"


def warn_of_too_few_replicates(prepared: Sequence[Prepared]) -> None:
    """Print a warning about the sources' studies that cannot judge all of their claims."""
    from netwarp.claims.too_few import too_few_as_planned
    from netwarp.cli.terminal import console, escaped
    from netwarp.estimate.staging import Staging

    for of in prepared:
        for each in of.studies:
            for found in too_few_as_planned(each.study, None if of.quick else Staging()):
                said = found.sentence("without --quick")
                text = escaped(f"{of.source.name}/{each.name}: {said}")
                console().print(f"[yellow]warning:[/] {text}", highlight=False)


def missing_stacks(prepared: Sequence[Prepared]) -> list[str]:
    """Return the names of the stacks that studies need and that netwarp can build, but that are not
    built here.
    """
    from netwarp.stacks import missing_program, shipped

    needed = {
        stack.name: stack.program
        for study in _studies(prepared)
        for cell in study.cells
        if (stack := cell.sections.transport.stack) is not None
    }
    missing = {name for name, program in needed.items() if missing_program(name, program)}
    return sorted(missing & set(shipped()))


def _needed_programs(prepared: Sequence[Prepared]) -> list[Program]:
    """Return the programs of the machine that studies need, each once."""
    from netwarp.workloads import needed_programs

    programs = {
        program.name: program
        for study in _studies(prepared)
        for cell in study.cells
        for program in needed_programs(cell.template)
    }
    return [programs[name] for name in sorted(programs)]


def build_stacks(names: Sequence[str]) -> list[str]:
    """Build stacks, and return texts about those that cannot be built; the other studies can
    run.
    """
    from netwarp.backends.stack_building import build_stack
    from netwarp.cli.terminal import console

    lacking = []
    for name in names:
        console().print(f"building the stack {name}", highlight=False)
        try:
            build_stack(name)
        except BackendError as error:
            lacking.append(_not_run(f"the stack {name}", error))
            console().print(lacking[-1], soft_wrap=True)
    return lacking


def why_ns3_is_missing(prepared: Sequence[Prepared]) -> BackendError | None:
    """Install ns-3 if studies need it; return the error if that fails, else None. The other studies
    can run.
    """
    from netwarp.cli.machine import install_ns3
    from netwarp.cli.terminal import console

    if not _needs_ns3(prepared):
        return None
    try:
        install_ns3()
    except BackendError as error:
        console().print(_not_run("ns-3", error), soft_wrap=True)
        return error
    return None


def _needs_ns3(prepared: Sequence[Prepared]) -> bool:
    from netwarp.plan.without import needs_ns3

    return any(needs_ns3(study) for study in _studies(prepared))


def _studies(prepared: Sequence[Prepared]) -> Iterator[Study]:
    """Yield all studies that are run, controls and sensitivities included."""
    for of in prepared:
        for each in of.studies:
            yield from (study for study, _ in each.executions())
