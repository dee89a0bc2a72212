"""Whether inputs fit a DSPy program, before the language model is asked: DSPy itself would only warn."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

from halflap.errors import ArgumentProblem, ProgramInputsError
from halflap.schema import argument_problems, compile_schema, parse_schema
from halflap.values import Tool

if TYPE_CHECKING:
    from collections.abc import Mapping

    from halflap.programs.manifest import Manifest

__all__ = ["check_inputs"]


def check_inputs(manifest: Manifest, inputs: Mapping[str, Any]) -> dict[str, Any]:
    """Give the inputs with the defaults of those that are left out; raises all that is wrong with them."""
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
        one.name: inputs[one.name] if one.name in inputs else copy.deepcopy(defaults[one.name])
        for one in manifest.inputs
    }
