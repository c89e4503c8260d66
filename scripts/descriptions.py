"""Descriptions of the models' fields, for generated documents and the endpoint's types.

A field's description is the docstring below it. pydantic can read these when it makes a class
(`use_attribute_docstrings`), by parsing its source, which takes longer than everything else in
printing a table; so it is done here, on request.
"""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Iterator
from functools import cache
from itertools import pairwise

from pydantic import BaseModel


def describe_fields(*bases: type[BaseModel]) -> None:
    """Add descriptions to the fields of all models derived from some, where they have none."""
    for base in bases:
        for model in _and_below(base):
            model.model_rebuild()  # replaces its fields, so it comes first
            for name, field in model.model_fields.items():
                if field.description is None:
                    field.description = _docstring(model, name)


def _and_below(base: type[BaseModel]) -> Iterator[type[BaseModel]]:
    yield base
    for model in base.__subclasses__():
        yield from _and_below(model)


def _docstring(model: type[BaseModel], name: str) -> str | None:
    """Find a field's docstring in its class or a base class."""
    found = (_docstrings(owner).get(name) for owner in model.__mro__)
    return next((text for text in found if text is not None), None)


@cache
def _docstrings(owner: type) -> dict[str, str]:
    if owner in BaseModel.__mro__:
        return {}
    try:
        source = textwrap.dedent(inspect.getsource(owner))
    except (OSError, TypeError):  # a class without source
        return {}
    (definition,) = ast.parse(source).body
    if not isinstance(definition, ast.ClassDef):
        return {}
    return {
        field.target.id: inspect.cleandoc(text.value.value)
        for field, text in pairwise(definition.body)
        if isinstance(field, ast.AnnAssign)
        and isinstance(field.target, ast.Name)
        and isinstance(text, ast.Expr)
        and isinstance(text.value, ast.Constant)
        and isinstance(text.value.value, str)
    }
