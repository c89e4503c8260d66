"""The wire format as data: its types in the order in which a reader meets them.

Whatever is generated from the models, or held against them, walks them here: the endpoint's half of
the format, its documents, the golden files.
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
    """A string out of several."""

    name: str
    module: str
    meaning: Meaning


@dataclass(frozen=True)
class Tagged:
    """A model out of several, told apart by a key that they all have."""

    name: str
    module: str
    meaning: Meaning
    tag: str
    """The key."""
    variants: tuple[type[Wire], ...]

    def tag_of(self, variant: type[Wire]) -> str:
        """Return the key's value that stands for a variant."""
        (value,) = get_args(variant.model_fields[self.tag].annotation)
        return str(value)


NamedType = type[Wire] | Choice | Tagged


def types_of(root: Any) -> tuple[NamedType, ...]:
    """Walk the types that a value of a type is made of, itself first, each once."""
    found: list[NamedType] = []
    _collect(root, (), found)
    return tuple(found)


def field_type(field: FieldInfo) -> tuple[Any, tuple[Any, ...]]:
    """Return a field's type without and with what `Annotated` says of it."""
    return field.annotation, tuple(field.metadata)


def named(annotation: Any, metadata: tuple[Any, ...] = ()) -> NamedType | None:
    """Return the named type that an annotation is, if it is one."""
    if get_origin(annotation) is Annotated:
        annotation, *more = get_args(annotation)
        metadata = (*metadata, *more)
    for each in metadata:
        if isinstance(each, Meaning):
            return _types_by_meaning()[each]
    return annotation if isinstance(annotation, type) and issubclass(annotation, Wire) else None


def parts(annotation: Any) -> Iterator[Any]:
    """Yield what an optional, a list or an annotated type is of; nothing of any other."""
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
            kind.model_rebuild()  # a model is built when it is needed; until then types are names
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
        if tuple(meaning.values) != get_args(of):
            raise TypeError(f"{module}.{name} does not say what each of {get_args(of)} means")
        return Choice(name, module, meaning)
    tags = [each.discriminator for each in metadata if isinstance(each, FieldInfo)]
    return Tagged(name, module, meaning, str(tags[0]), get_args(of))


def _modules() -> Iterator[ModuleType]:
    for module in pkgutil.iter_modules(wire.__path__, f"{wire.__name__}."):
        yield importlib.import_module(module.name)


def _assigned(module: ModuleType) -> Iterator[str]:
    """Name what a module defines by assignment; what it imports is another's."""
    for node in ast.parse(inspect.getsource(module)).body:
        if isinstance(node, ast.Assign):
            yield from (target.id for target in node.targets if isinstance(target, ast.Name))
