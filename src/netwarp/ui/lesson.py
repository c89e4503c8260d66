"""A lesson: options of `netwarp compare`, what to look at, and what to change next."""

from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import urlencode

from netwarp.ui.address import command_of, options_of


@dataclass(frozen=True, kw_only=True)
class Turn:
    """A step of a lesson: what to change next, and what is seen then."""

    text: str
    """What to change, and what happens then."""
    changes: Sequence[tuple[str, str]]
    """The options that change. Expectations are among them, because those of the lesson may not
    hold after the step. An empty value means that an option is not given."""


@dataclass(frozen=True, kw_only=True)
class Lesson:
    """A lesson of the local pages: the options that it begins with, and what a user sees."""

    name: str
    title: str
    sentence: str
    """What the lesson is about."""
    look_for: str
    """What the user should look at on the page."""
    turns: Sequence[str]
    """The steps, each with the options that it changes."""
    next_turns: Sequence[Turn]
    given: Sequence[tuple[str, str]]
    """The options with which the lesson begins, including expectations."""

    @property
    def address(self) -> str:
        """The address of the page that shows the lesson, relative to the other pages."""
        return self._address_of(self.given)

    def given_after(self, turn: Turn) -> list[tuple[str, str]]:
        """Return the options after a step."""
        turned = {name for name, _ in turn.changes}
        kept = [(name, value) for name, value in self.given if name not in turned]
        return [*kept, *((name, value) for name, value in turn.changes if value)]

    def address_after(self, turn: Turn) -> str:
        """Return the address of the page after a step."""
        return self._address_of(self.given_after(turn))

    @property
    def stated(self) -> list[list[tuple[str, str]]]:
        """Return the sets of options for which the lesson has expectations: those at the beginning,
        and those after each of its steps.
        """
        return [list(self.given), *map(self.given_after, self.next_turns)]

    def _address_of(self, given: Sequence[tuple[str, str]]) -> str:
        return "./?" + urlencode([("lesson", self.name), *given])

    @property
    def command(self) -> str:
        """The command that does the same as the lesson in a shell."""
        return command_of(options_of(self.given))


def pairs(text: str, *sets: str, expect: Sequence[str]) -> list[tuple[str, str]]:
    """Return a text such as `rtt=50ms rate=20mbit`, and settings of further keys, as the pairs of
    an address.
    """
    return [
        *((name, value) for name, _, value in (each.partition("=") for each in text.split())),
        *(("set", each) for each in sets),
        *(("expect", each) for each in expect),
    ]


def turn(text: str, changes: str, *sets: str, expect: Sequence[str]) -> Turn:
    """Return a step of a lesson; for the arguments see `pairs`."""
    return Turn(text=text, changes=pairs(changes, *sets, expect=expect))
