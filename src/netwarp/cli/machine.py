"""Commands about this machine: doctor, kernel, ns3."""

from dataclasses import asdict
from typing import Any

import click

from netwarp.cli.command import Argument, Group, command
from netwarp.cli.interruption import interruption
from netwarp.errors import BackendError, InputError
from netwarp.options import Option, Takes
from netwarp.options.kernel_source import CONFIG, GIT, PATCH, REF, SOURCE, TREE
from netwarp.options.running import JSON

kernel = Group("kernel", help="The guest kernels: build them by version, list them.")
ns3 = Group("ns3", help="Install the simulator ns-3, for studies that compare with it.")


@command(
    Option(
        name="speed", takes=Takes.FLAG,
        help="Instead, measure the goodput of each transport that this machine's CPU can carry,"
        " by native transfers of some seconds. Reports of later runs quote it.",
    ),
    JSON,
)  # fmt: skip
def doctor(speed: bool = False, as_json: bool = False) -> None:
    """Report what this machine lacks for runs, and the exact command that installs it."""
    from netwarp.cli.terminal import answer_console, escaped, print_json
    from netwarp.machine.doctor import examine

    if speed:
        show_speed(as_json)
        return
    findings = examine()
    if as_json:
        print_json({"findings": [asdict(finding) for finding in findings]})
    else:
        console = answer_console()
        for finding in findings:
            missing = "[yellow]without[/]" if finding.optional else "[bold red]missing[/]"
            mark = "[green]ok[/]     " if finding.ok else missing
            console.print(f"{mark} {finding.name:13} {escaped(finding.detail)}", soft_wrap=True)
    if not all(finding.ok or finding.optional for finding in findings):
        raise click.exceptions.Exit(1)


NAME = Argument("name", "NAME", "A version, such as 6.12, or a name of `netwarp kernel list`.")


@kernel.add
@command(JSON, name="list")
def kernel_list(as_json: bool = False) -> None:
    """List the kernels that are built; the default is marked."""
    from netwarp.backends.kernels import built_kernels, described, is_default, lacks_in_words
    from netwarp.cli.terminal import answer_console, escaped, print_json

    kernels = built_kernels()
    if as_json:
        print_json({"kernels": [described(each) for each in kernels]})
        return
    for each in kernels:
        mark = "*" if is_default(each) else " "
        said = [str(each.info["source_package"])]
        said += [words for words in each.own if words not in said]
        lacking = lacks_in_words(each)
        said += [f"without {', '.join(lacking)}"] if lacking else []
        answer_console().print(
            f"{mark} {each.version:10} {each.name:28} {escaped('; '.join(said))}",
            soft_wrap=True,
            highlight=False,
        )
    if not kernels:
        raise BackendError("no guest kernel is built: run `netwarp kernel build`")


@kernel.add
@command(
    Argument("name", "NAME", "A version or name. Default: the default kernel.", required=False),
    JSON,
    name="info",
)
def kernel_info(name: str | None = None, as_json: bool = False) -> None:
    """Print a guest kernel's source, configuration and patches, and where it is."""
    from netwarp.backends.guest_files import find_kernel
    from netwarp.backends.kernels import described, kernel_named
    from netwarp.cli.terminal import answer_console, escaped, print_json

    description = described(find_kernel() if name is None else kernel_named(name))
    if as_json:
        print_json(description)
        return
    for key, value in description.items():
        text = ", ".join(map(str, value)) if isinstance(value, list) else str(value)
        answer_console().print(f"{key:20} {escaped(text)}", soft_wrap=True, highlight=False)


@kernel.add
@command(
    Argument(
        "version", "VERSION",
        "Debian's kernel of this version, such as 6.12. Default: the one that netwarp is released"
        " with.",
        required=False,
    ),
    SOURCE, GIT, REF, TREE, CONFIG, PATCH,
    Option(
        name="module", metavar="DIR", takes=Takes.TEXTS,
        help="TCP congestion controls of your own, in C, that are built in: a file tcp_NAME.c for"
        " each, with headers. Studies have them as own:NAME. Repeatable.",
    ),
    Option(
        name="jobs", metavar="N", takes=Takes.WHOLE, least=1,
        help="Files that are compiled at a time. Default: one per CPU.",
    ),
    Option(
        name="cache", metavar="DIR", takes=Takes.PATH,
        help="Where kernels are kept instead of netwarp's cache (NETWARP_KERNEL names one there).",
    ),
    Option(
        name="pinned", takes=Takes.FLAG,
        help="Build only from a source whose SHA-256 netwarp knows (guest/sources.sha256).",
    ),
    Option(
        name="refresh", takes=Takes.FLAG,
        help="Look for a newer source, even if a kernel is built; where that is not of the pinned"
        " source, for the pinned one first.",
    ),
    name="build",
)  # fmt: skip
def kernel_build(version: str | None = None, **given: Any) -> None:
    """Build a guest kernel from Debian's source, or from another; nothing to do when it is built.

    Several kernels can be built, each with a name made of its version and a hash of all that
    determines it: source, configuration, patches. Without a version it builds the default kernel.
    """
    from netwarp.backends.building import run_builder
    from netwarp.backends.guest_files import build_script

    interruption.kept_text = lambda: "nothing of this build is kept; the next one starts anew"
    arguments = [] if version is None else [version]
    for name, value in given.items():
        for each in value if isinstance(value, tuple) else (value,):
            arguments += [f"--{name}"] if each is True else [f"--{name}", str(each)]
    raise click.exceptions.Exit(run_builder([build_script(), *arguments]))


@kernel.add
@command(NAME, name="remove")
def kernel_remove(name: str) -> None:
    """Remove a kernel that is built."""
    from netwarp.backends.kernels import remove_kernel
    from netwarp.cli.terminal import console

    console().print(f"removed {remove_kernel(name).name}", highlight=False, soft_wrap=True)


@kernel.add
@command(
    Argument("name", "NAME", "A version or name. Default: print which one it is.", required=False),
    Option(
        name="reset", takes=Takes.FLAG, help="Return to the kernel that netwarp is released with.",
    ),
    name="default",
)  # fmt: skip
def kernel_default(name: str | None = None, reset: bool = False) -> None:
    """Choose the kernel for studies that name none, or print which one it is."""
    from netwarp.backends.guest_files import find_kernel
    from netwarp.backends.kernels import choose_default
    from netwarp.cli.terminal import answer_console

    if name is not None and reset:
        raise InputError(f"kernel default {name} beside --reset: give one of them")
    kernel = choose_default(name) if name is not None or reset else find_kernel()
    answer_console().print(kernel.name, highlight=False, soft_wrap=True)


@ns3.add
@command(name="install")
def ns3_install() -> None:
    """Install ns-3's Python package into netwarp's cache; nothing to do when it is there."""
    from netwarp.cli.terminal import console

    console().print(f"ns-3: {install_ns3()}", highlight=False, soft_wrap=True)


def install_ns3() -> str:
    """Install ns-3 if it is missing, and print messages about the progress.

    Returns:
        The path of the Python that has ns-3.

    Raises:
        BackendError: it cannot be installed.
    """
    from netwarp.backends.needs import Machine
    from netwarp.backends.ns3 import installation
    from netwarp.cli.terminal import console

    machine = Machine()
    if installation.is_missing(machine):
        what = f"installing {installation.PACKAGE} ({installation.COST_TEXT})"
        console().print(what, highlight=False)
        with console().status(what):
            installation.install(machine.environ)
    return installation.find_python(machine)


def show_speed(as_json: bool) -> None:
    """Measure the native speed of every transport and print it."""
    from netwarp.backends.native import NativeBackend
    from netwarp.cli.terminal import answer_console, console, escaped, print_json
    from netwarp.machine.speed import measure_speed

    with console().status("measuring") as status:
        speed = measure_speed(
            NativeBackend(), on_transport=lambda name: status.update(f"measuring {name}")
        )
    if as_json:
        print_json(speed)
        return
    for name, goodput_bit_s in speed["goodput_bit_s"].items():
        answer_console().print(f"{name:5} {goodput_bit_s / 1e6:,.0f} Mbit/s", highlight=False)
    for name, reason in speed["not_measured"].items():
        answer_console().print(f"{name:5} not measured: {escaped(reason)}", soft_wrap=True)
