"""The fields of a row of the table of options."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Any


class Takes(StrEnum):
    """The kind of values that an option takes."""

    LEVELS = "levels"
    """Levels of a factor: a list with commas in a shell, one level or a list in Python."""
    TEXT = "text"
    TEXTS = "texts"
    """Several texts: the option is repeated in a shell, and is a list in Python."""
    PATH = "path"
    WHOLE = "whole number"
    FLAG = "flag"


class Panel(StrEnum):
    """Titles of the groups in which help lists options."""

    OPTIONS = "Options"
    STUDY = "The study"
    PATH = "The path: every option takes a list, such as 0%,1%,5%; lists are factors"
    ONE_PATH = "The path: every option takes one value"
    RUNNING = "How to run"


@dataclass(frozen=True, kw_only=True)
class Option:
    """An option of a command, and of the library's call of the same name."""

    name: str
    """Name in Python; on the command line `loss_up` is `--loss-up`."""
    help: str
    metavar: str = ""
    """Placeholder for the value in help."""
    takes: Takes = Takes.TEXT
    panel: Panel = Panel.OPTIONS
    key: str = ""
    """Study key that the option sets; empty if it sets none."""
    type: str = ""
    """Name of the type of the option's levels in `netwarp.fields`, or `Whole` or `Ready`; empty if
    they are text.
    """
    workload: str = ""
    """Kind of the workload that the option implies; empty if it implies none."""
    is_common: bool = True
    """Whether `--help` lists the option; `--help-all` lists every option."""
    default: Any = None
    least: int | None = None
    """Smallest whole number that the option accepts."""
    most: int | None = None
    flags: tuple[str, ...] = ()
    """Spellings on the command line, if they do not follow from the name."""

    @property
    def defines_study(self) -> bool:
        """Whether the option changes what is run or evaluated, not only where or how."""
        return bool(self.key) or self.name in ("set", "quick")

    @property
    def on_command_line(self) -> tuple[str, ...]:
        """Spellings on the command line, such as `--loss-up`; a flag that is on by default also has
        its opposite.
        """
        if self.flags:
            return self.flags
        dashed = self.name.replace("_", "-")
        return (f"--{dashed}/--no-{dashed}",) if self.default is True else (f"--{dashed}",)


def levels_in(text: str) -> list[str]:
    """Return the items of a list with commas, such as `0%,1%`."""
    return [level.strip() for level in text.split(",")]
