"""Validates a study's tables by their models. Errors contain key, value, reason and remedy."""

from collections.abc import Iterable, Sequence
from types import UnionType
from typing import Annotated, Any, TypeVar, Union, get_args, get_origin

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from netwarp.fields import KeyValueError, Kind, Section
from netwarp.study.tables import Table, joined
from netwarp.suggestions import did_you_mean, nearest
from netwarp.units import UnitError

Model = TypeVar("Model", bound=BaseModel)


def validated(model: type[Model], table: Table) -> Model:
    """Validate a table of a study.

    Raises:
        KeyValueError: the table is not valid; the error is its first one, with the place where the
            user wrote the value.
    """
    try:
        return model.model_validate(table.plain())
    except ValidationError as error:
        raise table.located(_key_value_error(error, model)) from None


def _key_value_error(error: ValidationError, model: type[BaseModel]) -> KeyValueError:
    """Convert the first of pydantic's errors in a table to an error whose key is relative to the
    table.
    """
    details = _most_helpful(error.errors(include_url=False))
    key = joined(*map(str, details["loc"]))
    cause = details.get("ctx", {}).get("error")
    if isinstance(cause, KeyValueError):
        missing = None if cause.missing is None else joined(key, cause.missing)
        place = joined(key, cause.key or "")
        return KeyValueError(place, cause.value, cause.reason, cause.remedy, missing)
    if isinstance(cause, UnitError):
        return KeyValueError(key, details["input"], cause.reason, cause.remedy)
    reason, remedy = _explain(details, model)
    value = None if details["type"] == "missing" else details["input"]
    return KeyValueError(key, value, reason, remedy)


def _most_helpful(errors: Sequence[ErrorDetails]) -> ErrorDetails:
    """Return the most helpful one of several errors: the error about a misspelt key if another key
    is missing, else the first error.
    """
    first = errors[0]
    unknown = (
        each
        for each in errors
        if each["type"] == "extra_forbidden" and each["loc"][:-1] == first["loc"][:-1]
        and nearest(str(each["loc"][-1]), [str(first["loc"][-1])])
    )  # fmt: skip
    return next(unknown, first) if first["type"] == "missing" else first


def keys_of(model: type[BaseModel]) -> list[str]:
    """Return the keys that a table of this model may have."""
    return [field.alias or name for name, field in model.model_fields.items()]


def _explain(details: ErrorDetails, model: type[BaseModel]) -> tuple[str, str | None]:
    """Return the reason and the remedy for one of pydantic's errors."""
    *parents, last = details["loc"] or ("",)
    match details["type"]:
        case "extra_forbidden":
            owner = _model_at(model, parents)
            if owner is None:
                return "unknown key", None
            impossible = owner.impossible if issubclass(owner, Section) else {}
            return "unknown key", impossible.get(str(last)) or did_you_mean(
                str(last), keys_of(owner)
            )
        case "dict_type" | "model_type" | "model_attributes_type" | "dataclass_type":
            return "not a table", f"write [{'.'.join(map(str, (*parents, last)))}] and its keys"
        case "list_type" | "tuple_type":
            if not parents and isinstance(details["input"], dict):
                return "not a list", f"write [[{last}]] for each"
            return "not a list", 'write one in brackets, such as ["a", "b"]'
        case "missing":
            return "missing", f"add it: {_words(model, parents, str(last))}"
        case "literal_error":
            allowed = [
                word.strip(" '")
                for word in details["ctx"]["expected"].replace(" or ", ", ").split(",")
            ]
            return "unknown", did_you_mean(str(details["input"]), allowed)
        case "greater_than_equal":
            return "too small", f"write {_words(model, parents, str(last))}"
        case "less_than_equal" | "less_than":
            return "too large", f"write {_words(model, parents, str(last))}"
    words = _words(model, parents, str(last))
    return details["msg"][:1].lower() + details["msg"][1:], words and f"write {words}"


def _words(model: type[BaseModel], parents: list[int | str], key: str) -> str:
    owner = _model_at(model, parents)
    for name, field in (owner.model_fields if owner else {}).items():
        if key in (name, field.alias):
            return describe_type(field.annotation, field.metadata)
    return ""


def describe_type(annotation: Any, metadata: Iterable[Any] = ()) -> str:
    """Return a description of the values that a field accepts."""
    for kind in metadata:
        if isinstance(kind, Kind):
            return kind.words
    if get_origin(annotation) is Annotated:
        inner, *annotated = get_args(annotation)
        return describe_type(inner, annotated)
    if get_origin(annotation) in (Union, UnionType):
        return describe_type(next(part for part in get_args(annotation) if part is not type(None)))
    if str(get_origin(annotation)) == "typing.Literal":
        return " or ".join(f'`"{choice}"`' for choice in get_args(annotation))
    simple = {bool: "`true` or `false`", str: "text", int: "a whole number", float: "a number"}
    if annotation in simple:
        return simple[annotation]
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return "a table"
    origin = get_origin(annotation)
    return "a table" if origin is dict else "a list" if origin in (list, tuple) else "a value"


def _model_at(model: type[BaseModel], parents: list[int | str]) -> type[BaseModel] | None:
    current: Any = model
    for part in parents:
        if isinstance(part, int):
            continue
        field = next(
            (field for name, field in current.model_fields.items() if part in (name, field.alias)),
            None,
        )
        if field is None:
            return None
        current = _model_in(field.annotation)
        if current is None:
            return None
    result: type[BaseModel] = current
    return result


def _model_in(annotation: Any) -> type[BaseModel] | None:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next((found for part in get_args(annotation) if (found := _model_in(part))), None)
