"""Whether inputs fit a DSPy program, before the language model is asked: DSPy itself would only warn."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

from halflap.core.errors import ArgumentProblem, ProgramInputsError
from halflap.core.values import Tool
from halflap.schema import argument_problems, compile_schema, parse_schema

if TYPE_CHECKING:
    from collections.abc import Mapping

    from halflap.dspy.manifest import Manifest

__all__ = ["check_inputs"]


def check_inputs(manifest: Manifest, inputs: Mapping[str, Any]) -> dict[str, Any]:
    """Give the inputs with the defaults of all that is left out, also within them; raises all that is wrong with them."""
    schema = manifest.input_schema
    validator = compile_schema(schema)
    assert validator is not None, "what was read from a manifest is a schema"
    problems = list(argument_problems(inputs, validator))
    if not problems and not validator.is_checked(inputs):
        problems = [ArgumentProblem("", "they are too large to be checked", "", "unknown")]
    if problems:
        takes = parse_schema(Tool(manifest.name, "", manifest.name, "", schema)).format_compact()
        raise ProgramInputsError(manifest.name, problems, takes)
    defaults = {one.name: one.schema["default"] for one in manifest.inputs if "default" in one.schema}
    return {
        one.name: _filled(inputs[one.name], one.schema)
        if one.name in inputs
        else copy.deepcopy(defaults[one.name])
        for one in manifest.inputs
    }


def _filled(value: Any, schema: Mapping[str, Any], *, within: bool = False) -> Any:
    """Give what a model of pydantic's would make of a value: with the defaults of what is left out, in the order of the schema.

    What is told to the language model is then what a live module tells it.
    """
    if isinstance(value, list):
        return [_filled(one, schema.get("items", {}), within=within) for one in value]
    if not isinstance(value, dict):
        # Beside the models, DSPy is given values as they are.
        return _as_number(value, schema) if within else value
    known, further = schema.get("properties", {}), schema.get("additionalProperties")
    filled = {
        name: _filled(value[name], inner, within=True) if name in value else copy.deepcopy(inner["default"])
        for name, inner in known.items()
        if name in value or "default" in inner
    }
    others = further if isinstance(further, dict) else {}
    more = {name: _filled(one, others, within=within) for name, one in value.items() if name not in known}
    return {**filled, **more}


def _as_number(value: Any, schema: Mapping[str, Any]) -> Any:
    kinds = schema.get("type")
    if type(value) is not int or not ("number" in kinds if isinstance(kinds, list) else kinds == "number"):
        return value
    try:
        return float(value)
    except OverflowError:
        return value
