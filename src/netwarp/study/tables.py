"""The tables of a study as they were written: every value with the place where it stands.

What is derived from a value keeps its place: a factor's level in a cell's table, the content of a
file in place of its name, a duration made of `start` and `stop`. So an error that names a key of a
section is told at the key that the user wrote.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from netwarp.fields import KeyValueError

_NESTED = (Mapping, list, tuple)


@dataclass(frozen=True)
class Written:
    """A value of a study, and where it was written."""

    value: object
    """Text, number, list or `Table`; None where nothing is written."""
    place: str
    """Dotted key at which it stands in the study: `path.loss`, `factors."path.loss"`."""
    stands: object = None
    """What stands there, where the value was made from it: a file's name for its content."""

    def made(self, value: object) -> Written:
        """Locate a value that was made from this one."""
        stands = plain(self.value) if self.stands is None else self.stands
        return replace(_located(value, self.place), stands=stands)

    def inside(self, *parts: str) -> Written:
        """Find what is written at a key inside of the value: of a table, or the index in a list."""
        if not parts:
            return self
        first, *rest = parts
        if isinstance(self.value, Table):
            return self.value.find(*parts)
        if isinstance(self.value, list) and first.isdecimal() and int(first) < len(self.value):
            return Written(self.value[int(first)], f"{self.place}.{first}").inside(*rest)
        return Written(None, ".".join((self.place, *parts)))

    def holding(self, inner: Written, *parts: str) -> Written:
        """Set a value inside of it, in a copy.

        Raises:
            KeyValueError: it is neither a table nor a list with this index.
        """
        index, *rest = parts
        if not isinstance(self.value, list) or not index.isdecimal():
            table = Table({}, self.place) if self.value is None else Table.at(self)
            return Written(table.with_value(inner, *parts), self.place)
        held = self.inside(index).holding(inner, *rest) if rest else inner
        at = int(index)
        return Written([*self.value[:at], held.value, *self.value[at + 1 :]], self.place)


class Table(Mapping[str, Written]):
    """A table of a study: its values by key. It is never changed."""

    def __init__(self, entries: Mapping[str, Written], place: str = "") -> None:
        """Take the values, and the dotted key of the table; that of a whole study is empty."""
        self._entries = entries
        self.place = place

    @classmethod
    def of(cls, raw: Mapping[str, object], place: str = "") -> Table:
        """Locate the values of a table as `tomllib` reads it."""
        return cls({key: _located(value, joined(place, key)) for key, value in raw.items()}, place)

    @classmethod
    def at(cls, written: Written, remedy: str | None = None) -> Table:
        """Return the value as a table.

        Raises:
            KeyValueError: it is none.
        """
        if isinstance(written.value, Table):
            return written.value
        value, place = plain(written.value), written.place
        raise KeyValueError(place, value, "not a table", remedy or f"write [{place}]")

    def __getitem__(self, key: str) -> Written:
        """Return the value of a key."""
        return self._entries[key]

    def __iter__(self) -> Iterator[str]:
        """Yield the keys in the order in which they were written."""
        return iter(self._entries)

    def __len__(self) -> int:
        """Count the keys."""
        return len(self._entries)

    def table(self, key: str) -> Table:
        """Return the table at a key; an empty one where there is none.

        Raises:
            KeyValueError: something else stands there.
        """
        found = self.get(key)
        return Table({}, joined(self.place, key)) if found is None else Table.at(found)

    def has(self, *keys: str) -> bool:
        """Whether any of the keys is given."""
        return any(key in self for key in keys)

    def text(self, key: str) -> str | None:
        """Return the text at a key; None where there is none."""
        value = self[key].value if key in self else None
        return value if isinstance(value, str) else None

    def find(self, *parts: str) -> Written:
        """Find what is written at a dotted key, given in parts; its value is None if nothing is."""
        found = self.get(parts[0])
        if found is None:
            return Written(None, joined(self.place, *parts))
        return found.inside(*parts[1:])

    def replaced(self, entries: Mapping[str, Written]) -> Table:
        """Return the same table with other values."""
        return Table({**self, **entries}, self.place)

    def without(self, keys: Collection[str]) -> Table:
        """Return the same table without some keys."""
        return Table({key: each for key, each in self.items() if key not in keys}, self.place)

    def with_value(self, written: Written, *parts: str) -> Table:
        """Set the value at a dotted key, given in parts, in a copy.

        Raises:
            KeyValueError: something on the way to it is not a table.
        """
        first, *rest = parts
        held = self.find(first).holding(written, *rest) if rest else written
        return self.replaced({first: held})

    def changed(self, change: Callable[[Written], object], *parts: str) -> Table:
        """Replace a value by what a function makes of it; give the same table where it has none.

        Args:
            change: makes the new value of the old one.
            parts: the parts of the value's dotted key.
        """
        found = self.find(*parts)
        if found.value is None:
            return self
        made = change(found)
        return self if made is found.value else self.with_value(found.made(made), *parts)

    def plain(self) -> dict[str, Any]:
        """Return the table as Python's types, as `tomllib` does."""
        return {key: plain(each.value) for key, each in self.items()}

    def told(self, error: KeyValueError) -> KeyValueError:
        """Tell an error of a key of this table with the place of the value, and what stands there.

        An error of a key for both directions is told at the key of one of them where that is what
        was written.
        """
        *parents, last = (error.key or "").split(".")
        candidates = [self.find(*parents, f"{last}{each}") for each in ("", "_down", "_up")]
        found = next((each for each in candidates if each.value is not None), candidates[0])
        value = error.value if error.value is not None else plain(found.value)
        value = value if found.stands is None else found.stands
        return KeyValueError(found.place, value, error.reason, error.remedy)


def plain(value: object) -> Any:
    """Return a value as Python's types."""
    if isinstance(value, Table):
        return value.plain()
    if not isinstance(value, list):
        return value
    return [plain(each) if isinstance(each, Table | list) else each for each in value]


def joined(*parts: str) -> str:
    """Join the parts of a dotted key, of which the first may be empty."""
    return ".".join(part for part in parts if part)


def _located(value: object, place: str) -> Written:
    if isinstance(value, Mapping):
        return Written(Table.of(value, place), place)
    if isinstance(value, list | tuple):
        return Written(
            [
                _located(each, f"{place}.{index}").value if isinstance(each, _NESTED) else each
                for index, each in enumerate(value)
            ],
            place,
        )
    return Written(value, place)
