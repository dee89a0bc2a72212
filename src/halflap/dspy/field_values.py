"""Values of fields: inputs that are checked and completed, outputs that become plain JSON."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel

from halflap.core.errors import ArgumentProblem, ProgramInputsError
from halflap.core.values import Tool
from halflap.schema import argument_problems, parse_schema

if TYPE_CHECKING:
    from collections.abc import Mapping

    from halflap.dspy.spec import Manifest

__all__ = ["check_inputs", "plain"]

_MAX_FLOAT = 2**1000
_NOTHING = ("null", "None")


def check_inputs(manifest: Manifest, inputs: Mapping[str, Any]) -> dict[str, Any]:
    """Return the inputs with every default filled in; raise everything that is wrong with them.

    DSPy would only warn, and ask the model anyway.
    """
    validator = manifest.input_validator
    problems = list(argument_problems(inputs, validator))
    if validator is not None and not problems and not validator.is_checked(inputs):
        problems = [ArgumentProblem("", "they are too large to be checked", "", "unknown")]
    if problems:
        takes = parse_schema(
            Tool(manifest.name, "", manifest.name, "", manifest.input_schema)
        ).format_compact()
        raise ProgramInputsError(manifest.name, problems, takes)
    return {
        field.name: _filled(inputs[field.name], field.json_schema)
        if field.name in inputs
        else copy.deepcopy(field.json_schema["default"])
        for field in manifest.inputs
    }


def _filled(value: Any, schema: Mapping[str, Any], *, inside: bool = False) -> Any:
    """Return what a pydantic model would make of a value, so that a saved program asks what its live module asks."""
    if isinstance(value, list):
        return [_filled(one, schema.get("items", {}), inside=inside) for one in value]
    if isinstance(value, dict):
        known, more = schema.get("properties", {}), schema.get("additionalProperties")
        filled = {
            name: _filled(value[name], inner, inside=True)
            if name in value
            else copy.deepcopy(inner["default"])
            for name, inner in known.items()
            if name in value or "default" in inner
        }
        others = more if isinstance(more, dict) else {}
        rest = {name: _filled(one, others, inside=inside) for name, one in value.items() if name not in known}
        return {**filled, **rest}
    if inside and type(value) is int and "number" in _types(schema) and abs(value) < _MAX_FLOAT:
        return float(value)
    return value


def plain(value: Any, schema: Mapping[str, Any]) -> Any:
    """Return an output as JSON; optional properties that the model left out are left out here, too."""
    if isinstance(value, BaseModel):
        value = value.model_dump(mode="json", by_alias=True)
    if isinstance(value, dict):
        known, more = schema.get("properties", {}), schema.get("additionalProperties")
        return {
            str(name): plain(one, known.get(name, more if isinstance(more, dict) else {}))
            for name, one in value.items()
            if not (
                one is None
                and name in known
                and name not in schema.get("required", ())
                and _no_null(known[name])
            )
        }
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(one, schema.get("items", {})) for one in value]
    if isinstance(value, float) and value.is_integer() and "integer" in _types(schema):
        return int(value)
    # In DSPy's chat form every text is text, also one that means nothing.
    return None if value in _NOTHING and {"string", "null"} <= {*_types(schema)} else value


def _types(schema: Mapping[str, Any]) -> list[str]:
    kinds = schema.get("type", [])
    return kinds if isinstance(kinds, list) else [kinds]


def _no_null(schema: Mapping[str, Any]) -> bool:
    return "null" not in _types(schema) and None not in schema.get("enum", [])
