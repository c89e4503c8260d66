"""What goes to a terminal has no orders to it, whoever wrote the text."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest
from rich.progress import Progress
from rich.table import Table
from rich.text import Text

from netwarp.cli.commands import load_command
from netwarp.cli.printable import PrintableConsole
from support import write_run_directory

HOSTILE = "a\x1b]0;mine\x07\x9b31m\u202eb\x7f\x85"
SHOWN = r"a\x1b]0;mine\x07\x9b31m\u202eb\x7f\x85"


def printed(what: object, *, as_terminal: bool = False) -> str:
    out = io.StringIO()
    PrintableConsole(file=out, width=200, force_terminal=as_terminal).print(what, soft_wrap=True)
    return out.getvalue()


def test_control_characters_are_written_as_escapes_wherever_they_stand() -> None:
    table = Table("head")
    table.add_row(Text(HOSTILE))
    for what in (HOSTILE, Text(HOSTILE), table):
        text = printed(what)
        assert all(each == "\n" or each.isprintable() for each in text), text
        assert r"\x1b]0;mine" in text
    assert r"\x9b31m\u202eb\x7f\x85" in printed(Text(HOSTILE))


def test_colours_of_its_own_stay() -> None:
    assert printed(Text("red", style="red"), as_terminal=True) == "\x1b[31mred\x1b[0m\n"
    assert printed("±\u202f1\u00a0ms\nnext") == "±\u202f1\u00a0ms\nnext\n"


def test_a_bar_of_progress_has_them_as_escapes_too() -> None:
    out = io.StringIO()
    bar = Progress(console=PrintableConsole(file=out, width=200, force_terminal=True))
    with bar:
        bar.add_task("run\x1b]0;mine\x07", total=2)
    assert "\x1b]0;" not in out.getvalue()
    assert r"run\x1b]0;" in out.getvalue()


def test_an_export_has_levels_as_they_are_but_for_a_terminal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    directory = write_run_directory(tmp_path / "kept")
    plan = directory / "plan.jsonl"
    plan.write_text(plan.read_text().replace('"tcp"', json.dumps(HOSTILE)))

    def exported(*, to_terminal: bool) -> str:
        out = io.StringIO()
        monkeypatch.setattr(out, "isatty", lambda: to_terminal)
        monkeypatch.setattr("sys.stdout", out)
        load_command("export").main([str(directory)], standalone_mode=False)
        return out.getvalue()

    assert HOSTILE in exported(to_terminal=False)
    text = exported(to_terminal=True)
    assert all(each == "\n" or each.isprintable() for each in text)
    assert SHOWN in text
    assert text.count("\n") == exported(to_terminal=False).count("\n")
