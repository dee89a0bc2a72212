"""Python types for the JSON Schemas of fields, and back. DSPy shows a field's type to the model, and parses answers by it.

Values are validated against the schema itself, so a type may be wider: a keyword without a counterpart is left out.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal, Union

import pydantic
from pydantic.json_schema import GenerateJsonSchema

_LIMITS = {
    "minimum": "ge",
    "maximum": "le",
    "exclusiveMinimum": "gt",
    "exclusiveMaximum": "lt",
    "multipleOf": "multiple_of",
    "minLength": "min_length",
    "maxLength": "max_length",
    "minItems": "min_length",
    "maxItems": "max_length",
}
"""Limits of a schema, as pydantic calls them."""
_PLAIN = {"string": str, "integer": int, "number": float, "boolean": bool, "null": type(None)}


class NotExpressibleError(Exception):
    """A type that cannot be saved."""


def limits_of(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return the limits at the top of a schema, for pydantic or DSPy."""
    return {_LIMITS[key]: value for key, value in schema.items() if key in _LIMITS}


def python_type(schema: Mapping[str, Any], name: str) -> Any:
    """Return the type of a field without the limits at its top, which DSPy takes with the field."""
    return _Types(schema.get("$defs", {})).of(schema, name)


class _Types:
    def __init__(self, definitions: Mapping[str, Any]) -> None:
        self._definitions = definitions
        self._made: dict[str, Any] = {}

    def of(self, schema: Mapping[str, Any], name: str) -> Any:
        if "$ref" in schema:
            return self._defined(schema["$ref"].rpartition("/")[2])
        if "const" in schema or "enum" in schema:
            return Literal[tuple(schema.get("enum", [schema.get("const")]))]
        if "anyOf" in schema:
            return Union[tuple(self._limited(part, name) for part in schema["anyOf"])]  # noqa: UP007 -- made at run time
        kinds = schema.get("type")
        if isinstance(kinds, list):
            return Union[tuple(self._one(kind, schema, name) for kind in kinds)]  # noqa: UP007 -- as above
        return Any if kinds is None else self._one(kinds, schema, name)

    def _defined(self, name: str) -> Any:
        """Return the type of a definition; inside itself it is not looked into again."""
        if name not in self._made:
            self._made[name] = Any
            self._made[name] = self.of(self._definitions.get(name, {}), name)
        return self._made[name]

    def _limited(self, schema: Any, name: str) -> Any:
        if not isinstance(schema, dict):
            return Any
        inner, limits = self.of(schema, name), limits_of(schema)
        return Annotated[inner, pydantic.Field(**limits)] if limits else inner

    def _one(self, kind: str, schema: Mapping[str, Any], name: str) -> Any:
        if kind == "array":
            return list[self._limited(schema["items"], name)] if "items" in schema else list  # type: ignore[misc]
        if kind != "object":
            return _PLAIN[kind]
        if "properties" in schema:
            return self._model(schema, name)
        values = schema.get("additionalProperties")
        if isinstance(values, dict):
            return dict[str, self._limited(values, name)]  # type: ignore[misc]
        return dict if values is None else dict[str, Any]

    def _model(self, schema: Mapping[str, Any], name: str) -> Any:
        fields: dict[str, Any] = {}
        for key, part in schema["properties"].items():
            inner = part if isinstance(part, dict) else {}
            settings = {text: inner[text] for text in ("title", "description", "default") if text in inner}
            if key not in schema.get("required", ()):
                settings.setdefault("default", None)
            fields[key] = (self.of(inner, key), pydantic.Field(**settings, **limits_of(inner)))
        others = schema.get("additionalProperties")
        title = schema.get("title", name)
        return pydantic.create_model(
            title if title.isidentifier() else "Value",
            __base__=_Object,
            __doc__=schema.get("description"),
            __cls_kwargs__={
                "extra": "ignore" if others is None else "forbid" if others is False else "allow"
            },
            **fields,
        )


class _Object(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(protected_namespaces=())

    @pydantic.model_validator(mode="before")
    @classmethod
    def _leave_out(cls, values: Any) -> Any:
        """Remove nulls of optional fields, which models often write."""
        if not isinstance(values, dict):
            return values
        optional = {
            name
            for name, field in cls.model_fields.items()
            if not field.is_required() and field.default is None
        }
        return {name: value for name, value in values.items() if value is not None or name not in optional}


class _Generator(GenerateJsonSchema):
    """Refuses types with validators, which a schema cannot express."""

    def function_after_schema(self, schema: Any) -> Any:  # noqa: ARG002 -- pydantic's signature
        raise NotExpressibleError("it has validators")

    function_before_schema = function_wrap_schema = function_plain_schema = function_after_schema


def schema_of(annotation: Any) -> dict[str, Any]:
    try:
        return pydantic.TypeAdapter(annotation).json_schema(schema_generator=_Generator)
    except (pydantic.PydanticUserError, RecursionError) as error:
        raise NotExpressibleError(str(error).partition("\n")[0]) from None
