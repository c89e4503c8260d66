"""Values that many cells have in common, made once: by the object they belong to, and a key."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

Owner = TypeVar("Owner")
Value = TypeVar("Value")


class Once(Generic[Value]):
    """Values by their owner, which is told by identity, and a key.

    Sections and parts of jobs are frozen: what was made of one holds as long as it lives. To hash
    or compare them would cost more than to make most values anew.
    """

    def __init__(self) -> None:
        self._made: dict[tuple[int, Hashable], tuple[object, Value]] = {}
        """Each with its owner: while it is kept here, no other object gets its identity."""

    def get(self, owner: Owner, key: Hashable, make: Callable[[Owner], Value]) -> Value:
        """Give the value of an owner and a key, which is made where there is none yet."""
        found = self._made.get((id(owner), key))
        if found is None:
            found = self._made[id(owner), key] = owner, make(owner)
        return found[1]
