"""What both halves of the wire format are made of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

FORMAT: Literal[1] = 1
"""Version of the wire format. A reader refuses any other."""
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


Direction = Annotated[
    Literal["down", "up"],
    Meaning("A direction of travel.", {"down": "Server to client.", "up": "Client to server."}),
]


class Wire(BaseModel):
    """An object of the wire format: immutable, every key known, every key present."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, defer_build=True)


def first_error(error: ValidationError) -> str:
    """Say what is wrong first, and where in the object."""
    first = error.errors(include_url=False)[0]
    where = ".".join(str(part) for part in first["loc"])
    return f"{where}: {first['msg']}" if where else first["msg"]
