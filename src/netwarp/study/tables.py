"""The tables of a study as they were written: each value knows its place in the study, for error
messages.

Derived values keep the place of the original. These are: a factor's level in a cell's table, the
content of a file instead of its name, a duration computed from `start` and `stop`. So an error in a
section's key is reported at the key that the user wrote.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from netwarp.fields import KeyValueError

_NESTED = (Mapping, list, tuple)


@dataclass(frozen=True)
class Written:
    """A value that was read from a study, with the key at which the user wrote it."""

    value: object
    """Text, number, list or `Table`; None if nothing was written."""
    place: str
    """Dotted key of the value in the study: `path.loss`, `factors."path.loss"`."""
    stands: object = None
    """The value that the user wrote, if this one was derived from it; for example a file's name, if
    this one is the file's content."""

    def made(self, value: object) -> Written:
        """Return a value that is derived from this one and has the same place."""
        stands = plain(self.value) if self.stands is None else self.stands
        return replace(_located(value, self.place), stands=stands)

    def inside(self, *parts: str) -> Written:
        """Return the value at a key of this table, or at an index of this list."""
        if not parts:
            return self
        first, *rest = parts
        if isinstance(self.value, Table):
            return self.value.find(*parts)
        if isinstance(self.value, list) and first.isdecimal() and int(first) < len(self.value):
            return Written(self.value[int(first)], f"{self.place}.{first}").inside(*rest)
        return Written(None, ".".join((self.place, *parts)))

    def holding(self, inner: Written, *parts: str) -> Written:
        """Return a copy of this table or list in which the value at a key or an index is replaced.

        Raises:
            KeyValueError: this is neither a table nor a list with such an index.
        """
        index, *rest = parts
        if not isinstance(self.value, list) or not index.isdecimal():
            table = Table({}, self.place) if self.value is None else Table.at(self)
            return Written(table.with_value(inner, *parts), self.place)
        held = self.inside(index).holding(inner, *rest) if rest else inner
        at = int(index)
        return Written([*self.value[:at], held.value, *self.value[at + 1 :]], self.place)


class Table(Mapping[str, Written]):
    """A table of a study: its values by key. It is immutable."""

    def __init__(self, entries: Mapping[str, Written], place: str = "") -> None:
        """Make a table of values, with its dotted key, which is empty for a whole study."""
        self._entries = entries
        self.place = place

    @classmethod
    def of(cls, raw: Mapping[str, object], place: str = "") -> Table:
        """Return a table that `tomllib` has read, with the places of its values."""
        return cls({key: _located(value, joined(place, key)) for key, value in raw.items()}, place)

    @classmethod
    def at(cls, written: Written, remedy: str | None = None) -> Table:
        """Return a value as a table.

        Raises:
            KeyValueError: the value is not a table.
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
        """Return the number of keys."""
        return len(self._entries)

    def table(self, key: str) -> Table:
        """Return the table at a key; an empty one if the key is not there.

        Raises:
            KeyValueError: the value is not a table.
        """
        found = self.get(key)
        return Table({}, joined(self.place, key)) if found is None else Table.at(found)

    def has(self, *keys: str) -> bool:
        """Return whether any of the keys is set."""
        return any(key in self for key in keys)

    def text(self, key: str) -> str | None:
        """Return the text at a key; None if there is none."""
        value = self[key].value if key in self else None
        return value if isinstance(value, str) else None

    def find(self, *parts: str) -> Written:
        """Return the value at a dotted key, given as a list of parts. If nothing was written there,
        its value is None.
        """
        found = self.get(parts[0])
        if found is None:
            return Written(None, joined(self.place, *parts))
        return found.inside(*parts[1:])

    def replaced(self, entries: Mapping[str, Written]) -> Table:
        """Return a table at the same place in which these values are replaced or added."""
        return Table({**self, **entries}, self.place)

    def without(self, keys: Collection[str]) -> Table:
        """Return the table without these keys."""
        return Table({key: each for key, each in self.items() if key not in keys}, self.place)

    def with_value(self, written: Written, *parts: str) -> Table:
        """Return a copy in which the value at a dotted key, given as a list of parts, is set.

        Raises:
            KeyValueError: a part of the key names something that is not a table.
        """
        first, *rest = parts
        held = self.find(first).holding(written, *rest) if rest else written
        return self.replaced({first: held})

    def changed(self, change: Callable[[Written], object], *parts: str) -> Table:
        """Return a copy in which the value at a dotted key is replaced by what a function returns
        for it; the same table if it has no such value.

        Args:
            change: returns the new value for the old one.
            parts: the parts of the value's dotted key.
        """
        found = self.find(*parts)
        if found.value is None:
            return self
        made = change(found)
        return self if made is found.value else self.with_value(found.made(made), *parts)

    def plain(self) -> dict[str, Any]:
        """Return the table as Python's own types, in the form in which `tomllib` returns it."""
        return {key: plain(each.value) for key, each in self.items()}

    def located(self, error: KeyValueError) -> KeyValueError:
        """Return an error about a key of this table, completed with the place where the value was
        written, and with the value as it was written.

        An error in a key for both directions is reported at the key of one direction, if the user
        wrote that.
        """
        *parents, last = (error.key or "").split(".")
        candidates = [self.find(*parents, f"{last}{each}") for each in ("", "_down", "_up")]
        found = next((each for each in candidates if each.value is not None), candidates[0])
        value = error.value if error.value is not None else plain(found.value)
        value = value if found.stands is None else found.stands
        missing = error.missing and self.find(*error.missing.split(".")).place
        return KeyValueError(found.place, value, error.reason, error.remedy, missing)


def plain(value: object) -> Any:
    """Return a value as Python's own types."""
    if isinstance(value, Table):
        return value.plain()
    if not isinstance(value, list):
        return value
    return [plain(each) if isinstance(each, Table | list) else each for each in value]


def joined(*parts: str) -> str:
    """Return a dotted key made of its parts; the first may be empty."""
    return ".".join(part for part in parts if part)


def _located(value: object, place: str) -> Written:
    """Convert a value to tables and lists whose values know where they were written."""
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
