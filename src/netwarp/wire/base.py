"""What both halves of the wire format are made of."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

FORMAT: Literal[1] = 1
"""Version of the wire format. A reader refuses any other."""
U32 = Annotated[int, Field(ge=0, lt=2**32)]
U64 = Annotated[int, Field(ge=0, lt=2**64)]
Ratio = Annotated[float, Field(ge=0, le=1)]
Direction = Literal["down", "up"]


class Wire(BaseModel):
    """An object of the wire format: immutable, every key known, every key present."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", strict=True, use_attribute_docstrings=True
    )


def first_error(error: ValidationError) -> str:
    """Say what is wrong first, and where in the object."""
    first = error.errors(include_url=False)[0]
    where = ".".join(str(part) for part in first["loc"])
    return f"{where}: {first['msg']}" if where else first["msg"]
