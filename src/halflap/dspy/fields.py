"""Fields of a manifest: their names, and the small part of JSON Schema that types them."""

from __future__ import annotations

import keyword
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from halflap.dspy.documents import said, within, words
from halflap.dspy.parts import Field
from halflap.schema import compile_schema

if TYPE_CHECKING:
    from collections.abc import Collection

    from halflap.dspy.documents import Problems

__all__ = [
    "NAME",
    "OF_ERRORS",
    "RESERVED",
    "check_output",
    "check_schema",
    "closed",
    "read_fields",
    "read_text",
]

NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,63}")
_NAMES = "a name of letters, digits and _, a letter first, 64 at most"

_OF_A_MODEL = frozenset({
    "construct", "copy", "dict", "from_orm", "json", "parse_file", "parse_obj", "parse_raw", "schema",
    "schema_json", "update_forward_refs", "validate",
})  # fmt: skip
"""What pydantic's models have as their own."""
RESERVED = _OF_A_MODEL | {
    "append", "append_instructions", "completions", "config", "delete", "demos", "dump_state", "equals", "fields", "input_fields", "insert",
    "instance", "instructions", "lm", "load_state", "max_iters", "new_signature", "output_fields", "prediction",
    "prepend", "self", "signature", "with_instructions", "with_updated_fields",
}  # fmt: skip
"""What DSPy takes for itself. An input `config` or `lm` would let whoever calls the program choose where the key is sent."""
_BEGINNINGS = ("model_", "dspy_")
"""With which names of pydantic's own begin, and those that DSPy hides."""

OF_ERRORS = "error"
"""What no output may be called: it is by this that clients know an answer for an error object."""

_MOST_FIELDS = 50
_LONGEST_TEXT = 10_000
_DEEPEST = 8
_MOST_OPTIONS = 200

_TYPES = ("string", "integer", "number", "boolean", "null", "array", "object")
_ANY_TYPE = ("type", "enum", "const", "title", "description", "default")
_OF_TYPE: Mapping[str, tuple[str, ...]] = {
    "string": ("minLength", "maxLength"),
    "integer": ("minimum", "maximum"),
    "number": ("minimum", "maximum"),
    "array": ("items", "minItems", "maxItems"),
    "object": ("properties", "required", "additionalProperties"),
}
_KEYWORDS = tuple(dict.fromkeys([*_ANY_TYPE, *(key for keys in _OF_TYPE.values() for key in keys)]))
_COUNTS = ("minLength", "maxLength", "minItems", "maxItems")
_LIMITS = (("minimum", "maximum"), ("minLength", "maxLength"), ("minItems", "maxItems"))
_KEYS = ("name", "description", "schema")


def read_text(
    value: Mapping[str, Any], key: str, path: str, problems: Problems, *, empty: bool = False
) -> str:
    """Give a text of an object, or note what is wrong with it; a missing one is noted by whoever needs it."""
    text = value.get(key, "")
    if not isinstance(text, str):
        problems.wrong(within(path, key), "a text", text)
        return ""
    if key in value and not text.strip() and not empty:
        problems.add(f"{within(path, key)} must not be empty.")
    if len(text) > _LONGEST_TEXT:
        problems.add(f"{within(path, key)} is longer than {_LONGEST_TEXT:,} characters.")
    return text


def read_fields(
    value: Any, path: str, problems: Problems, *, reserved: Collection[str] = (), outputs: bool = False
) -> tuple[Field, ...]:
    """Read a list of fields."""
    if not isinstance(value, list) or not value:
        problems.wrong(path, "a list of one or more fields", value)
        return ()
    if len(value) > _MOST_FIELDS:
        problems.add(f"{path} has more than {_MOST_FIELDS} fields.")
        return ()
    fields = [
        found
        for at, one in enumerate(value)
        if (found := _read_field(one, within(path, at), problems, reserved, outputs=outputs)) is not None
    ]
    seen: set[str] = set()
    for one in fields:
        if one.name in seen:
            problems.add(f'{path} has the field "{one.name}" twice.')
        seen.add(one.name)
    return tuple(fields)


def _read_field(
    value: Any, path: str, problems: Problems, reserved: Collection[str], *, outputs: bool
) -> Field | None:
    if not isinstance(value, Mapping):
        problems.wrong(path, f"an object with {', '.join(_KEYS)}", value)
        return None
    problems.keys(value, path, _KEYS, ("name",))
    name = value.get("name")
    if "name" in value:
        if outputs:
            check_output(name, within(path, "name"), problems, reserved)
        else:
            _check_name(name, within(path, "name"), problems, {*RESERVED, *reserved})
    description = read_text(value, "description", path, problems, empty=True)
    schema = value.get("schema", {"type": "string"})
    check_schema(schema, within(path, "schema"), problems)
    if outputs and isinstance(schema, Mapping) and "default" in schema:
        problems.add(f"{path}.schema.default means nothing: an output has no default.")
    if not isinstance(name, str) or not isinstance(schema, Mapping):
        return None
    return Field(name, description, schema)


def check_output(name: Any, path: str, problems: Problems, reserved: Collection[str] = ()) -> None:
    """Note why an output cannot have this name."""
    if name == OF_ERRORS:
        problems.add(f'{path}: "{name}" cannot be the name of an output: clients know an error by it.')
    else:
        _check_name(name, path, problems, {*RESERVED, *reserved})


def _check_name(name: Any, path: str, problems: Problems, reserved: Collection[str]) -> None:
    if not isinstance(name, str) or not NAME.fullmatch(name):
        problems.wrong(path, _NAMES, name)
    elif name in reserved or name.startswith(_BEGINNINGS) or keyword.iskeyword(name):
        problems.add(f'{path}: "{name}" cannot be the name of a field: DSPy or Python takes it for itself.')


def check_schema(schema: Any, path: str, problems: Problems, depth: int = 0) -> None:
    """Note everything in a schema that cannot be made a type of."""
    if not isinstance(schema, Mapping):
        problems.wrong(path, "a JSON Schema", schema)
        return
    if depth > _DEEPEST:
        problems.add(f"{path} is nested deeper than {_DEEPEST} schemas.")
        return
    before = len(problems.found)
    problems.keys(schema, path, _KEYWORDS, ())
    kinds = _read_types(schema, path, problems)
    for key in schema:
        owners = [kind for kind, keys in _OF_TYPE.items() if key in keys]
        if owners and kinds and not set(owners) & set(kinds):
            problems.add(f"{within(path, key)} is for {words(owners)}, and this is {words(kinds)}.")
    _check_choices(schema, kinds, path, problems)
    _check_limits(schema, path, problems)
    for key in ("title", "description"):
        read_text(schema, key, path, problems, empty=True)
    if "items" in schema:
        check_schema(schema["items"], within(path, "items"), problems, depth + 1)
    _check_properties(schema, path, problems, depth)
    if "default" in schema and len(problems.found) == before:
        validator = compile_schema(dict(schema))
        assert validator is not None, path
        for problem in validator.problems(schema["default"]):
            problems.add(f"{within(path, 'default')} does not fit its own schema: {problem}.")


def closed(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Give a schema by which an object has the properties that it declares and no others, unless it says so itself."""
    found = dict(schema)
    if "items" in found:
        found["items"] = closed(found["items"])
    if "properties" in found:
        found["properties"] = {name: closed(inner) for name, inner in found["properties"].items()}
        found.setdefault("additionalProperties", False)
    if isinstance(found.get("additionalProperties"), Mapping):
        found["additionalProperties"] = closed(found["additionalProperties"])
    return found


def _read_types(schema: Mapping[str, Any], path: str, problems: Problems) -> tuple[str, ...]:
    if "type" not in schema:
        if "enum" not in schema and "const" not in schema:
            problems.add(f"{path} must have a type, an enum or a const.")
        return ()
    given = schema["type"]
    kinds = given if isinstance(given, list) else [given]
    place = within(path, "type")
    if not all(isinstance(kind, str) and kind in _TYPES for kind in kinds) or not kinds:
        problems.wrong(place, words(_TYPES), next((one for one in kinds if one not in _TYPES), given))
        return ()
    if isinstance(given, list) and (len(kinds) != 2 or "null" not in kinds or len(set(kinds)) != 2):  # noqa: PLR2004
        problems.add(f'{place} must be one type, or one type and "null".')
        return ()
    return tuple(kinds)


def _check_choices(schema: Mapping[str, Any], kinds: tuple[str, ...], path: str, problems: Problems) -> None:
    if "enum" in schema and "const" in schema:
        problems.add(f"{path} has both enum and const. Keep one of them.")
    options = schema.get("enum", [])
    place = within(path, "enum")
    if not isinstance(options, list) or ("enum" in schema and not options):
        problems.wrong(place, "a list of one or more values", options)
        return
    if len(options) > _MOST_OPTIONS:
        problems.add(f"{place} has more than {_MOST_OPTIONS} values.")
        return
    places = [(within(place, at), one) for at, one in enumerate(options)]
    places += [(within(path, "const"), schema["const"])] if "const" in schema else []
    seen = set()
    for where, one in places:
        if one is not None and not isinstance(one, str | bool | int):
            problems.wrong(where, "a text, a whole number, true, false or null", one)
            continue
        if kinds and not any(_is_a(one, kind) for kind in kinds):
            problems.add(f"{where} is {said(one)}, which is not of the type {words(kinds)}.")
        if (type(one), one) in seen:
            problems.add(f"{where} is {said(one)} again.")
        seen.add((type(one), one))


def _is_a(value: Any, kind: str) -> bool:
    match value:
        case None:
            return kind == "null"
        case bool():
            return kind == "boolean"
        case int():
            return kind in {"integer", "number"}
        case _:
            return kind == "string"


def _check_limits(schema: Mapping[str, Any], path: str, problems: Problems) -> None:
    for key in ("minimum", "maximum", *_COUNTS):
        value = schema.get(key, 0)
        counts = key in _COUNTS
        if isinstance(value, bool) or not isinstance(value, int if counts else (int, float)):
            problems.wrong(within(path, key), "a whole number" if counts else "a number", value)
        elif counts and value < 0:
            problems.wrong(within(path, key), "0 or more", value)
    for least, most in _LIMITS:
        both = schema.get(least), schema.get(most)
        if all(isinstance(one, int | float) for one in both) and both[0] > both[1]:  # type: ignore[operator]
            problems.add(f"{within(path, least)} is greater than {most}: nothing would fit.")


def _check_properties(schema: Mapping[str, Any], path: str, problems: Problems, depth: int) -> None:
    properties = schema.get("properties", {})
    place = within(path, "properties")
    if not isinstance(properties, Mapping):
        problems.wrong(place, "an object of schemas", properties)
        return
    if len(properties) > _MOST_FIELDS:
        problems.add(f"{place} has more than {_MOST_FIELDS} members.")
        return
    for name, inner in properties.items():
        _check_name(name, within(place, name), problems, _OF_A_MODEL)
        check_schema(inner, within(place, name), problems, depth + 1)
    required = schema.get("required", [])
    if not isinstance(required, list) or not all(isinstance(one, str) for one in required):
        problems.wrong(within(path, "required"), "a list of names", required)
    else:
        for at, name in enumerate(required):
            if name not in properties or name in required[:at]:
                problems.add(
                    f"{within(within(path, 'required'), at)}: {said(name)} is no property, or named twice."
                )
    more = schema.get("additionalProperties", True)
    if not isinstance(more, bool):
        check_schema(more, within(path, "additionalProperties"), problems, depth + 1)
