"""The wire format as data: its types, in the order in which a document presents them.

All code that is generated from the models, or compared with them, uses these functions: the
endpoint's half of the format, its documents, the golden files.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import pkgutil
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from types import ModuleType, NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic.fields import FieldInfo

from netwarp import wire
from netwarp.wire.base import Meaning, Wire


@dataclass(frozen=True)
class Choice:
    """A choice between several strings."""

    name: str
    module: str
    meaning: Meaning


@dataclass(frozen=True)
class Tagged:
    """A choice between several models, which are distinguished by a key that they all have."""

    name: str
    module: str
    meaning: Meaning
    tag: str
    """The key whose value says which variant an object is."""
    variants: tuple[type[Wire], ...]

    def tag_of(self, variant: type[Wire]) -> str:
        """Return the value of the key for one of the models."""
        (value,) = get_args(variant.model_fields[self.tag].annotation)
        return str(value)


NamedType = type[Wire] | Choice | Tagged


def types_of(root: Any) -> tuple[NamedType, ...]:
    """Return the types that the values of a type consist of, itself first, each once."""
    found: list[NamedType] = []
    _collect(root, (), found)
    return tuple(found)


def field_type(field: FieldInfo) -> tuple[Any, tuple[Any, ...]]:
    """Return a field's type without its `Annotated` metadata, and the metadata."""
    return field.annotation, tuple(field.metadata)


def named(annotation: Any, metadata: tuple[Any, ...] = ()) -> NamedType | None:
    """Return the named type of an annotation; None if it has none."""
    if get_origin(annotation) is Annotated:
        annotation, *more = get_args(annotation)
        metadata = (*metadata, *more)
    for each in metadata:
        if isinstance(each, Meaning):
            return _types_by_meaning()[each]
    return annotation if isinstance(annotation, type) and issubclass(annotation, Wire) else None


def parts(annotation: Any) -> Iterator[Any]:
    """Yield the inner types of an optional, a list or an annotated type; nothing for any other."""
    if get_origin(annotation) is Annotated:
        yield get_args(annotation)[0]
    elif get_origin(annotation) in (tuple, Union, UnionType):
        yield from (each for each in get_args(annotation) if each not in (NoneType, ...))


def _collect(annotation: Any, metadata: tuple[Any, ...], found: list[NamedType]) -> None:
    kind = named(annotation, metadata)
    if kind is None:
        for part in parts(annotation):
            _collect(part, (), found)
    elif kind not in found:
        found.append(kind)
        if isinstance(kind, Tagged):
            for variant in kind.variants:
                _collect(variant, (), found)
        elif not isinstance(kind, Choice):
            # Pydantic builds a model when it is first used; until then its types are only names.
            kind.model_rebuild()
            for field in kind.model_fields.values():
                _collect(*field_type(field), found)


@cache
def _types_by_meaning() -> dict[Meaning, Choice | Tagged]:
    found: dict[Meaning, Choice | Tagged] = {}
    for module in _modules():
        for name in _assigned(module):
            value = vars(module)[name]
            if get_origin(value) is Annotated:
                of, *metadata = get_args(value)
                for meaning in metadata:
                    if isinstance(meaning, Meaning):
                        found[meaning] = _describe(name, module.__name__, of, meaning, metadata)
    return found


def _describe(
    name: str, module: str, of: Any, meaning: Meaning, metadata: list[Any]
) -> Choice | Tagged:
    if get_origin(of) is Literal:
        if tuple(meaning.choices) != get_args(of):
            raise TypeError(f"{module}.{name} does not say what each of {get_args(of)} means")
        return Choice(name, module, meaning)
    tags = [each.discriminator for each in metadata if isinstance(each, FieldInfo)]
    return Tagged(name, module, meaning, str(tags[0]), get_args(of))


def _modules() -> Iterator[ModuleType]:
    for module in pkgutil.iter_modules(wire.__path__, f"{wire.__name__}."):
        yield importlib.import_module(module.name)


def _assigned(module: ModuleType) -> Iterator[str]:
    """Yield the names that a module assigns, without those that it imports."""
    for node in ast.parse(inspect.getsource(module)).body:
        if isinstance(node, ast.Assign):
            yield from (target.id for target in node.targets if isinstance(target, ast.Name))
