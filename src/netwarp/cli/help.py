"""Formats help: usage, a description, and options in boxes as wide as the terminal."""

import inspect
import shutil
import sys
import textwrap
from collections.abc import Iterable, Iterator

import click

from netwarp.options import Option, Panel

Row = tuple[str, str, str]
"""The name of an option, the placeholder of its value, and its help."""
_WIDEST = 100
_MOST_FLAG_CHARACTERS = 34
_BOX, _PLAIN_BOX = "╭─╮│╰╯", "+-+|++"


def help_text(command: click.Command, ctx: click.Context, *, is_whole: bool) -> str:
    """Return the help of a command.

    Args:
        command: the command, whose `params` are the options.
        ctx: the context of the call.
        is_whole: whether rarely used options are listed too.
    """
    width = min(shutil.get_terminal_size().columns, _WIDEST)
    usage = " ".join((ctx.command_path, *command.collect_usage_pieces(ctx)))
    lines = ["", f" {click.style('Usage:', bold=True)} {usage}", ""]
    for paragraph in inspect.cleandoc(command.help or "").split("\n\n"):
        lines += [
            *textwrap.wrap(
                paragraph,
                width - 2,
                initial_indent=" ",
                subsequent_indent=" ",
                break_on_hyphens=False,
            ),
            "",
        ]
    left_out = 0
    panels: dict[str, list[Row]] = {}
    if isinstance(command, click.Group):
        panels["Commands"] = [
            (name, "", _in_one_line(command.commands[name].help)) for name in command.commands
        ]
    for parameter in command.get_params(ctx):
        row: Option | None = getattr(parameter, "row", None)
        if row is not None and not (is_whole or row.is_common):
            left_out += 1
            continue
        is_argument = isinstance(parameter, click.Argument)
        title = "Arguments" if is_argument else row.panel if row is not None else Panel.OPTIONS
        panels.setdefault(title, []).append(_row(parameter, ctx))
    for title in sorted(panels, key=_place):
        lines += _panel(title, panels[title], width)
    if left_out:
        lines.append(f" {left_out} options more: {ctx.command_path} --help-all")
    if command.epilog:
        lines += ["", f" {command.epilog}"]
    return "\n".join(lines) + "\n"


def _place(title: str) -> int:
    order = ["Commands", "Arguments", *(panel for panel in Panel if panel is not Panel.OPTIONS)]
    return order.index(title) if title in order else len(order)


def _row(parameter: click.Parameter, ctx: click.Context) -> Row:
    help_line = _in_one_line(getattr(parameter, "help", ""))
    if isinstance(parameter, click.Argument):
        return parameter.make_metavar(ctx), "", help_line
    flags = ", ".join((*parameter.opts, *parameter.secondary_opts))
    return flags, parameter.metavar or "", help_line


def _panel(title: str, rows: Iterable[Row], width: int) -> Iterator[str]:
    """Yield the lines of a box: names and placeholders of options on the left, their help on the
    right.
    """
    rows = list(rows)
    inner = width - 4
    heads = [f"{name} {value}".rstrip() for name, value, _ in rows]
    column = max((len(head) for head in heads if len(head) <= _MOST_FLAG_CHARACTERS), default=0) + 2
    box = _BOX if (sys.stdout.encoding or "").lower().startswith("utf") else _PLAIN_BOX
    top = f"{box[0]}{box[1]} {title} "
    yield _dim(f"{top}{box[1] * (width - len(top) - 1)}{box[2]}")
    for head, (name, value, meaning) in zip(heads, rows, strict=True):
        told = textwrap.wrap(meaning, inner - column, break_on_hyphens=False) or [""]
        if len(head) > column - 2:  # too long to fit beside its meaning
            told = ["", *told]
        for number, line in enumerate(told):
            left = head if number == 0 else ""
            space = " " * max(column - len(left), 0)
            rest = " " * max(inner - len(left) - len(space) - len(line), 0)
            styled = f"{_bold(name)} {_value(value)}".rstrip() if left else ""
            yield f"{_dim(box[3])} {styled}{space}{line}{rest} {_dim(box[3])}"
    yield _dim(f"{box[4]}{box[1] * (width - 2)}{box[5]}")


def _in_one_line(text: str | None) -> str:
    return " ".join((text or "").partition("\n\n")[0].split())


def _bold(text: str) -> str:
    return click.style(text, fg="cyan", bold=True)


def _value(text: str) -> str:
    return click.style(text, fg="yellow", bold=True) if text else ""


def _dim(text: str) -> str:
    return click.style(text, dim=True)
