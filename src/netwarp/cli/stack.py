"""The command about stacks: other people's implementations of a transport."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from netwarp.cli import options

stack_app = typer.Typer(
    help="Other people's QUIC: build a stack, list them, hold a program to the role protocol.",
    no_args_is_help=True,
    add_completion=False,
)
OWN = "netwarp"
"""Names netwarp's own roles, where a stack is asked for."""


@stack_app.command("list")
def stack_list(as_json: options.Json = False) -> None:
    """List the stacks that netwarp ships and those that are built here."""
    from netwarp.backends.stack_building import shipped
    from netwarp.cli.terminal import answer_console, console, escaped, print_json
    from netwarp.errors import InputError
    from netwarp.stacks import find_stack, installed, missing_program

    found = []
    for name in sorted({*shipped(), *installed()}):
        try:
            stack = find_stack(name)
        except InputError as error:
            console().print(f"left out: {escaped(str(error))}", soft_wrap=True, highlight=False)
            continue
        missing = missing_program(name, stack.program)
        found.append({**stack.model_dump(mode="json"), "missing": missing})
    if as_json:
        print_json({"stacks": found})
        return
    for each in found:
        state = "built" if each["missing"] is None else f"netwarp stack build {each['name']}"
        can = ", ".join((*each["congestion"], *each["resume"], *each["workloads"]))
        line = f"{each['name']:10} {each['version']:8} {each['kind']:5} {can} ({state})"
        answer_console().print(escaped(line), soft_wrap=True, highlight=False)


@stack_app.command("build")
def stack_build(
    name: Annotated[str, typer.Argument(help="A stack that netwarp ships.", metavar="NAME")],
) -> None:
    """Build a stack that netwarp ships, in its pinned version."""
    from netwarp.backends.stack_building import build_stack
    from netwarp.cli.terminal import console

    place = build_stack(name)
    console().print(f"built {name} into {place}", highlight=False, soft_wrap=True)


@stack_app.command("check")
def stack_check(
    program: Annotated[
        str,
        typer.Argument(
            help="A stack's name, the directory of its manifest, or netwarp for its own roles.",
            metavar="STACK|DIR",
        ),
    ],
    as_json: options.Json = False,
) -> None:
    """Hold a program to the role protocol (docs/role-protocol.md), in real runs."""
    from netwarp.backends.registry import open_backend
    from netwarp.backends.watch import Bounds
    from netwarp.cli.terminal import answer_console, escaped, print_json
    from netwarp.errors import InputError
    from netwarp.machine.conformance import STALL_CPU_S, check_stack, own_stack
    from netwarp.regular_files import is_folder
    from netwarp.stacks import find_stack, missing_program, stack_in

    if program == OWN:
        stack = own_stack()
    else:
        stack = stack_in(Path(program)) if is_folder(Path(program)) else find_stack(program)
    missing = missing_program(stack.name, stack.program)
    if missing is not None:
        raise InputError(missing)
    backend = open_backend("virtual", Bounds(stall_cpu_s=STALL_CPU_S))
    backend.check(1)
    found = []
    for check in check_stack(stack, backend):
        found.append(check)
        if not as_json:
            mark = "[green]ok[/]    " if check.failure is None else "[bold red]failed[/]"
            reason = f": {check.failure}" if check.failure else ""
            answer_console().print(f"{mark} {escaped(check.demand + reason)}", soft_wrap=True)
    if as_json:
        checks = [vars(check) for check in found]
        print_json({"stack": stack.name, "version": stack.version, "checks": checks})
    if any(check.failure is not None for check in found):
        raise typer.Exit(1)
