"""The rows of `PATH_PROPERTIES` as fields of a model of study tables, with types and defaults."""

from typing import Any

from pydantic import BeforeValidator, Field

import netwarp.fields
from netwarp.path_properties import PATH_PROPERTIES, PathProperty


def property_fields() -> dict[str, Any]:
    """Return the fields of a model that has the keys of all path properties, as arguments of
    `pydantic.create_model`.
    """
    made = {}
    for row in PATH_PROPERTIES:
        made[row.key] = _field(row, row.help, row.default)
        if row.directions != "path":
            down = (
                "The same, said explicitly."
                if row.directions == "down"
                else (f"{row.each_help}, server to client.")
            )
            default = " Default: none." if row.key == "loss" else ""
            made[f"{row.key}_down"] = _field(row, down)
            made[f"{row.key}_up"] = _field(row, f"{row.each_help}, client to server.{default}")
    return made


def _field(row: PathProperty, description: str, default: Any = None) -> Any:
    of_values = value_type(row)
    return (
        of_values if default is not None else of_values | None,
        Field(default=default, description=description),
    )


def value_type(row: PathProperty) -> Any:
    """Return the type of the values of a path property."""
    return getattr(netwarp.fields, row.type)


def absent_values() -> dict[str, Any]:
    """Return the value that each property has if a study does not set it."""
    return {
        row.key: _reader(row).func(row.absent)  # type: ignore[call-arg]
        for row in PATH_PROPERTIES
        if row.absent is not None
    }


def _reader(row: PathProperty) -> BeforeValidator:
    """Return the validator of a property's type, without building a model."""
    of_type = value_type(row).__metadata__
    return next(each for each in of_type if isinstance(each, BeforeValidator))
