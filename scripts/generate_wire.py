"""Writes the endpoint's half of the wire format, Rust types, from the pydantic models.

A module of `netwarp.wire` becomes a file of the crate `endpoint/wire`: in `src/job/`, in
`src/record/` where only records have its types, or in `src/role_protocol/`. With --check it writes
nothing and fails when a file is not what it would write. What the endpoint adds to these types is
in `facts/`.
"""

from __future__ import annotations

import importlib
import sys
import textwrap
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args, get_origin

from annotated_types import Lt

import wire_schema
from descriptions import describe_fields
from netwarp import wire
from netwarp.wire import role_protocol
from netwarp.wire.base import JOB_FORMAT, RECORD_FORMAT, Wire
from wire_schema import Choice, NamedType, Tagged

describe_fields(Wire)

SOURCES = Path(__file__).resolve().parents[1] / "endpoint" / "wire" / "src"
GENERATED = (
    "// Written by scripts/generate_wire.py: change the models in src/netwarp/wire/ instead."
)
LEFT_OUT = [
    "/// Returns whether an optional key has its default value: then it is left out.",
    "fn is_left_out<T: Default + PartialEq>(value: &T) -> bool {",
    "    *value == T::default()",
    "}",
]
STRICT = '#[cfg_attr(not(feature = "tolerant"), serde(deny_unknown_fields))]'
LINE_WIDTH = 120
OWN_TYPES = {"Workload", "Record"}
"""Unions whose variants are types of their own in Rust, for they are passed around alone."""
FOLDERS: Mapping[str, tuple[Any, ...]] = {
    "job": (wire.Job,),
    "record": (wire.Record,),
    "role_protocol": (role_protocol.Order, role_protocol.Message),
}
"""The types that each folder is about; a type of several is in the first."""
WIDTHS = {"u8": 2**8, "u16": 2**16, "u32": 2**32, "u64": 2**64}
DIGITS = {"0": "Zero", "1": "One"}


def main(arguments: list[str]) -> int:
    """Write the files, or check them; give the exit status."""
    stale = 0
    for name, text in files().items():
        path = SOURCES / name
        if "--check" not in arguments:
            path.write_text(text, encoding="utf-8")
        elif not path.exists() or path.read_text(encoding="utf-8") != text:
            print(f"endpoint/wire/src/{name} is out of date: run `python scripts/generate_wire.py`")
            stale = 1
    return stale


class Place(NamedTuple):
    """Where a type is defined: a module of Python, a file of Rust."""

    folder: str
    module: str

    @property
    def is_root(self) -> bool:
        """Whether it is the module of the whole folder, which gives all its names."""
        return self.module == self.folder

    @property
    def path(self) -> str:
        """Its file below `endpoint/wire/src/`."""
        return f"{self.folder}/{'mod' if self.is_root else self.module}.rs"


def files() -> dict[str, str]:
    """Make the text of each file, by its path below `endpoint/wire/src/`."""
    return {place.path: "\n".join(_file(place)) for place in dict.fromkeys(_places().values())}


@cache
def _places() -> Mapping[NamedType, Place]:
    placed: dict[NamedType, Place] = {}
    for folder, each in _each_type():
        module = each.module if isinstance(each, Choice | Tagged) else each.__module__
        placed.setdefault(each, Place(folder, module.rpartition(".")[2]))
    return placed


def _each_type() -> Iterator[tuple[str, NamedType]]:
    """Give each folder with each type below its roots."""
    for folder, roots in FOLDERS.items():
        for root in roots:
            yield from ((folder, each) for each in wire_schema.types_of(root))


def _file(place: Place) -> Iterator[str]:
    kinds = [kind for kind, where in _places().items() if where == place]
    variants = {v for kind in kinds if isinstance(kind, Tagged) for v in kind.variants}
    yield from _comment("//!", _prose(importlib.import_module(f"netwarp.wire.{place.module}")))
    yield from (GENERATED, "")
    of_folder = {where for where in _places().values() if where.folder == place.folder} - {place}
    inside = sorted(where.module for where in of_folder) if place.is_root else []
    if inside:
        yield from (*(f"mod {each};" for each in inside), "")
    yield from ("use serde::{Deserialize, Serialize};", "")
    if inside:
        yield from (*(f"pub use self::{each}::*;" for each in inside), "")
    # In rustfmt's order: what is near comes first.
    if imports := sorted(_imports(place, kinds), key=lambda line: ("use crate" in line, line)):
        yield from (*imports, "")
    if place.module == "base":
        for name, version in (("JOB", JOB_FORMAT), ("RECORD", RECORD_FORMAT)):
            yield f"/// Version of the format of {name.lower()}s. A reader refuses any other."
            yield from (f"pub const {name}_FORMAT: u32 = {version};", "")
    blocks = [[*_definition(kind)] for kind in kinds if kind not in variants or _is_own(kind)]
    if any("is_left_out" in line for block in blocks for line in block):
        blocks.append(LEFT_OUT)
    for number, block in enumerate(blocks):
        if number:
            yield ""
        yield from block
    yield ""


def _is_own(kind: NamedType) -> bool:
    return kind in _names_of_variants()


@cache
def _names_of_variants() -> dict[NamedType, str]:
    """Name the types that are variants of a union and yet types of their own."""
    names: dict[NamedType, str] = {}
    for _, kind in _each_type():
        if isinstance(kind, Tagged) and kind.name in OWN_TYPES:
            for variant in kind.variants:
                name = _pascal(kind.tag_of(variant))
                # `Connection` alone would be a transport's.
                names[variant] = f"{name}Record" if kind.name == "Record" else name
    return names


def _name(kind: NamedType) -> str:
    if isinstance(kind, Choice | Tagged):
        return kind.name
    return _names_of_variants().get(kind, kind.__name__)


def _imports(place: Place, kinds: list[NamedType]) -> Iterator[str]:
    used = {each for kind in kinds for each in _uses(kind)} - set(kinds)
    for folder in FOLDERS:
        names = sorted(_name(each) for each in used if _places()[each].folder == folder)
        if names and not (place.folder == folder and place.is_root):
            where = "super" if place.folder == folder else f"crate::{folder}"
            listed = names[0] if len(names) == 1 else f"{{{', '.join(names)}}}"
            yield f"use {where}::{listed};"


def _uses(kind: NamedType) -> Iterator[NamedType]:
    """Give the types that a type's definition mentions."""
    if isinstance(kind, Choice):
        return
    if isinstance(kind, Tagged):
        for variant in kind.variants:
            yield from [variant] if _is_own(variant) else _uses(variant)
        return
    for _, annotation, metadata in _fields(kind):
        yield from _mentioned(annotation, metadata)


def _mentioned(annotation: Any, metadata: tuple[Any, ...]) -> Iterator[NamedType]:
    kind = wire_schema.named(annotation, metadata)
    if kind is not None:
        yield kind
    else:
        for part in wire_schema.parts(annotation):
            yield from _mentioned(part, ())


def _fields(model: type[Wire]) -> Iterator[tuple[str, Any, tuple[Any, ...]]]:
    """Give the fields of a model but the one that says which variant of a union it is."""
    for name, field in model.model_fields.items():
        annotation, metadata = wire_schema.field_type(field)
        if not (get_origin(annotation) is Literal and isinstance(get_args(annotation)[0], str)) or (
            wire_schema.named(annotation, metadata)
        ):
            yield name, annotation, metadata


def _definition(kind: NamedType) -> Iterator[str]:
    if isinstance(kind, Choice):
        yield from _choice(kind)
    elif isinstance(kind, Tagged):
        yield from _union(kind)
    else:
        yield from _struct(kind)


def _choice(kind: Choice) -> Iterator[str]:
    yield from _comment("///", kind.meaning.description)
    yield "#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]"
    is_plain = all(_pascal(value).lower() == value for value in kind.meaning.choices)
    if is_plain:
        yield '#[serde(rename_all = "lowercase")]'
    yield f"pub enum {kind.name} {{"
    for value, meaning in kind.meaning.choices.items():
        yield from _comment("    ///", meaning)
        if not is_plain:
            yield f'    #[serde(rename = "{value}")]'
        yield f"    {_pascal(value)},"
    yield "}"


def _union(kind: Tagged) -> Iterator[str]:
    is_own = kind.name in OWN_TYPES
    yield from _comment("///", kind.meaning.description)
    yield _derive(kind)
    yield f'#[serde(tag = "{kind.tag}", rename_all = "lowercase")]'
    if not is_own:
        yield STRICT
    yield f"pub enum {kind.name} {{"
    for variant in kind.variants:
        yield from _comment("    ///", _prose(variant))
        tag = kind.tag_of(variant)
        name = _pascal(tag)
        if name.lower() != tag:
            yield f'    #[serde(rename = "{tag}")]'
        if is_own:
            yield f"    {name}({_name(variant)}),"
        elif fields := list(_struct_fields(variant, "        ", "")):
            yield from (f"    {name} {{", *fields, "    },")
        else:
            yield f"    {name} {{}},"
    yield "}"


def _struct(model: type[Wire]) -> Iterator[str]:
    yield from _comment("///", _prose(model))
    yield _derive(model)
    yield STRICT
    yield f"pub struct {_name(model)} {{"
    yield from _struct_fields(model, "    ", "pub ")
    yield "}"


def _struct_fields(model: type[Wire], indent: str, visibility: str) -> Iterator[str]:
    for name, annotation, metadata in _fields(model):
        field = model.model_fields[name]
        yield from _comment(f"{indent}///", field.description or "")
        if not field.is_required():
            if field.default:
                raise TypeError(f"{model.__name__}.{name}: what is left out is off, empty or null")
            yield f'{indent}#[serde(default, skip_serializing_if = "is_left_out")]'
        yield f"{indent}{visibility}{name}: {_rust(annotation, metadata)},"


def _rust(annotation: Any, metadata: tuple[Any, ...] = ()) -> str:
    """Name a field's type in Rust."""
    kind = wire_schema.named(annotation, metadata)
    if kind is not None:
        # One record can have another in it.
        return f"Box<{_name(kind)}>" if _name(kind) == "Record" else _name(kind)
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is tuple:
        return f"Vec<{_rust(arguments[0])}>"
    if type(None) in arguments:
        (inner,) = wire_schema.parts(annotation)
        return f"Option<{_rust(inner)}>"
    if hasattr(annotation, "__metadata__"):
        inside = (each for one in arguments[1:] for each in getattr(one, "metadata", [one]))
        return _rust(arguments[0], tuple(inside))
    if origin is Literal:
        return "u32"
    if annotation is int:
        (bound,) = (each for each in metadata if isinstance(each, Lt))
        return next(name for name, below in WIDTHS.items() if bound == Lt(below))
    return {bool: "bool", str: "String", float: "f64"}[annotation]


def _derive(kind: NamedType) -> str:
    """Derive what all have; `Eq` where there is no float, `Default` where all may be empty."""
    may_be_empty = not isinstance(kind, Choice | Tagged) and all(
        _rust(annotation, metadata).startswith(("Option<", "Vec<"))
        for _, annotation, metadata in _fields(kind)
    )
    has_float = any(
        "f64" in _rust(annotation, metadata)
        for each in wire_schema.types_of(_root(kind))
        if not isinstance(each, Choice | Tagged)
        for _, annotation, metadata in _fields(each)
    )
    default = "Default, " if may_be_empty else ""
    equality = "PartialEq" if has_float else "PartialEq, Eq"
    return f"#[derive(Debug, Clone, {default}{equality}, Serialize, Deserialize)]"


def _root(kind: NamedType) -> Any:
    return (
        getattr(importlib.import_module(kind.module), kind.name)
        if isinstance(kind, Choice | Tagged)
        else kind
    )


def _pascal(value: str) -> str:
    return "".join(DIGITS.get(part, part.capitalize()) for part in _words(value))


def _words(value: str) -> Iterable[str]:
    return (value[0], value[1:]) if value[0].isdigit() else value.split("_")


def _prose(described: Any) -> str:
    return textwrap.dedent("    " + (described.__doc__ or "").strip()).strip()


def _comment(marker: str, text: str) -> Iterator[str]:
    """Fill each paragraph to the width of a line."""
    indent = f"{marker} "
    for number, paragraph in enumerate(text.split("\n\n")):
        if number:
            yield marker
        yield from textwrap.wrap(
            " ".join(paragraph.split()),
            LINE_WIDTH,
            initial_indent=indent,
            subsequent_indent=indent,
            break_long_words=False,
            break_on_hyphens=False,
        )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
