"""What both halves of the wire format are made of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

JOB_FORMAT: Literal[2] = 2
"""Version of the format of jobs. Of earlier ones, `job_from_json` alone knows."""
RECORD_FORMAT: Literal[1] = 1
"""Version of the format of records. A reader refuses any other."""
U16 = Annotated[int, Field(ge=0, lt=2**16)]
U32 = Annotated[int, Field(ge=0, lt=2**32)]
U64 = Annotated[int, Field(ge=0, lt=2**64)]
Ratio = Annotated[float, Field(ge=0, le=1)]


@dataclass(frozen=True, eq=False)
class Meaning:
    """Describes a named type that is no model: a choice between strings, or between models.

    It is metadata of the type (`typing.Annotated`), from which documents and the endpoint's types
    are generated. Pydantic takes no notice of it.
    """

    description: str
    """What the type says."""
    values: Mapping[str, str] = field(default_factory=dict)
    """What each string says, of a choice between strings."""


@dataclass(frozen=True, eq=False)
class Asks:
    """Says what a field of a job asks of the backend that carries the job out.

    It is metadata of the field, as `Meaning` is, and read by `netwarp.wire.asked`. A field without
    it asks for what its name says, so that a field that is new is refused until backends know it.
    """

    words: str | None
    """What it asks for, as refusals say it: "it asks for …". None for nothing."""
    neutral: str | None = None
    """The string with which it asks for nothing, of a choice between strings."""


INSIDE = Asks(None)
"""Marks a field that asks for nothing itself, but holds fields that may."""
DETAIL = Asks(None)
"""Marks a field that says how something else is done, and asks for nothing alone."""


@dataclass(frozen=True, eq=False)
class Option:
    """Describes what studies say of a field that is an option of their transports.

    It is metadata of the field, like `Meaning`. The study's key is the field's name without its
    unit; key, documentation, defaults, what has no such option and the equal-treatment table follow
    from it.
    """

    usual: object
    """The value where the study gives none."""
    help: str
    """Text of the key reference."""
    type: str | None = None
    """Name of the type of its values, in `netwarp.fields`; None for that of the field."""
    setting: str | None = None
    """What the equal-treatment table calls it, where transports of a study differ in it."""


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
        """Make an object of values that are known to be right: they are not looked at again.

        It does what `model_construct` does when every key is given, in a tenth of the time.

        Args:
            fields: all that have no default, which the object takes over.
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
    """An object to which keys were added that are always written: older ones are read without."""

    before: ClassVar[Mapping[str, object]] = {}
    """What objects meant that do not have them, by these keys."""

    @model_validator(mode="before")
    @classmethod
    def _take_older(cls, fields: object) -> object:
        """Say of an older object what its keys would have said of it."""
        return {**cls.before, **fields} if isinstance(fields, dict) else fields


@cache
def _names(model: type[Wire]) -> set[str]:
    return set(model.model_fields)


@cache
def _usual(model: type[Wire]) -> dict[str, object]:
    """Return the defaults of what was added to a model, see decision 48."""
    return {key: each.default for key, each in model.model_fields.items() if not each.is_required()}


def first_error(error: ValidationError) -> str:
    """Say what is wrong first, and where in the object."""
    first = error.errors(include_url=False)[0]
    where = ".".join(str(part) for part in first["loc"])
    return f"{where}: {first['msg']}" if where else first["msg"]
