"""Commands about this machine: doctor, kernel, ns3."""

from dataclasses import asdict
from pathlib import Path

import click

from netwarp.cli.command import Group, command
from netwarp.cli.interruption import interruption
from netwarp.options import Option, Takes
from netwarp.options.running import JSON

kernel = Group("kernel", help="The guest kernel: build it, or say what is built.")
ns3 = Group("ns3", help="The simulator ns-3, for studies that compare with it: install it.")


@command(
    Option(
        name="speed", takes=Takes.FLAG,
        help="Measure instead what this machine's CPU carries of each transport: native transfers,"
        " some seconds. Reports of later runs quote it.",
    ),
    JSON,
)  # fmt: skip
def doctor(speed: bool = False, as_json: bool = False) -> None:
    """Say what is missing to run here, and the exact command that mends it."""
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


@kernel.add
@command(JSON, name="info")
def kernel_info(as_json: bool = False) -> None:
    """Say which guest kernel is built, from what, and where it is."""
    from netwarp.backends.guest_files import find_kernel
    from netwarp.cli.terminal import answer_console, escaped, print_json

    kernel = find_kernel()
    description = {"directory": str(kernel.directory), **kernel.info}
    if as_json:
        print_json(description)
    else:
        for key, value in description.items():
            answer_console().print(
                f"{key:20} {escaped(str(value))}", soft_wrap=True, highlight=False
            )


@kernel.add
@command(
    Option(
        name="source", metavar="PATH", takes=Takes.PATH,
        help="A kernel source tarball instead of the distribution's.",
    ),
    name="build",
    context_settings={"allow_extra_args": True, "ignore_unknown_options": True},
)  # fmt: skip
def kernel_build(source: Path | None = None) -> None:
    """Build the guest kernel from the distribution's source; nothing to do when it is built."""
    from netwarp.backends.building import run_builder
    from netwarp.backends.guest_files import build_script

    interruption.kept_text = lambda: "nothing of this build is kept; the next one starts anew"
    script = build_script()
    arguments = ["--source", str(source)] if source else []
    raise click.exceptions.Exit(
        run_builder([script, *arguments, *click.get_current_context().args])
    )


@ns3.add
@command(name="install")
def ns3_install() -> None:
    """Install ns-3's Python package into netwarp's cache; nothing to do when it is there."""
    from netwarp.cli.terminal import console

    console().print(f"ns-3: {install_ns3()}", highlight=False, soft_wrap=True)


def install_ns3() -> str:
    """Install ns-3 if it is missing, and print messages meanwhile.

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
