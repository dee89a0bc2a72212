"""JSON Schema and JSON values for the types that tools return."""

from __future__ import annotations

import ast
import inspect
import textwrap
import typing
from collections.abc import Iterable
from itertools import pairwise
from typing import Any, get_args, get_origin

from pydantic import TypeAdapter
from pydantic.json_schema import GenerateJsonSchema

from halflap.contract.envelope import ErrorCode, ToolResponse, envelope_schema
from halflap.contract.relations import Linker, subschemas

DIALECT = "https://json-schema.org/draft/2020-12/schema"
_DEFINITIONS = "#/$defs/"


class _Generator(GenerateJsonSchema):
    """pydantic's generator, where fields that are always written are required and attribute docstrings count."""

    def field_is_required(self, field: Any, total: bool) -> bool:
        if field["type"] == "typed-dict-field" or self.mode != "serialization":
            return super().field_is_required(field, total)
        return not field.get("serialization_exclude") and field.get("serialization_exclude_if") is None

    def field_title_should_be_set(self, schema: Any) -> bool:
        del schema
        return False

    def time_schema(self, schema: Any) -> Any:
        # The format `time` requires an offset, which most times do not have.
        del schema
        return {"type": "string", "description": "ISO 8601 time, such as 08:30:00"}

    def timedelta_schema(self, schema: Any) -> Any:
        # The format `duration` allows neither fractions of a second nor negative durations.
        del schema
        return {"type": "string", "description": "ISO 8601 duration, such as PT1.5S"}

    def dataclass_schema(self, schema: Any) -> Any:
        return _with_docstrings(super().dataclass_schema(schema), schema["cls"])

    def model_schema(self, schema: Any) -> Any:
        return _with_docstrings(super().model_schema(schema), schema["cls"])

    def typed_dict_schema(self, schema: Any) -> Any:
        made = super().typed_dict_schema(schema)
        return _with_docstrings(made, schema["cls"]) if "cls" in schema else made


def _with_docstrings(schema: Any, kind: type) -> Any:
    for name, text in _attribute_docstrings(kind).items():
        field = schema.get("properties", {}).get(name)
        if isinstance(field, dict):
            field.setdefault("description", text)
    return schema


def _attribute_docstrings(kind: type) -> dict[str, str]:
    """Return the string literals that follow the fields of a class and its bases."""
    found: dict[str, str] = {}
    for base in reversed(inspect.getmro(kind)):
        if base.__module__ in {"builtins", "typing", "pydantic.main"}:
            continue
        try:
            tree = ast.parse(textwrap.dedent(inspect.getsource(base)))
        except (OSError, TypeError, SyntaxError):
            continue  # defined at a prompt, or generated
        body = getattr(tree.body[0], "body", []) if tree.body else []
        for field, text in pairwise(body):
            if (
                isinstance(field, ast.AnnAssign)
                and isinstance(field.target, ast.Name)
                and isinstance(text, ast.Expr)
                and isinstance(text.value, ast.Constant)
                and isinstance(text.value.value, str)
            ):
                found[field.target.id] = inspect.cleandoc(text.value.value)
    return found


def output_schema(kind: Any, *, codes: Iterable[str] = tuple(ErrorCode)) -> dict[str, Any]:
    """Return the JSON Schema (2020-12) of a dataclass, TypedDict, pydantic model or any other type.

    For `ToolResponse[T]` it is the choice between success and error, told apart by `success`, with these error codes.
    """
    schema = raw_output_schema(data_type(kind))
    if (get_origin(kind) or kind) is ToolResponse:
        schema = envelope_schema(schema, codes)
    Linker().add("", takes={}, returns=schema)
    return {"$schema": DIALECT, **schema}


def data_type(kind: Any) -> Any:
    """Return T for `ToolResponse[T]`, and any other type unchanged."""
    if (get_origin(kind) or kind) is not ToolResponse:
        return kind
    given = get_args(kind)
    if len(given) != 1 or isinstance(given[0], typing.TypeVar):
        raise TypeError("ToolResponse needs the type of its data: write ToolResponse[Customer].")
    return given[0]


def raw_output_schema(kind: Any) -> dict[str, Any]:
    """Return the schema of a type, with units and relations as keywords only."""
    schema = _inlined_root(TypeAdapter(kind).json_schema(mode="serialization", schema_generator=_Generator))
    for part in subschemas(schema):
        part.pop("default", None)  # matters for constructing a value, not for reading one
        part.pop("propertyNames", None)  # pydantic lists Python values there, and JSON keys are strings
    for part in (schema, *schema.get("$defs", {}).values()):
        part.pop("title", None)
    return schema


def _inlined_root(schema: dict[str, Any]) -> dict[str, Any]:
    """Replace a root that only refers to a definition (a recursive type) by that definition."""
    reference = schema.get("$ref")
    if not isinstance(reference, str):
        return dict(schema)
    rest = {key: value for key, value in schema.items() if key != "$ref"}
    return {**schema["$defs"][reference.removeprefix(_DEFINITIONS)], **rest}
