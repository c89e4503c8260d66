"""The commands by name, each with the module that is imported when it is called.

`netwarp --help` lists them without importing any of them.
"""

from functools import cached_property
from importlib import import_module
from typing import Any

import click

from netwarp.cli.command import Group

# Module and first paragraph of the help of each command: a test compares it with the command's own
# help.
COMMANDS = {
    "demo": (
        "running", "Send a real file over TCP, TLS, SCTP and QUIC; show table, chart and report.",
    ),
    "run": (
        "running", "Run a study: all its cells and replicates, then table, figures and report.",
    ),
    "studies": (
        "studies",
        "List the studies to start from, with their questions; `netwarp run NAME` runs one.",
    ),
    "compare": (
        "compare", "Compare transports over paths given as options; every list is a factor.",
    ),
    "ui": (
        "ui", "Turn knobs and see transfers, in the browser: pages on 127.0.0.1, until Ctrl-C.",
    ),
    "exec": (
        "exec",
        "Run a server and a client, any programs of this machine, over a path in virtual time.",
    ),
    "reproduce": (
        "running",
        "Repeat a source document's experiments, and report which conclusions hold.",
    ),
    "show": ("inspect", "Print the table of a run directory again, or by other metrics."),
    "report": (
        "inspect", "Write results, summary and report of a run directory again, finished or not.",
    ),
    "timeline": (
        "inspect", "Draw one run over time: delay, goodput, the player's actions.",
    ),
    "why": (
        "why",
        "Explain why a transfer takes as long as it does, by lifting its limits one at a time.",
    ),
    "figure": (
        "inspect", "Draw a figure of the report into a file, or list the figures.",
    ),
    "diff": (
        "inspect",
        "Compare two run directories: which cells changed significantly, and what else differs.",
    ),
    "baseline": (
        "baseline",
        "Save measured values in a small file, with which `run --baseline` compares.",
    ),
    "verify": (
        "verify",
        "Repeat a sample of a directory's runs, and compare the records byte for byte.",
    ),
    "export": ("inspect", "Write a run directory's results to standard output in another format."),
    "trace": (
        "trace", "Generate a trace of a link's rate, seeded, for `[path.trace]` of a study.",
    ),
    "serve": (
        "remote",
        "Serve another host's runs, started there with `netwarp run STUDY --backend remote`.",
    ),
    "pair": (
        "remote",
        "Pair this host with a server, using the token that `netwarp serve` printed.",
    ),
    "doctor": (
        "machine",
        "Report what this machine lacks for runs, and the exact command that installs it.",
    ),
    "stack": (
        "stack",
        "Third-party QUIC stacks: build, list, and check them against the role protocol.",
    ),
    "interop": (
        "interop", "Run the QUIC interop runner's test cases over all pairs of stacks.",
    ),
    "kernel": ("machine", "The guest kernels: build them by version, list them."),
    "bisect": ("bisect", "Find the commit of a kernel's repository that broke an expectation."),
    "selftest": ("selftest", "Run the kernel's own tests of the network in virtual time."),
    "ns3": ("machine", "Install the simulator ns-3, for studies that compare with it."),
}  # fmt: skip


class Commands(Group):
    """The group of all commands of the program `netwarp`, each imported when it is called."""

    def __init__(self, name: str, **settings: Any) -> None:
        listed = [Listed(each, help=help_line) for each, (_, help_line) in COMMANDS.items()]
        super().__init__(name, commands=listed, **settings)


class Listed(click.Command):
    """A command in the list of `--help`. The module that implements the command is imported only
    when the command is called.
    """

    @cached_property
    def loaded(self) -> click.Command:
        """The command itself, imported on first use."""
        return load_command(str(self.name))

    def make_context(
        self,
        info_name: str | None,
        args: list[str],
        parent: click.Context | None = None,
        **extra: Any,
    ) -> click.Context:
        """Parse the arguments with the command's own parser."""
        return self.loaded.make_context(info_name, args, parent=parent, **extra)


def load_command(name: str) -> click.Command:
    """Import and return a command, with all its options.

    Raises:
        KeyError: there is no such command.
    """
    module = import_module(f"netwarp.cli.{COMMANDS[name][0]}")
    found: click.Command = getattr(module, name)
    return found
