"""Makes click commands from rows of the table of options.

A command's function is called only with the options that were given; the others have the defaults
of their arguments. An option's text is checked before the models of a study are imported.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from netwarp.cli.help import help_text
from netwarp.options import Option, Takes
from netwarp.options.typed import checked_levels, checked_text, whole_number

HELP = {"help_option_names": ["-h", "--help"]}


class _Levels(click.ParamType[list[str]]):
    """The type of an option whose value is a list of levels, separated by commas."""

    name = "list"

    def __init__(self, row: Option) -> None:
        self.row = row

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> list[str]:
        """Return the levels in a list with commas. Each is checked here if that is possible without
        the models of a study.
        """
        command = str(ctx.info_name if ctx else None)
        return checked_levels(self.row, value, command, param.opts[0] if param else None)


class _Text(click.ParamType[str]):
    """The type of an option whose value is one text, which is checked like a level."""

    name = "text"

    def __init__(self, row: Option) -> None:
        self.row = row

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the text, checked if that is possible without the models of a study."""
        command = str(ctx.info_name if ctx else None)
        return checked_text(self.row, value, command, param.opts[0] if param else None)


class Whole(click.ParamType[int]):
    """The type of an option that takes a whole number within bounds, in ASCII digits."""

    name = "whole number"

    def __init__(self, least: int | None = None, most: int | None = None) -> None:
        self.least, self.most = least, most

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Return the number in a text, or fail with a description of valid ones."""
        try:
            return whole_number(str(value), self.least, self.most)
        except ValueError as error:
            self.fail(str(error), param, ctx)


class FilePath(click.ParamType[Path]):
    """The type of an option that takes a path. An empty text, as of a variable without a value, is
    refused, because it would mean the working directory.
    """

    name = "path"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Path:
        """Return the path in a text."""
        if not str(value):
            self.fail('"" is no path', param, ctx)
        return Path(value)


class Argument(click.Argument):
    """A positional argument with help; its name is the parameter of the command's function."""

    def __init__(self, name: str, metavar: str, help_text: str = "", **settings: Any) -> None:
        super().__init__([name], metavar=metavar, **settings)
        self.help = help_text


class RowOption(click.Option):
    """An option of a command, from a row of the table of options."""

    def __init__(self, row: Option) -> None:
        self.row = row
        is_flag = row.takes is Takes.FLAG
        types: dict[Takes, Any] = {
            Takes.LEVELS: _Levels(row),
            Takes.TEXT: _Text(row),
            Takes.WHOLE: Whole(row.least, row.most),
            Takes.PATH: FilePath(),
        }
        super().__init__(
            [*row.on_command_line, row.name],
            help=row.help,
            metavar=row.metavar or None,
            is_flag=is_flag,
            type=None if is_flag else types.get(row.takes, str),
            multiple=row.takes is Takes.TEXTS,
            default=row.default,
        )


class Command(click.Command):
    """A command with its own layout of help, in a short and a long form if there are many
    options.
    """

    def __init__(self, name: str | None, **settings: Any) -> None:
        super().__init__(
            name, context_settings=HELP | settings.pop("context_settings", {}), **settings
        )
        if not all(each.row.is_common for each in self.params if isinstance(each, RowOption)):
            self.params.append(
                click.Option(
                    ["--help-all"], is_flag=True, is_eager=True, expose_value=False,
                    callback=_show_all, help="Show all options, and exit.",
                )
            )  # fmt: skip

    def get_help(self, ctx: click.Context) -> str:
        """Return the help with the common options."""
        return help_text(self, ctx, is_whole=False)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the command line of this command; errors name the command."""
        try:
            return super().parse_args(ctx, args)
        except click.UsageError as error:
            error.ctx = error.ctx or ctx
            raise

    def invoke(self, ctx: click.Context) -> Any:
        """Call the command's function with the options that were given."""
        ctx.params = {
            name: value
            for name, value in ctx.params.items()
            if ctx.get_parameter_source(name) is not ParameterSource.DEFAULT
        }
        return super().invoke(ctx)


def _show_all(ctx: click.Context, parameter: click.Parameter, asked: bool) -> None:
    del parameter
    if asked and not ctx.resilient_parsing:
        click.echo(help_text(ctx.command, ctx, is_whole=True), color=ctx.color)
        ctx.exit()


class Group(click.Group):
    """Commands under one name, such as `netwarp kernel`; without a command it prints its help."""

    def __init__(self, name: str, **settings: Any) -> None:
        settings = {"callback": _show_help, "context_settings": HELP, **settings}
        super().__init__(name, invoke_without_command=True, no_args_is_help=False, **settings)

    def add(self, added: Command) -> Command:
        """Return a decorator that adds a command to the group."""
        self.add_command(added)
        return added

    def get_help(self, ctx: click.Context) -> str:
        """Return the help with the list of commands."""
        return help_text(self, ctx, is_whole=True)


def _show_help() -> None:
    ctx = click.get_current_context()
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help(), color=ctx.color)
        ctx.exit(2)


def command(
    *parameters: Option | Argument, name: str | None = None, **settings: Any
) -> Callable[[Callable[..., None]], Command]:
    """Return a decorator that makes a command of a function, with arguments and options in the
    order of its help.

    Args:
        parameters: positional arguments, and rows of the table of options.
        name: the name of the command; None for the function's name.
        settings: further settings of click.
    """

    def made(function: Callable[..., None]) -> Command:
        own = [RowOption(each) if isinstance(each, Option) else each for each in parameters]
        called = name or function.__name__
        return Command(called, callback=function, params=own, help=function.__doc__, **settings)

    return made
