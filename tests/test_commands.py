"""The commands by name: `--help` lists what they are without importing them."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from netwarp.cli.commands import COMMANDS, load_command


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_is_listed_with_the_first_paragraph_of_its_help(name: str) -> None:
    command = load_command(name)
    assert (command.help or "").partition("\n\n")[0].replace("\n", " ") == COMMANDS[name][1]


def test_listing_the_commands_imports_none_of_them() -> None:
    program = (
        "import sys; sys.argv = ['netwarp', '--help']\n"
        "from netwarp.cli.program import app\n"
        "app(standalone_mode=False)\n"
        "print(*sys.modules, file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    for name in COMMANDS:
        assert name in done.stdout
    imported = set(done.stderr.split())
    assert not {f"netwarp.cli.{module}" for module, _ in COMMANDS.values()} & imported
    assert not {"pydantic", "numpy", "polars", "netwarp.study", "netwarp.wire"} & imported


def test_a_shell_is_told_what_can_be_typed() -> None:
    program = "import sys; sys.argv = ['netwarp']; from netwarp.cli.program import run_program; "
    done = subprocess.run(
        [sys.executable, "-c", program + "sys.exit(run_program())"],
        env={
            **os.environ, "_NETWARP_COMPLETE": "bash_complete",
            "COMP_WORDS": "netwarp comp", "COMP_CWORD": "1",
        },
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout == "plain,compare\n"
