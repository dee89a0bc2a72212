"""From a field's small JSON Schema to the Python type that DSPy shows the model and reads its answer by, and back."""

from __future__ import annotations

import json
import types
from enum import Enum
from typing import TYPE_CHECKING, Annotated, Any, Literal, Union, get_args, get_origin

import pydantic
from pydantic.fields import FieldInfo

from halflap.schema import compile_schema

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = [
    "LIMITS",
    "NotSayableError",
    "default_of",
    "limits_for",
    "limits_in",
    "limits_of",
    "python_type",
    "schema_of",
]

LIMITS = {
    "minimum": "ge",
    "maximum": "le",
    "minLength": "min_length",
    "maxLength": "max_length",
    "minItems": "min_length",
    "maxItems": "max_length",
}
"""What a schema may limit, and what pydantic (and DSPy's prompt) calls it."""

_SCALARS: dict[str, Any] = {
    "string": str,
    "integer": int,
    "number": float,
    "boolean": bool,
    "null": type(None),
}
_NAMES = {**{python: name for name, python in _SCALARS.items()}, list: "array", dict: "object"}
_UNSAYABLE_KEYS = {
    "gt": "exclusiveMinimum",
    "lt": "exclusiveMaximum",
    "multiple_of": "multipleOf",
    "pattern": "pattern",
}


_RULES = (
    "validators", "field_validators", "root_validators", "model_validators", "field_serializers", "model_serializers",
    "computed_fields",
)  # fmt: skip


class NotSayableError(Exception):
    """A type that a field's schema cannot say."""


# From a schema to a type ------------------------------------------------------------------------------


def python_type(schema: Mapping[str, Any], name: str) -> Any:
    """Give the type, without limits at its top: DSPy is told those with the field."""
    if "const" in schema:
        return Literal[schema["const"]]
    if "enum" in schema:
        return Literal[tuple(schema["enum"])]
    kinds = schema.get("type")
    if kinds is None:
        return Any
    if isinstance(kinds, str):
        return _one_type(kinds, schema, name)
    # Not `functools.reduce(or_, …)`: `str | None` and `Optional[str]` read the same to DSPy, so one of them will do.
    return Union[tuple(_one_type(kind, schema, name) for kind in kinds)]  # noqa: UP007


def limits_of(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Give the limits at the top of a schema, as pydantic calls them."""
    # In the order of the schema: DSPy tells the model in the order in which it is told.
    return {LIMITS[key]: value for key, value in schema.items() if key in LIMITS}


def _one_type(kind: str, schema: Mapping[str, Any], name: str) -> Any:
    if kind == "array":
        return list[_inner(schema["items"], name)] if "items" in schema else list  # type: ignore[misc]
    if kind == "object":
        if "properties" in schema:
            return _model(schema, name)
        further = schema.get("additionalProperties")
        if isinstance(further, bool) or further is None:
            return dict if further is None else dict[str, Any]
        return dict[str, _inner(further, name)]  # type: ignore[misc]
    return _SCALARS[kind]


def _inner(schema: Mapping[str, Any], name: str) -> Any:
    inner, limits = python_type(schema, name), limits_of(schema)
    return Annotated[inner, pydantic.Field(**limits)] if limits else inner


def _model(schema: Mapping[str, Any], name: str) -> Any:
    required = schema.get("required", ())
    fields: dict[str, Any] = {}
    for key, inner in schema["properties"].items():
        # The title of an object is the name of its class.
        told = ("description", "default") if "properties" in inner else ("title", "description", "default")
        settings: dict[str, Any] = {name: inner[name] for name in told if name in inner}
        settings.update(limits_of(inner))
        annotation = python_type(inner, key)
        if key not in required and "default" not in inner:
            annotation, settings["default"] = Union[annotation, None], None  # noqa: UP007
        fields[key] = (annotation, pydantic.Field(**settings))
    further = schema.get("additionalProperties")
    extra: Any = "ignore" if further is None else "forbid" if further is False else "allow"
    config = pydantic.ConfigDict(extra=extra, protected_namespaces=())
    return pydantic.create_model(
        _class_name(schema.get("title", name)), __config__=config, __doc__=schema.get("description"), **fields
    )


def _class_name(title: str) -> str:
    """Give a title as it is where it can be a class's name: the model reads it."""
    return (
        title
        if title.isidentifier()
        else "".join(part.title() for part in title.split() if part.isidentifier()) or "Value"
    )


# From a type to a schema ------------------------------------------------------------------------------


def schema_of(annotation: Any) -> dict[str, Any]:
    """Say a type as a field's schema, or raise with what cannot be said of it."""
    if annotation is Any:
        raise NotSayableError(
            "the type Any: say which type it is, since the model is told and its answer read by that"
        )
    if isinstance(annotation, type) and annotation in _NAMES:
        return {"type": _NAMES[annotation]}
    if isinstance(annotation, type) and issubclass(annotation, pydantic.BaseModel):
        return _schema_of_model(annotation)
    if isinstance(annotation, type) and issubclass(annotation, Enum):
        raise NotSayableError(
            f"the enum {annotation.__name__}: write its values as a Literal, which is what a manifest can say"
        )
    return _schema_of_generic(annotation)


def _schema_of_generic(annotation: Any) -> dict[str, Any]:
    origin, inner = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        limits = limits_in(inner[1:])
        return {**schema_of(inner[0]), **limits_for(inner[0], limits)}
    if origin is Literal:
        if any(
            isinstance(one, Enum) or not isinstance(one, (str, int, float, bool, type(None))) for one in inner
        ):
            raise NotSayableError(f"{annotation}: only text, numbers, true, false and null can be its values")
        return {"enum": list(inner)}
    if origin is list:
        return {"type": "array", "items": schema_of(inner[0])}
    if origin is dict:
        if inner[0] is not str:
            raise NotSayableError(f"{annotation}: the keys of an object are text")
        return {"type": "object", "additionalProperties": True if inner[1] is Any else schema_of(inner[1])}
    if origin in {Union, types.UnionType}:
        return _schema_of_union(annotation, inner)
    raise NotSayableError(f"the type {getattr(annotation, '__name__', annotation)}")


def _schema_of_union(annotation: Any, inner: tuple[Any, ...]) -> dict[str, Any]:
    parts = [schema_of(one) for one in inner]
    rich = [part for part in parts if set(part) != {"type"}]
    if len(rich) > 1 or any("enum" in part or "type" not in part for part in parts):
        raise NotSayableError(f"{annotation}: a choice between types that are more than a name each")
    kinds = [
        kind for part in parts for kind in ([part["type"]] if isinstance(part["type"], str) else part["type"])
    ]
    return {**(rich[0] if rich else {}), "type": kinds}


def _schema_of_model(model: type[pydantic.BaseModel]) -> dict[str, Any]:
    if model.__module__.partition(".")[0] == "dspy":
        raise NotSayableError(f"DSPy's own type {model.__name__}")
    rules = model.__pydantic_decorators__
    if any(getattr(rules, kind) for kind in _RULES):
        raise NotSayableError(f"the model {model.__name__}, which has validators or serializers of its own")
    if (
        model.model_config.get("extra") not in {None, "ignore", "forbid", "allow"}
        or model.__pydantic_root_model__
    ):
        raise NotSayableError(f"the model {model.__name__}")
    properties: dict[str, Any] = {}
    required: list[str] = []
    for name, field in model.model_fields.items():
        properties[field.alias or name] = _schema_of_field(model, name, field)
        if field.is_required():
            required.append(field.alias or name)
    schema: dict[str, Any] = {"type": "object", "title": model.__name__, "properties": properties}
    if required:
        schema["required"] = required
    if model.__doc__:
        schema["description"] = model.__doc__
    extra = model.model_config.get("extra")
    return schema if extra in {None, "ignore"} else {**schema, "additionalProperties": extra == "allow"}


def _schema_of_field(model: type[pydantic.BaseModel], name: str, field: FieldInfo) -> dict[str, Any]:
    if field.default_factory is not None:
        raise NotSayableError(f"{model.__name__}.{name}: a default that is made by a function")
    try:
        schema = schema_of(field.annotation)
    except NotSayableError as error:
        raise NotSayableError(f"{model.__name__}.{name}: {error}") from None
    except RecursionError:
        raise NotSayableError(f"the model {model.__name__}, which contains itself") from None
    schema.update(limits_for(field.annotation, limits_in(field.metadata)))
    if field.title is not None:
        schema["title"] = field.title
    if field.description is not None:
        schema["description"] = field.description
    if not field.is_required():
        default = field.default
        if not isinstance(default, (str, int, float, bool, list, dict, type(None))):
            raise NotSayableError(f"{model.__name__}.{name}: its default is no plain value")
        schema["default"] = default
    return schema


def default_of(value: Any, schema: Mapping[str, Any]) -> Any:
    """Give a default as plain JSON, or raise if it is none, or does not fit its own type."""
    try:
        found = pydantic.TypeAdapter(Any).dump_python(value, mode="json", by_alias=True)
        plain = json.loads(json.dumps(found, allow_nan=False))
    except (TypeError, ValueError, RecursionError):
        raise NotSayableError("its default is no plain value") from None
    validator = compile_schema(dict(schema))
    if validator is not None and (wrong := list(validator.problems(plain))):
        raise NotSayableError(f"its default does not fit its type: {wrong[0]}")
    return plain


def limits_for(annotation: Any, limits: Mapping[str, Any]) -> dict[str, Any]:
    """Give limits under the names that a schema of this type has for them."""
    of_list = get_origin(annotation) is list or annotation is list
    names = {"ge": "minimum", "le": "maximum", "min_length": "minItems", "max_length": "maxItems"}
    if not of_list:
        names.update(min_length="minLength", max_length="maxLength")
    return {names[python]: value for python, value in limits.items()}


def limits_in(metadata: Any) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for one in metadata:
        of_one = (
            limits_in(one.metadata)
            if isinstance(one, FieldInfo)
            else {
                name: getattr(one, name)
                for name in ("ge", "le", "gt", "lt", "min_length", "max_length", "multiple_of", "pattern")
                if getattr(one, name, None) is not None
            }
        )
        if not of_one and not isinstance(one, FieldInfo):
            raise NotSayableError(f"{one!r}")
        found.update(of_one)
    for name, told in _UNSAYABLE_KEYS.items():
        if name in found:
            raise NotSayableError(f"`{name}`: a manifest has no {told}")
    return found
