"""What a tool returns, from its type: the JSON Schema that it declares, and its values as JSON."""

from __future__ import annotations

import json
import typing
from contextlib import contextmanager
from enum import Flag
from typing import TYPE_CHECKING, Any, get_args, get_origin

from pydantic import PydanticUserError, TypeAdapter
from pydantic.json_schema import GenerateJsonSchema

from halflap.contract.envelope import ErrorCode, ToolResponse
from halflap.contract.readable import readable
from halflap.contract.relations import KEYWORD, sentence
from halflap.contract.structs import (
    has_struct,
    place_of_struct,
    standing_in,
    struct_schemas,
    struct_to_json,
)
from halflap.contract.written import DURATION, TIME, WRITTEN

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

__all__ = [
    "DIALECT",
    "adapter",
    "data_type",
    "encoder_of",
    "envelope_schema",
    "leaves_open",
    "marked",
    "output_schema",
    "told_of",
    "unwritten_of",
]

DIALECT = "https://json-schema.org/draft/2020-12/schema"
_REFERENCE = "#/$defs/"
_SEVERAL = {"tuple", "list", "set", "frozenset"}
_SUCCESS = {"description": "Whether the operation succeeded"}
_DUMPED: dict[str, Any] = {"mode": "json", "by_alias": True, "warnings": "none"}
_METADATA: dict[str, Any] = {
    "type": "object",
    "required": ["execution_time_ms", "source", "cached"],
    "properties": {
        "execution_time_ms": {
            "type": "integer",
            "minimum": 0,
            "description": "How long the tool took. Unit: milliseconds.",
            KEYWORD: {"unit": "milliseconds"},
        },
        "source": {"type": "string", "description": "Where the data come from"},
        "cached": {"type": "boolean", "description": "Whether they were kept from an earlier call"},
    },
}


class _Generator(GenerateJsonSchema):
    """pydantic's, with what is always written being required, and without titles that only repeat names."""

    def field_is_required(self, field: Any, total: bool) -> bool:
        if field["type"] == "typed-dict-field" or self.mode != "serialization":
            return super().field_is_required(field, total)
        return not field.get("serialization_exclude") and field.get("serialization_exclude_if") is None

    def field_is_present(self, field: Any) -> bool:
        # What a dataclass takes only to be made is in none.
        return super().field_is_present(field) and not (
            self.mode == "serialization" and field.get("init_only", False)
        )

    def enum_schema(self, schema: Any) -> Any:
        if issubclass(schema["cls"], Flag):
            # Several of them together are one, too.
            return {"type": "integer"}
        return super().enum_schema(schema)

    def field_title_should_be_set(self, schema: Any) -> bool:
        del schema
        return False

    def time_schema(self, schema: Any) -> Any:
        return self._in_words(super().time_schema(schema), "time", TIME)

    def timedelta_schema(self, schema: Any) -> Any:
        return self._in_words(super().timedelta_schema(schema), "duration", DURATION)

    @staticmethod
    def _in_words(schema: dict[str, Any], form: str, told: str) -> dict[str, Any]:
        return {"type": "string", WRITTEN: told} if schema.get("format") == form else schema


def output_schema(kind: Any, *, codes: Iterable[str] = tuple(ErrorCode)) -> dict[str, Any]:
    """Give the JSON Schema (2020-12) of what a tool returns.

    Of `ToolResponse[T]` it is the choice between success and error, told apart by `success`; `codes` are the error
    codes that there are. Of any other type, be it a dataclass, a TypedDict, one of pydantic's or of msgspec's, it is
    the schema of that.
    """
    if (get_origin(kind) or kind) is not ToolResponse:
        return {"$schema": DIALECT, **_schema_of(kind)}
    return envelope_schema(_schema_of(data_type(kind)), codes)


def data_type(kind: Any) -> Any:
    """Give T of ToolResponse[T], or of T itself."""
    if (get_origin(kind) or kind) is not ToolResponse:
        return kind
    given = get_args(kind)
    if len(given) != 1 or isinstance(given[0], typing.TypeVar):
        raise TypeError(
            "ToolResponse needs the type of its data: write ToolResponse[Customer], not ToolResponse."
        )
    return given[0]


def envelope_schema(data: Mapping[str, Any], codes: Iterable[str]) -> dict[str, Any]:
    """Put the schema of the data into the envelope's."""
    inner = {key: value for key, value in data.items() if key not in {"$defs", "$schema"}}
    inner.setdefault("description", "Tool-specific response data")
    error = {
        "type": "object",
        "description": "Present only when success is false",
        "required": ["code", "message"],
        "properties": {
            "code": {"type": "string", "enum": [str(one) for one in codes], "description": "What went wrong"},
            "message": {"type": "string", "description": "What was wrong, and what to do"},
            "details": {"type": "object", "description": "More about it, for programs"},
            "retry_after_seconds": {
                "type": "integer",
                "minimum": 0,
                "description": "Present for RATE_LIMITED errors. Unit: seconds.",
                KEYWORD: {"unit": "seconds"},
            },
        },
        "if": {"properties": {"code": {"const": str(ErrorCode.RATE_LIMITED)}}, "required": ["code"]},
        "then": {"required": ["retry_after_seconds"]},
        "else": {"not": {"required": ["retry_after_seconds"]}},
    }
    schema: dict[str, Any] = {
        "$schema": DIALECT,
        "type": "object",
        "oneOf": [
            {
                "type": "object",
                "required": ["success", "data", "metadata"],
                "properties": {"success": {"const": True, **_SUCCESS}, "data": inner, "metadata": _METADATA},
                "not": {"required": ["error"]},
            },
            {
                "type": "object",
                "required": ["success", "metadata", "error"],
                "properties": {
                    "success": {"const": False, **_SUCCESS},
                    "metadata": _METADATA,
                    "error": error,
                },
                "not": {"required": ["data"]},
            },
        ],
    }
    return schema | ({"$defs": data["$defs"]} if data.get("$defs") else {})


def encoder_of(kind: Any) -> Callable[[Any], Any]:
    """Give what makes JSON of values of a type."""
    dump = adapter(kind).dump_python
    return lambda value: dump(value, fallback=struct_to_json, **_DUMPED)


def unwritten_of(kind: Any) -> Callable[[Any], Any]:
    """Give what has values of a type as Python has them, in the form in which they are written."""
    dump = adapter(kind).dump_python
    return lambda value: dump(value, by_alias=True, warnings="none")


def leaves_open(kind: Any, schema: Mapping[str, Any]) -> bool:
    """Say whether a type leaves open what is in it, somewhere."""
    # Structs, too: what msgspec gives back is written by pydantic as what has no type.
    data = {"data": schema["oneOf"][0]["properties"]["data"], **schema.get("$defs", {})}
    return has_struct(kind) or any(_is_open(part) for part in _parts({"$defs": data}))


def _is_open(schema: Any) -> bool:
    """Say whether a schema leaves open what is there: Any, a dict or a list of anything, a model that takes more."""
    if not isinstance(schema, dict):
        return schema is True
    if schema.get("additionalProperties") is True or schema.get("items") in ({}, True):
        return True
    kind = schema.get("type")
    if kind == "object":
        return not any(key in schema for key in ("properties", "additionalProperties", "patternProperties"))
    if kind == "array":
        return not any(key in schema for key in ("items", "prefixItems"))
    says = {"$ref", "anyOf", "oneOf", "allOf", "enum", "const", "properties", "$defs"}
    return kind is None and not says & set(schema)


def _schema_of(kind: Any) -> dict[str, Any]:
    schema = _generated(kind)
    schema = marked(_with_root(schema), leave_out="consumes")
    for part in _parts(schema):
        # What is left out of a value that is made does not matter to whoever gets it whole.
        part.pop("default", None)
        if "propertyNames" in part:
            part["propertyNames"] = _names(part["propertyNames"], schema.get("$defs", {}))
        written = part.pop(WRITTEN, None)
        if written is not None:
            part["description"] = _sentences(part.get("description", ""), written)
    for name, part in {"": schema, **schema.get("$defs", {})}.items():
        own = part.get("title")
        if isinstance(own, str) and (own == name or not name):
            part.pop("title")
    return schema


def _names(told: Any, defined: Mapping[str, Any]) -> Any:
    """Say what keys of a map there may be: whatever they are in Python, in JSON they are texts."""
    whole = defined.get(str(told.get("$ref", "")).removeprefix(_REFERENCE), told)
    if "enum" not in whole:
        return told if whole.get("type", "string") == "string" else {"type": "string"}
    return {"enum": [one if isinstance(one, str) else json.dumps(one) for one in whole["enum"]]}


def marked(schema: dict[str, Any], *, leave_out: str) -> dict[str, Any]:
    """Tell in descriptions what a schema has under our keyword; one of the two directions is of no use there."""
    for part in list(_parts(schema)):
        _tell(part, leave_out)
    return schema


def _tell(schema: dict[str, Any], leave_out: str) -> None:
    said = schema.get(KEYWORD)
    if not isinstance(said, dict):
        return
    said = {key: value for key, value in said.items() if key != leave_out}
    if not said:
        del schema[KEYWORD]
        return
    schema[KEYWORD] = said
    schema["description"] = _sentences(schema.get("description", ""), sentence(said))


def _sentences(text: str, told: str) -> str:
    text = text.strip()
    return text if told in text else f"{text}{'' if not text or text[-1] in '.!?:' else '.'} {told}".strip()


def _generated(kind: Any) -> dict[str, Any]:
    found: list[Any] = []
    reader = adapter(kind, found)
    with told_of(kind):
        _check_keys(reader.core_schema)
        schema = reader.json_schema(by_alias=True, mode="serialization", schema_generator=_Generator)
        return _with_structs(schema, found) if found else schema


def _check_keys(core: Any) -> None:
    """Refuse maps whose keys are made of several values: written as texts, two of them can be the same."""
    if isinstance(core, list):
        for one in core:
            _check_keys(one)
    if not isinstance(core, dict):
        return
    if core.get("type") == "dict" and core.get("keys_schema", {}).get("type") in _SEVERAL:
        raise TypeError(
            "It has a map whose keys are made of several values, and JSON has only texts for keys."
        )
    for key, inner in core.items():
        if key != "metadata":
            _check_keys(inner)


def _with_structs(schema: dict[str, Any], found: list[Any]) -> dict[str, Any]:
    """Put the schemas of msgspec's types where pydantic has left them a place."""
    schemas, defined = struct_schemas(found, schema.get("$defs", {}))
    for part in list(_parts(schema)):
        place = place_of_struct(part)
        if place is not None:
            own = dict(part)
            part.update({**schemas[place], **own})
    return {**schema, "$defs": {**schema.get("$defs", {}), **defined}}


def adapter(kind: Any, found: list[Any] | None = None) -> TypeAdapter[Any]:
    """Give what pydantic makes of a type."""
    with told_of(kind):
        return TypeAdapter(readable(standing_in(kind, [] if found is None else found)))


@contextmanager
def told_of(kind: Any, where: str = "") -> Iterator[None]:
    """Say of a type that has no schema what to use instead."""
    try:
        yield
    except (PydanticUserError, NameError, TypeError) as error:
        name = getattr(kind, "__name__", None) or str(kind)
        reason = str(error).partition("\n")[0]
        if "arbitrary_types_allowed" in str(error) or reason.endswith(":"):
            reason = f"{reason.partition('. Set ')[0].rstrip(':.')}."
            reason += (
                " A Struct of msgspec may stand by itself, in lists, maps, unions and pages, and in other Structs; not in "
                "dataclasses and models, nor these in it."
            )
        # What comes in is read by pydantic, which does not make Structs.
        models = "or a model of pydantic" if where else "a model of pydantic or a Struct of msgspec"
        raise TypeError(
            f"{where}There is no JSON Schema of {name}: {reason} Use a dataclass, a TypedDict (below Python 3.12 that of "
            f"typing_extensions), {models}, made of such and of plain types."
        ) from error


def _with_root(schema: dict[str, Any]) -> dict[str, Any]:
    """Write a root that is only a reference out: a root has to be an object to be told for one."""
    reference = schema.get("$ref")
    if not isinstance(reference, str) or not reference.startswith(_REFERENCE):
        return dict(schema)
    defined = schema["$defs"]
    name = reference.removeprefix(_REFERENCE)
    rest = {key: value for key, value in schema.items() if key != "$ref"}
    used = any(part.get("$ref") == reference for part in _parts({"$defs": defined}))
    if not used:
        rest["$defs"] = {key: value for key, value in defined.items() if key != name}
    return {**defined[name], **{key: value for key, value in rest.items() if value != {}}}


def _parts(schema: Any) -> Iterator[dict[str, Any]]:
    """Give a schema and all schemas in it."""
    if not isinstance(schema, dict):
        return
    yield schema
    for key in ("properties", "patternProperties", "$defs"):
        for part in schema.get(key, {}).values():
            yield from _parts(part)
    for key in ("items", "additionalProperties", "contains", "propertyNames"):
        yield from _parts(schema.get(key))
    for key in ("anyOf", "oneOf", "allOf", "prefixItems"):
        for part in schema.get(key, ()):
            yield from _parts(part)
