"""The fields of a run directory's provenance that netwarp itself reads later, and their types."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

_Positive = Annotated[int, Field(ge=1)]
_Share = Annotated[float, Field(gt=0, le=1)]
_Seconds = Annotated[float, Field(ge=0)]


class _Strict(BaseModel):
    model_config = ConfigDict(strict=True, extra="allow", allow_inf_nan=False)


class _Treatment(_Strict):
    setting: str
    transport: str
    value: str
    deviates: bool
    reason: str | None


class _Speed(_Strict):
    measured: str
    goodput_bit_s: dict[str, _Seconds]
    not_measured: dict[str, str] = {}


class _Known(_Strict):
    """The fields of the provenance that reports and statistics compute with. Other fields are only
    shown.
    """

    kernel: dict[str, Any] | None = None
    kernels: dict[str, dict[str, Any]] | None = None
    endpoint: dict[str, Any] | None = None
    command_line: list[Any] | None = None
    equal_treatment: list[_Treatment] | None = None
    looks: _Positive | None = None
    look_sizes: list[_Positive] | None = None
    look_shares: list[_Share] | None = None
    speed: _Speed | None = None
    time_limit_s: _Seconds | None = None
    time_limit_left: list[str] | None = None
    virtual_s: _Seconds | None = None
    wall_s: _Seconds | None = None


def readable_fields(provenance: Mapping[str, Any]) -> tuple[dict[str, Any], str | None]:
    """Return the fields of a provenance, without those of a wrong type.

    Returns:
        The valid fields, and a sentence that names those that are left out; None if there are none.
            A known field without a value is left out, too.
    """
    try:
        _Known.model_validate(provenance)
    except ValidationError as error:
        wrong = dict.fromkeys(str(each["loc"][0]) for each in error.errors(include_url=False))
    else:
        wrong = {}
    kept = {
        name: value
        for name, value in provenance.items()
        if name not in wrong and not (value is None and name in _Known.model_fields)
    }
    named = ", ".join(wrong)
    return kept, f"left out, since it is not what netwarp writes: {named}" if wrong else None
