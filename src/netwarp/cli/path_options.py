"""The options that describe a path, one for each key of `[path]`, for commands that have one."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Annotated, Any, Optional

import typer

from netwarp.cli.options import ONE_PATH, PATH, levels
from netwarp.path_properties import options

PathLevels = dict[str, list[str]]
"""Levels by key of `[path]`; a key that was not given is missing."""


def with_path_options(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command an option for each property of a path, in the place of its argument `path`.

    Each takes levels.
    """
    return _with_options(command, "LIST", PATH)


def with_one_path(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the same options, each of which takes one value."""
    return _with_options(command, "VALUE", ONE_PATH)


def _with_options(command: Callable[..., None], metavar: str, panel: str) -> Callable[..., None]:
    keys = [key for key, _ in options()]

    @functools.wraps(command)
    def called(**arguments: Any) -> None:
        given = {key: levels(arguments.pop(key)) for key in keys}
        command(path={key: of_one for key, of_one in given.items() if of_one}, **arguments)

    parameters: list[inspect.Parameter] = []
    for parameter in inspect.signature(command, eval_str=True).parameters.values():
        parameters += _parameters(metavar, panel) if parameter.name == "path" else [parameter]
    called.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    called.__annotations__ = {each.name: each.annotation for each in parameters}
    return called


def _parameters(metavar: str, panel: str) -> list[inspect.Parameter]:
    return [
        inspect.Parameter(
            key,
            inspect.Parameter.KEYWORD_ONLY,
            default=None,
            annotation=Annotated[
                Optional[str],  # noqa: UP045 - as the other options
                typer.Option(help=help_text, metavar=metavar, rich_help_panel=panel),
            ],
        )
        for key, help_text in options()
    ]
