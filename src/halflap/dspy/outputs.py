"""What a DSPy program gives, as plain JSON, and whether it is what its manifest says."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Any

import pydantic

from halflap.schema import argument_problems

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from halflap.dspy.parts import Field
    from halflap.schema import Validator

__all__ = ["outputs_of", "plain", "problems_of"]


def plain(value: Any, schema: Mapping[str, Any]) -> Any:
    """Give a value as JSON; what an answer left out, and need not have, is left out here too."""
    if isinstance(value, pydantic.BaseModel):
        value = value.model_dump(mode="json", by_alias=True)
    if isinstance(value, Enum):
        value = value.value
    if isinstance(value, dict):
        known, further = schema.get("properties", {}), schema.get("additionalProperties")
        inner = {key: known.get(key, further if isinstance(further, dict) else {}) for key in value}
        left_out = {
            key
            for key, one in value.items()
            if one is None
            and key in known
            and key not in schema.get("required", ())
            and not _takes_null(inner[key])
        }
        return {str(key): plain(one, inner[key]) for key, one in value.items() if key not in left_out}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [plain(one, schema.get("items", {})) for one in value]
    if isinstance(value, float) and value.is_integer() and _is_integer(schema):
        return int(value)
    return value


def _takes_null(schema: Mapping[str, Any]) -> bool:
    kinds = schema.get("type")
    return (
        (kinds is None and None in schema.get("enum", [None]))
        or kinds == "null"
        or (isinstance(kinds, list) and "null" in kinds)
    )


def _is_integer(schema: Mapping[str, Any]) -> bool:
    kinds = schema.get("type")
    return kinds == "integer" or (isinstance(kinds, list) and "integer" in kinds and "number" not in kinds)


def outputs_of(
    prediction: Mapping[str, Any], fields: Sequence[Field], validator: Validator | None
) -> tuple[dict[str, Any], list[str]]:
    """Give what a program gave as plain JSON, and everything of it that is not as the manifest says."""
    try:
        outputs = {field.name: plain(prediction[field.name], field.schema) for field in fields}
    except RecursionError:
        return {}, ["it is nested deeper than can be read"]
    return outputs, problems_of(outputs, validator)


def problems_of(outputs: Mapping[str, Any], validator: Validator | None) -> list[str]:
    """Say everything about the outputs that is not as the manifest says."""
    return [str(problem) for problem in argument_problems(outputs, validator)]
