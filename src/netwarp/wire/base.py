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
    """Describes which feature of the backend a field of a job requires.

    It is metadata of the field, as `Meaning` is, and is read by `netwarp.wire.asked`. A field
    without it requires a feature with the field's name, so that a new field is refused until
    backends list it.
    """

    words: str | None
    """The feature in words, as they follow "it asks for" in messages. None if the field requires
    nothing."""
    neutral: str | None = None
    """For a choice between strings, the value with which the field requires nothing; else None."""


INSIDE = Asks(None)
"""Marks a field that requires nothing itself, but contains fields that may."""
DETAIL = Asks(None)
"""Marks a field that is a parameter of another feature, and requires nothing by itself."""


@dataclass(frozen=True, eq=False)
class Option:
    """Describes a field that is an option of transports in studies.

    It is metadata of the field, like `Meaning`. The study's key is the field's name without its
    unit. The key's documentation, its default, the refusals by transports that lack the option, and
    the report's table of settings (equal treatment) follow from it.
    """

    usual: object
    """The value that is used if a study sets none."""
    help: str
    """Text of the key reference."""
    type: str | None = None
    """Name of the type of its values, in `netwarp.fields`; None for the type of the field."""
    setting: str | None = None
    """Name in the report's table of settings, which lists the option if transports of a study
    differ in it; None if the table never lists it."""
    of_host: str | None = None
    """If connections do not report the option's value: the kind of setting of a host that it is.
    None for other options."""


Direction = Annotated[
    Literal["down", "up"],
    Meaning(
        "A direction of a path.",
        {"down": "From the server to the client.", "up": "From the client to the server."},
    ),
]


class Wire(BaseModel):
    """An object of the wire format. It cannot be changed; unknown keys and missing keys are
    refused.

    Only a key that has a default is left out if it has that value. So keys that are added to the
    format later do not change earlier objects.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, defer_build=True)

    @classmethod
    def of_checked(cls, fields: dict[str, object]) -> Self:
        """Return an object with values that are known to be valid, without checking them.

        It does the same as `model_construct` with all keys, in a tenth of the time.

        Args:
            fields: all fields that have no default; the object keeps the mapping.
        """
        made = cls.__new__(cls)
        object.__setattr__(
            made, "__dict__", {**usual, **fields} if (usual := _default_values(cls)) else fields
        )
        object.__setattr__(made, "__pydantic_fields_set__", _names(cls))
        object.__setattr__(made, "__pydantic_extra__", None)
        object.__setattr__(made, "__pydantic_private__", None)
        return made

    def to_json(self) -> dict[str, Any]:
        """Return the object as JSON types, as it is written to a file."""
        return self.model_dump(mode="json", exclude_defaults=True)


class Extended(Wire):
    """An object of the wire format to which keys were added later that are always written. Older
    objects without these keys can still be read.
    """

    before: ClassVar[Mapping[str, object]] = {}
    """The values of the added keys that an older object implies."""

    @model_validator(mode="before")
    @classmethod
    def _take_older(cls, fields: object) -> object:
        """Return an older object in which the missing keys have the implied values."""
        return {**cls.before, **fields} if isinstance(fields, dict) else fields


@cache
def _names(model: type[Wire]) -> set[str]:
    return set(model.model_fields)


@cache
def _default_values(model: type[Wire]) -> dict[str, object]:
    """Return the default values of keys that were added to a model; see decision 48."""
    return {key: each.default for key, each in model.model_fields.items() if not each.is_required()}


def first_error(error: ValidationError) -> str:
    """Return the first error of a validation, and its place in the object, as a line that fits a
    screen: pydantic quotes an unknown tag in full, whatever its length.
    """
    first = error.errors(include_url=False)[0]
    where = ".".join(str(part) for part in first["loc"])
    return one_line(f"{where}: {first['msg']}" if where else first["msg"])
