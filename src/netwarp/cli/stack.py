"""The command about stacks: other people's implementations of a transport."""

from pathlib import Path

import click

from netwarp.cli.command import Argument, Group, command
from netwarp.errors import InputError
from netwarp.options.running import JSON

stack = Group(
    "stack",
    help="Third-party QUIC stacks: build, list, and check them against the role protocol.",
)
OWN = "netwarp"
"""The name by which options that take a stack refer to netwarp's own roles."""


@stack.add
@command(JSON, name="list")
def stack_list(as_json: bool = False) -> None:
    """List the stacks that netwarp ships and those that are built here."""
    from netwarp.cli.terminal import answer_console, console, escaped, print_json
    from netwarp.stacks import find_stack, installed, missing_program, shipped

    found = []
    for name in sorted({*shipped(), *installed()}):
        try:
            one = find_stack(name)
        except InputError as error:
            console().print(f"left out: {escaped(str(error))}", soft_wrap=True, highlight=False)
            continue
        missing = missing_program(name, one.program)
        found.append({**one.model_dump(mode="json"), "missing": missing})
    if as_json:
        print_json({"stacks": found})
        return
    for each in found:
        state = "built" if each["missing"] is None else f"netwarp stack build {each['name']}"
        can = ", ".join((*each["congestion"], *each["resume"], *each["workloads"]))
        line = f"{each['name']:10} {each['version']:8} {each['kind']:5} {can} ({state})"
        answer_console().print(escaped(line), soft_wrap=True, highlight=False)


@stack.add
@command(Argument("name", "NAME", "A stack that netwarp ships."), name="build")
def stack_build(name: str) -> None:
    """Build a stack that netwarp ships, in its pinned version."""
    from netwarp.backends.stack_building import build_stack
    from netwarp.cli.terminal import console

    place = build_stack(name)
    console().print(f"built {name} into {place}", highlight=False, soft_wrap=True)


@stack.add
@command(
    Argument(
        "program",
        "STACK|DIR",
        "A stack's name, the directory of its manifest, or netwarp for its own roles.",
    ),
    JSON,
    name="check",
)
def stack_check(program: str, as_json: bool = False) -> None:
    """Check a program against the role protocol (docs/role-protocol.md), in real runs."""
    from netwarp.backends.registry import open_backend
    from netwarp.backends.watch import Bounds
    from netwarp.cli.terminal import answer_console, escaped, print_json
    from netwarp.machine.conformance import STALL_CPU_S, check_stack, own_stack
    from netwarp.regular_files import is_folder
    from netwarp.stacks import find_stack, missing_program, stack_in

    if program == OWN:
        checked = own_stack()
    else:
        checked = stack_in(Path(program)) if is_folder(Path(program)) else find_stack(program)
    missing = missing_program(checked.name, checked.program)
    if missing is not None:
        raise InputError(missing)
    backend = open_backend("virtual", Bounds(stall_cpu_s=STALL_CPU_S))
    backend.check(1)
    found = []
    for check in check_stack(checked, backend):
        found.append(check)
        if not as_json:
            mark = "[green]ok[/]    " if check.failure is None else "[bold red]failed[/]"
            reason = f": {check.failure}" if check.failure else ""
            answer_console().print(f"{mark} {escaped(check.demand + reason)}", soft_wrap=True)
    if as_json:
        checks = [vars(check) for check in found]
        print_json({"stack": checked.name, "version": checked.version, "checks": checks})
    if any(check.failure is not None for check in found):
        raise click.exceptions.Exit(1)
