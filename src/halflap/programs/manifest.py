"""The manifest of a DSPy program: what it takes and gives, its predictors, and what is known of its making."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from halflap.programs.parts import Field, Predictor, Wiring

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["Field", "Manifest", "Predictor", "Wiring"]


@dataclass(frozen=True, slots=True)
class Manifest:
    """All that there is to know of a DSPy program besides its demos; whatever the file left out is filled in."""

    name: str
    version: str
    description: str
    dspy_version: str
    optimizer: str
    """`none`, or by what it was optimised."""
    validation_score: float | None
    serialized_at: str
    """As RFC 3339 has it, in UTC: `2026-02-28T00:00:00Z`."""
    inputs: tuple[Field, ...]
    outputs: tuple[Field, ...]
    predictors: tuple[Predictor, ...]
    """In the order in which they run."""
    wiring: Wiring

    @property
    def input_schema(self) -> dict[str, Any]:
        """The inputs, as the schema of a tool."""
        required = [one.name for one in self.inputs if "default" not in one.schema]
        return _object(self.inputs, required)

    @property
    def output_schema(self) -> dict[str, Any]:
        """The outputs, likewise."""
        return _object(self.outputs, [one.name for one in self.outputs])


def _object(fields: Iterable[Field], required: list[str]) -> dict[str, Any]:
    properties = {
        one.name: {**one.schema, **({"description": one.description} if one.description else {})}
        for one in fields
    }
    schema: dict[str, Any] = {"type": "object", "properties": properties, "additionalProperties": False}
    return {**schema, "required": required} if required else schema
