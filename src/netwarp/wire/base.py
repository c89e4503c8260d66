"""The parts that jobs and records have in common."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from netwarp.errors import one_line

JOB_FORMAT: Literal[2] = 2
"""Version of the format of jobs. Only `job_from_json` reads earlier ones."""
RECORD_FORMAT: Literal[1] = 1
"""Version of the format of records. A reader refuses any other."""
U16 = Annotated[int, Field(ge=0, lt=2**16)]
U32 = Annotated[int, Field(ge=0, lt=2**32)]
U64 = Annotated[int, Field(ge=0, lt=2**64)]
Ratio = Annotated[float, Field(ge=0, le=1)]


@dataclass(frozen=True, eq=False)
class Meaning:
    """Describes a named type that is not a model: a choice between strings, or between models.

    It is metadata of the type (`typing.Annotated`), from which documents and the endpoint's types
    are generated. Pydantic ignores it.
    """

    description: str
    """The meaning of the type."""
    choices: Mapping[str, str] = field(default_factory=dict)
    """The meaning of each string, for a choice between strings."""


@dataclass(frozen=True, eq=False)
class Asks:
    """Declares which feature of the backend a field of a job requires.

    It is metadata of the field, as `Meaning` is, and is read by `netwarp.wire.asked`. A field
    without it requires a feature of its own name, so that a new field is refused until backends
    list it.
    """

    words: str | None
    """The feature in words, as refusals state it: "it asks for …". None if the field requires
    nothing.
    """
    neutral: str | None = None
    """The string with which the field requires nothing, for a choice between strings."""


INSIDE = Asks(None)
"""Marks a field that requires nothing itself, but contains fields that may."""
DETAIL = Asks(None)
"""Marks a field that only parametrises another feature, and requires nothing by itself."""


@dataclass(frozen=True, eq=False)
class Option:
    """Describes a field that is an option of transports in studies.

    It is metadata of the field, like `Meaning`. The study's key is the field's name without its
    unit. The key's documentation, its default, the refusals by transports that lack the option, and
    the equal-treatment table follow from it.
    """

    usual: object
    """The value if the study sets none."""
    help: str
    """Text of the key reference."""
    type: str | None = None
    """Name of the type of its values, in `netwarp.fields`; None for the type of the field."""
    setting: str | None = None
    """Its name in the equal-treatment table, in which it is listed if transports of a study differ
    in it; None if it is not.
    """
    of_host: str | None = None
    """What of a host it is a setting of, where a connection does not tell which it has; None for
    all others.
    """


Direction = Annotated[
    Literal["down", "up"],
    Meaning("A direction of travel.", {"down": "Server to client.", "up": "Client to server."}),
]


class Wire(BaseModel):
    """An object of the wire format: immutable, every key known, every key present.

    Only a key that has a default is left out where it has that value, so that what is added to the
    format changes nothing that was written before.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, defer_build=True)

    @classmethod
    def of_checked(cls, fields: dict[str, object]) -> Self:
        """Make an object from values that are known to be valid, without checking them.

        It does what `model_construct` does with every key present, in a tenth of the time.

        Args:
            fields: all fields that have no default; the object keeps the mapping.
        """
        made = cls.__new__(cls)
        object.__setattr__(
            made, "__dict__", {**usual, **fields} if (usual := _usual(cls)) else fields
        )
        object.__setattr__(made, "__pydantic_fields_set__", _names(cls))
        object.__setattr__(made, "__pydantic_extra__", None)
        object.__setattr__(made, "__pydantic_private__", None)
        return made

    def to_json(self) -> dict[str, Any]:
        """Return the object as JSON types, as it is written."""
        return self.model_dump(mode="json", exclude_defaults=True)


class Extended(Wire):
    """An object to which keys were added that are always written; older objects without them can
    still be read.
    """

    before: ClassVar[Mapping[str, object]] = {}
    """The values that older objects imply for these keys."""

    @model_validator(mode="before")
    @classmethod
    def _take_older(cls, fields: object) -> object:
        """Add the implied values of missing keys to an older object."""
        return {**cls.before, **fields} if isinstance(fields, dict) else fields


@cache
def _names(model: type[Wire]) -> set[str]:
    return set(model.model_fields)


@cache
def _usual(model: type[Wire]) -> dict[str, object]:
    """Return the defaults of keys that were added to a model, see decision 48."""
    return {key: each.default for key, each in model.model_fields.items() if not each.is_required()}


def first_error(error: ValidationError) -> str:
    """Describe the first error, and its place in the object, as a line that fits a screen: pydantic
    quotes a tag that it does not know, whatever its length.
    """
    first = error.errors(include_url=False)[0]
    where = ".".join(str(part) for part in first["loc"])
    return one_line(f"{where}: {first['msg']}" if where else first["msg"])
