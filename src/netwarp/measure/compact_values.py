"""Compact storage of a run's metrics: a study may have a hundred thousand runs in memory."""

from array import array
from collections.abc import Iterator, Mapping
from functools import lru_cache


class CompactValues(Mapping[str, float]):
    """Numbers by name, stored in eight bytes each. The names are stored once for all runs that have
    the same ones.
    """

    __slots__ = ("_numbers", "_places")

    def __init__(self, values: Mapping[str, float]) -> None:
        self._places = _places(tuple(values))
        self._numbers = array("d", values.values())

    def __getitem__(self, name: str) -> float:
        return self._numbers[self._places[name]]

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._numbers)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({dict(self)!r})"


@lru_cache(maxsize=256)
def _places(names: tuple[str, ...]) -> Mapping[str, int]:
    """Return the index of each name; there is one mapping for all runs with the same names."""
    return {name: place for place, name in enumerate(names)}
