"""A cache of values that many cells share. Its keys have two parts: the object from which the value
is made, and a further key.
"""

from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

Owner = TypeVar("Owner")
Value = TypeVar("Value")


class SharedValues(Generic[Value]):
    """A cache of values by owner and key. Owners are compared by identity.

    Sections and parts of jobs are frozen, so a value made from one stays valid. Hashing or
    comparing them would cost more than making most values again.
    """

    def __init__(self) -> None:
        self._made: dict[tuple[int, Hashable], tuple[object, Value]] = {}
        """Values with their owners, which are kept so that no other object can get their
        identity.
        """

    def get(self, owner: Owner, key: Hashable, make: Callable[[Owner], Value]) -> Value:
        """Return the cached value for an owner and a key, which `make` creates if there is none
        yet.
        """
        found = self._made.get((id(owner), key))
        if found is None:
            found = self._made[id(owner), key] = owner, make(owner)
        return found[1]
