"""Extensions by other packages, found by entry points: backends, workloads, metrics and others.

A package declares its extensions in its `pyproject.toml`, in a group of `GROUPS`. The groups are
read only for a name that netwarp does not have itself, or to list all names; an extension is
imported when it is used. `docs/extending.md` has an example of each kind.
"""

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from types import ModuleType
from typing import Any, Generic, TypeVar

from netwarp.errors import InputError, one_line

T = TypeVar("T")
GROUPS = ("backends", "workloads", "metrics", "figures", "sources", "stacks")
"""The kinds of extensions. A package declares those of the first kind in the group
`netwarp.backends`, and so on.
"""


@cache
def added(kind: str) -> Mapping[str, EntryPoint]:
    """Return the extensions of a kind by name, without importing them."""
    return {entry.name: entry for entry in entry_points(group=f"netwarp.{kind}")}


def load(kind: str, name: str, accepts: Callable[[Any], bool] = lambda _: True) -> Any:
    """Import and return an extension.

    Args:
        kind: one of `GROUPS`.
        name: the name of the extension.
        accepts: returns whether an object is a valid extension of this kind.

    Raises:
        KeyError: no package adds an extension of this name.
        InputError: it cannot be imported, or is not valid.
    """
    entry = added(kind)[name]
    package = _package(entry)
    where = f"{kind.removesuffix('s')} {name}, which the package {package} adds"
    try:
        found = entry.load()
    except Exception as error:
        reason = one_line(f"{type(error).__name__}: {error}", 300)
        raise InputError(
            f"the {where}, cannot be imported ({reason}): mend or uninstall {package}"
        ) from error
    if not accepts(found):
        raise InputError(
            f"the {where}, is none: see docs/extending.md for what {package} is to add"
        )
    return found


def package_of(kind: str, name: str) -> str:
    """Return the name of the package that adds an extension.

    Raises:
        KeyError: no package adds an extension of this name.
    """
    return _package(added(kind)[name])


@dataclass(frozen=True)
class Added:
    """An extension that a package adds."""

    kind: str
    name: str
    package: str

    def __str__(self) -> str:
        return f"{self.kind.removesuffix('s')} {self.name}"


def added_by(modules: Sequence[str]) -> Added | None:
    """Return the extension to which one of these modules belongs; None if all of them are netwarp's
    own.

    Args:
        modules: full names of modules. The first module of a package determines the package; if the
            package adds several extensions, the one in this very module is returned.
    """
    entries = [(kind, entry) for kind in GROUPS for entry in added(kind).values()]
    for module in modules:
        of_package = [each for each in entries if _root(each[1].module) == _root(module)]
        of_module = [each for each in of_package if each[1].module == module]
        for kind, entry in of_module or of_package:
            return Added(kind, entry.name, _package(entry))
    return None


def _root(module: str) -> str:
    return module.partition(".")[0]


def _package(entry: EntryPoint) -> str:
    """Return the name of the package to which an entry point belongs."""
    return entry.dist.name if entry.dist else entry.module


def folder(kind: str, name: str) -> Path:
    """Return the folder of an extension that consists of files, which is the folder of the package
    that its entry point names.

    Raises:
        KeyError: no package adds an extension of this name.
        InputError: the package cannot be imported, or is a module without a folder.
    """
    module: ModuleType = load(kind, name, lambda found: hasattr(found, "__path__"))
    return Path(next(iter(module.__path__)))


class Registry(Mapping[str, T], Generic[T]):
    """A registry of extensions of one kind, such as backends, workloads or metrics, by name:
    netwarp's own entries, then those that packages add.

    netwarp's own entries have precedence over others of the same name. When all are listed,
    extensions that cannot be imported are left out, with a line on standard error.
    """

    def __init__(self, kind: str, own: Mapping[str, T], accepts: Callable[[Any], bool]) -> None:
        self.own = own
        """The things of this kind that are netwarp's own."""
        self._kind, self._accepts = kind, accepts

    def __getitem__(self, name: str) -> T:
        found = self.own.get(name)
        return self._loaded(name) if found is None else found

    def __contains__(self, name: object) -> bool:
        return name in self.own or name in added(self._kind)

    def __iter__(self) -> Iterator[str]:
        yield from self.own
        yield from self._added

    def __len__(self) -> int:
        return len(self.own) + len(self._added)

    def values(self) -> Any:
        """Return all values, which is faster than getting them one by one."""
        return [*self.own.values(), *self._added.values()] if self._added else self.own.values()

    @cached_property
    def _added(self) -> dict[str, T]:
        """Import and return all extensions of the kind; those that cannot be imported are left out
        with a warning.
        """
        found = {}
        for name in added(self._kind):
            try:
                found[name] = self._loaded(name)
            except InputError as error:
                logging.getLogger("netwarp").warning("left out: %s", error)
        return found

    def _loaded(self, name: str) -> T:
        if name in self.own:
            raise InputError(f"netwarp has its own {self._kind.removesuffix('s')} {name}")
        loaded: T = load(self._kind, name, self._accepts)
        return loaded
