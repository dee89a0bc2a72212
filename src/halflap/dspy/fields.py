"""Fields of a DSPy program: their names, and the part of JSON Schema that types them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    PlainSerializer,
    StrictBool,
    StrictFloat,
    StrictInt,
    StrictStr,
    StringConstraints,
    WithJsonSchema,
    WrapValidator,
    model_validator,
)
from pydantic import Field as Setting
from pydantic.alias_generators import to_camel

from halflap.schema import compile_schema

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["RESERVED", "Field", "FieldName", "Identifier", "StrictModel"]

RESERVED = frozenset({
    "completions", "config", "demos", "fields", "input_fields", "instructions", "lm", "max_iters", "new_signature",
    "output_fields", "prediction", "self", "signature",
})  # fmt: skip
"""Names that DSPy uses itself. An input called `config` or `lm` would let the caller choose where the key is sent."""
_TYPES = ("string", "integer", "number", "boolean", "null", "array", "object")


class StrictModel(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, validate_by_name=True, validate_by_alias=True)


def _check_type(value: Any) -> Any:
    kinds = value if isinstance(value, list) else [value, "null"]
    if not all(isinstance(kind, str) and kind in _TYPES for kind in kinds):
        raise ValueError(f"types are {', '.join(_TYPES)}")
    if len(kinds) != 2 or "null" not in kinds:  # noqa: PLR2004
        raise ValueError('a list of types is one type and "null"')
    return value


def _check_choices(choices: list[Any]) -> list[Any]:
    if not all(choice is None or isinstance(choice, str | int) for choice in choices):
        raise ValueError("a choice is a string, an integer, true, false or null")
    return choices


def _check_field_name(name: str) -> str:
    if name in RESERVED or name.startswith("model_"):
        raise ValueError(f'"{name}" is reserved by DSPy')
    return name


Identifier = Annotated[StrictStr, StringConstraints(pattern=r"^[A-Za-z][A-Za-z0-9_]{0,63}$")]
FieldName = Annotated[Identifier, AfterValidator(_check_field_name)]
_Count = Annotated[StrictInt, Setting(ge=0)]
_TypeNames = WithJsonSchema(
    {"anyOf": [{"enum": list(_TYPES)}, {"type": "array", "items": {"enum": list(_TYPES)}}]}
)


class FieldSchema(BaseModel):
    """The type of a field: the keywords of JSON Schema that DSPy can express, and no others."""

    model_config = ConfigDict(extra="forbid", frozen=True, alias_generator=to_camel)

    type: Annotated[Any, AfterValidator(_check_type), _TypeNames] = Setting(
        default=None, description='One type, or a list of one type and "null".'
    )
    enum: Annotated[list[Any], Setting(min_length=1), AfterValidator(_check_choices)] = []
    const: Any = None
    title: StrictStr = ""
    description: StrictStr = ""
    default: Any = Setting(default=None, description="An input or property with a default may be left out.")
    min_length: _Count = 0
    max_length: _Count = 0
    minimum: StrictFloat = 0
    maximum: StrictFloat = 0
    items: FieldSchema | None = None
    min_items: _Count = 0
    max_items: _Count = 0
    properties: dict[Identifier, FieldSchema] = {}
    required: list[StrictStr] = []
    additional_properties: StrictBool | FieldSchema = True

    @model_validator(mode="after")
    def _check(self) -> FieldSchema:
        if self.model_fields_set.isdisjoint({"type", "enum", "const"}):
            raise ValueError("needs a type or an enum")
        if "default" in self.model_fields_set:
            validator = compile_schema(self.model_dump(by_alias=True, exclude_unset=True))
            if validator is not None and (problems := validator.problems(self.default)):
                raise ValueError(f"the default {self.default!r} does not fit: {problems[0]}")
        return self


def _keep(value: Any, check: Callable[[Any], Any]) -> Any:
    check(value)
    return value


if TYPE_CHECKING:
    _Schema = Mapping[str, Any]
else:
    # Kept as it was written: DSPy mentions limits in this order.
    _Schema = Annotated[FieldSchema, WrapValidator(_keep), PlainSerializer(lambda schema: schema)]


class Field(StrictModel):
    """One input or output."""

    name: FieldName
    description: StrictStr = Setting(default="", description="Shown to the model.")
    json_schema: _Schema = Setting(
        default={"type": "string"}, alias="schema", description="Its type; text if left out."
    )
