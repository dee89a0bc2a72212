"""Fields of a manifest: their names, and the small part of JSON Schema that types them."""

from __future__ import annotations

import keyword
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    PlainSerializer,
    StrictBool,
    StrictFloat,
    StrictInt,
    StrictStr,
    StringConstraints,
    WrapValidator,
    model_validator,
)
from pydantic.alias_generators import to_camel

from halflap.schema import compile_schema

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["RESERVED", "FieldName", "FieldSchema", "Schema", "Text", "closed"]

_MAX_FIELDS = 50
_MAX_CHOICES = 200
_OF_PYDANTIC = frozenset({
    "construct", "copy", "dict", "from_orm", "json", "parse_file", "parse_obj", "parse_raw", "schema",
    "schema_json", "update_forward_refs", "validate",
})  # fmt: skip
RESERVED = _OF_PYDANTIC | {
    "append", "append_instructions", "completions", "config", "delete", "demos", "dump_state", "equals", "fields",
    "input_fields", "insert", "instance", "instructions", "lm", "load_state", "max_iters", "new_signature",
    "output_fields", "prediction", "prepend", "self", "signature", "with_instructions", "with_updated_fields",
}  # fmt: skip
"""Names that DSPy uses itself. An input called `config` or `lm` would let the caller choose where the key is sent."""


def _check_name(name: str, reserved: frozenset[str] = frozenset()) -> str:
    if name in reserved or name.startswith(("model_", "dspy_")) or keyword.iskeyword(name):
        raise ValueError(f'"{name}" is reserved by DSPy or Python')
    return name


Text = Annotated[StrictStr, StringConstraints(max_length=10_000)]
_Name = Annotated[StrictStr, StringConstraints(pattern=r"^[A-Za-z][A-Za-z0-9_]{0,63}$")]
FieldName = Annotated[_Name, AfterValidator(lambda name: _check_name(name, RESERVED))]
_PropertyName = Annotated[_Name, AfterValidator(lambda name: _check_name(name, _OF_PYDANTIC))]
_TypeName = Literal["string", "integer", "number", "boolean", "null", "array", "object"]
_Choice = StrictStr | StrictBool | StrictInt | None
_Number = StrictFloat
_Count = Annotated[StrictInt, Field(ge=0)]
_KEYWORDS: Mapping[str, frozenset[str]] = {
    "min_length": frozenset({"string"}),
    "max_length": frozenset({"string"}),
    "minimum": frozenset({"integer", "number"}),
    "maximum": frozenset({"integer", "number"}),
    "items": frozenset({"array"}),
    "min_items": frozenset({"array"}),
    "max_items": frozenset({"array"}),
    "properties": frozenset({"object"}),
    "required": frozenset({"object"}),
    "additional_properties": frozenset({"object"}),
}


class FieldSchema(BaseModel):
    """The type of a field: the keywords of JSON Schema that DSPy can express, and no others."""

    model_config = ConfigDict(extra="forbid", frozen=True, alias_generator=to_camel)

    type: _TypeName | Annotated[list[_TypeName], Field(min_length=2, max_length=2)] | None = Field(
        default=None, description='One type, or a list of one type and "null".'
    )
    enum: list[_Choice] | None = Field(default=None, min_length=1, max_length=_MAX_CHOICES)
    const: _Choice = None
    title: Text = ""
    description: Text = ""
    default: Any = Field(default=None, description="An input or property with a default may be left out.")
    min_length: _Count = 0
    max_length: _Count | None = None
    minimum: _Number | None = None
    maximum: _Number | None = None
    items: FieldSchema | None = None
    min_items: _Count = 0
    max_items: _Count | None = None
    properties: dict[_PropertyName, FieldSchema] = Field(default={}, max_length=_MAX_FIELDS)
    required: list[StrictStr] = []
    additional_properties: StrictBool | FieldSchema = True

    @model_validator(mode="after")
    def _check(self) -> FieldSchema:
        given, kinds = self.model_fields_set, self.types
        if given.isdisjoint({"type", "enum", "const"}) or {"enum", "const"} <= given:
            raise ValueError("needs a type, or either enum or const")
        if isinstance(self.type, list) and (self.type.count("null") != 1):
            raise ValueError('a list of types is one type and "null"')
        for name in given & _KEYWORDS.keys():
            if kinds and not _KEYWORDS[name] & kinds:
                raise ValueError(f"{to_camel(name)} does not apply to {' or '.join(sorted(kinds))}")
        for least, most in (("min_length", "max_length"), ("minimum", "maximum"), ("min_items", "max_items")):
            if {least, most} <= given and getattr(self, least) > getattr(self, most):
                raise ValueError(f"{to_camel(least)} is greater than {to_camel(most)}")
        unknown = [name for name in self.required if name not in self.properties]
        if unknown or len(set(self.required)) < len(self.required):
            raise ValueError("required must name properties, each once")
        self._check_values()
        return self

    def _check_values(self) -> None:
        """Raise if a choice has another type, or the default does not fit."""
        schema = self.model_dump(by_alias=True, exclude_unset=True)
        choices = schema.pop("enum", [schema["const"]] if "const" in schema else [])
        default = schema.pop("default", None)
        if len({(type(one), one) for one in choices}) < len(choices):
            raise ValueError("a choice is listed twice")
        for what, values in (("choice", choices), ("default", [default])):
            if what == "default" and "default" not in self.model_fields_set:
                continue
            validator = compile_schema(
                {**schema, "enum": choices} if what == "default" and choices else schema
            )
            for value in values:
                if validator is not None and (wrong := validator.problems(value)):
                    raise ValueError(f"the {what} {value!r} does not fit: {wrong[0]}")

    @property
    def types(self) -> frozenset[str]:
        return frozenset(self.type if isinstance(self.type, list) else [self.type] if self.type else [])


def _keep(value: Any, check: Callable[[Any], Any]) -> Any:
    check(value)
    return value


if TYPE_CHECKING:
    Schema = Mapping[str, Any]
else:
    # Kept as it was written: DSPy mentions limits in this order.
    Schema = Annotated[FieldSchema, WrapValidator(_keep), PlainSerializer(lambda schema: schema)]


def closed(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return a schema whose objects take no undeclared properties, unless it says that they do."""
    found = dict(schema)
    if "items" in found:
        found["items"] = closed(found["items"])
    if "properties" in found:
        found["properties"] = {name: closed(inner) for name, inner in found["properties"].items()}
        found.setdefault("additionalProperties", False)
    if isinstance(found.get("additionalProperties"), dict):
        found["additionalProperties"] = closed(found["additionalProperties"])
    return found
