"""From a field's JSON Schema to the Python type that DSPy shows the model and reads its answer by, and back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal, Union

import pydantic
from pydantic.json_schema import GenerateJsonSchema

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["LIMITS", "NotExpressibleError", "limits_of", "python_type", "schema_of"]

LIMITS = {
    "minimum": "ge",
    "maximum": "le",
    "minLength": "min_length",
    "maxLength": "max_length",
    "minItems": "min_length",
    "maxItems": "max_length",
}
"""Limits of a schema, as pydantic calls them."""
_PLAIN = {"string": str, "integer": int, "number": float, "boolean": bool, "null": type(None)}
_MAX_DEPTH = 30


class NotExpressibleError(Exception):
    """A type that a field's schema cannot express."""


def limits_of(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return the limits at the top of a schema in their order, which is that of the prompt."""
    return {LIMITS[key]: value for key, value in schema.items() if key in LIMITS}


def python_type(schema: Mapping[str, Any], name: str) -> Any:
    """Return the type without the limits at its top, which DSPy takes with the field."""
    if "const" in schema or "enum" in schema:
        return Literal[tuple(schema.get("enum", [schema.get("const")]))]
    kinds = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
    return Union[tuple(_one_type(kind, schema, name) for kind in kinds)]  # noqa: UP007 -- known when it runs


def _one_type(kind: str, schema: Mapping[str, Any], name: str) -> Any:
    if kind == "array":
        return list[_inner(schema["items"], name)] if "items" in schema else list  # type: ignore[misc]
    if kind != "object":
        return _PLAIN[kind]
    if "properties" in schema:
        return _model(schema, name)
    values = schema.get("additionalProperties")
    if isinstance(values, dict):
        return dict[str, _inner(values, name)]  # type: ignore[misc]
    return dict if values is None else dict[str, Any]


def _inner(schema: Mapping[str, Any], name: str) -> Any:
    inner, limits = python_type(schema, name), limits_of(schema)
    return Annotated[inner, pydantic.Field(**limits)] if limits else inner


def _model(schema: Mapping[str, Any], name: str) -> Any:
    fields: dict[str, Any] = {}
    for key, inner in schema["properties"].items():
        # The title of an object is the name of its class.
        texts = ("description", "default") if "properties" in inner else ("title", "description", "default")
        settings: dict[str, Any] = {text: inner[text] for text in texts if text in inner} | limits_of(inner)
        annotation = python_type(inner, key)
        if key not in schema.get("required", ()) and "default" not in inner:
            annotation, settings["default"] = Union[annotation, None], None  # noqa: UP007 -- as above
        fields[key] = (annotation, pydantic.Field(**settings))
    others = schema.get("additionalProperties")
    extra: Any = "ignore" if others is None else "forbid" if others is False else "allow"
    title = schema.get("title", name)
    return pydantic.create_model(
        title if title.isidentifier() else "Value",
        __config__=pydantic.ConfigDict(extra=extra, protected_namespaces=()),
        __doc__=schema.get("description"),
        **fields,
    )


# Back, for modules that are exported ------------------------------------------------------------------


class _Generator(GenerateJsonSchema):
    """Refuses models with validators, which a schema does not show."""

    def function_after_schema(self, schema: Any) -> Any:  # noqa: ARG002 -- pydantic's signature
        raise NotExpressibleError("it has validators")

    function_before_schema = function_wrap_schema = function_plain_schema = function_after_schema


def schema_of(annotation: Any) -> dict[str, Any]:
    """Return a type's schema as pydantic writes it, without references; what a manifest cannot express is refused later."""
    try:
        schema = pydantic.TypeAdapter(annotation).json_schema(schema_generator=_Generator)
    except (pydantic.PydanticUserError, RecursionError) as error:
        raise NotExpressibleError(str(error).partition("\n")[0]) from None
    if annotation is Any:
        raise NotExpressibleError(
            "Any is not specific enough: name the type that the model should answer with"
        )
    return _simplified(schema, schema.pop("$defs", {}))


def _simplified(schema: Mapping[str, Any], defs: Mapping[str, Any], depth: int = 0) -> dict[str, Any]:
    """Resolve references, write a type or null as a list of types, and drop the titles that pydantic makes of names."""
    if depth > _MAX_DEPTH:
        raise NotExpressibleError("it contains itself")
    found = dict(schema)
    if "$ref" in found:
        found = {**defs[found.pop("$ref").rpartition("/")[2]], **found}
    if "anyOf" in found:
        parts = [_simplified(part, defs, depth + 1) for part in found.pop("anyOf")]
        others = [part for part in parts if part != {"type": "null"}]
        is_nullable = len(others) == 1 and len(parts) == len(others) + 1
        if not is_nullable or not isinstance(others[0].get("type"), str) or "enum" in others[0]:
            raise NotExpressibleError("a union can only be one type or None")
        found |= {**others[0], "type": [others[0]["type"], "null"]}
    properties = {}
    for name, part in found.get("properties", {}).items():
        properties[name] = _simplified(part, defs, depth + 1)
        if properties[name].get("title") == name.title().replace("_", " ").strip():
            del properties[name]["title"]
    if "properties" in found:
        found["properties"] = properties
    for key in ("items", "additionalProperties"):
        if isinstance(found.get(key), dict):
            found[key] = _simplified(found[key], defs, depth + 1)
    return found
