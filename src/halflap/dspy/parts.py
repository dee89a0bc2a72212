"""What a DSPy program is made of: typed fields, predictors, and which field is filled from where."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = [
    "INPUTS",
    "KINDS",
    "REASONING",
    "Field",
    "Kind",
    "Predictor",
    "Wiring",
    "outputs_of",
    "signatures_of",
]

Kind = Literal["Predict", "ChainOfThought", "ReAct"]
KINDS: tuple[Kind, ...] = ("Predict", "ChainOfThought", "ReAct")

INPUTS = "inputs"
"""What the inputs of the program count as in the wiring, beside the names of predictors."""


@dataclass(frozen=True, slots=True)
class Field:
    """One input or output."""

    name: str
    description: str = ""
    schema: Mapping[str, Any] = field(default_factory=lambda: {"type": "string"}, hash=False)
    """A small JSON Schema, of the keywords that `fields.py` lists and of no others."""


REASONING = Field("reasoning", "The model's reasoning, before it answers.")
"""What a ChainOfThought gives besides the outputs that are listed."""


@dataclass(frozen=True, slots=True)
class Predictor:
    """One step: what the language model is asked, and with which fields."""

    name: str
    kind: Kind
    instructions: str
    inputs: tuple[Field, ...]
    outputs: tuple[Field, ...]
    tools: tuple[str, ...] = ()
    """Names of the catalogue; of a ReAct alone."""
    max_iterations: int = 10
    """How often a ReAct may call a tool."""


@dataclass(frozen=True, slots=True)
class Wiring:
    """Where each field comes from: `inputs.<field>`, or `<predictor>.<field>`. Complete, whatever the file left out."""

    predictors: Mapping[str, Mapping[str, str]] = field(hash=False)
    """By predictor and by its input; one that is left to its default has none."""
    outputs: Mapping[str, str] = field(hash=False)
    """By output of the program."""

    def __post_init__(self) -> None:
        frozen = {name: MappingProxyType(dict(one)) for name, one in self.predictors.items()}
        object.__setattr__(self, "predictors", MappingProxyType(frozen))
        object.__setattr__(self, "outputs", MappingProxyType(dict(self.outputs)))


def outputs_of(predictor: Predictor) -> dict[str, Field]:
    """Give all that can be taken from a predictor, the reasoning of a ChainOfThought too."""
    implicit = (REASONING,) if predictor.kind == "ChainOfThought" else ()
    return {one.name: one for one in (*implicit, *predictor.outputs)}


def signatures_of(predictor: Predictor) -> dict[str, tuple[str, ...]]:
    """Give the names of the fields of each signature that DSPy makes of a predictor, by the key of its state.

    The order is DSPy's own, since its state has the texts of the fields by order alone.
    """
    inputs = [one.name for one in predictor.inputs]
    outputs = [one.name for one in predictor.outputs]
    match predictor.kind:
        case "Predict":
            return {predictor.name: (*inputs, *outputs)}
        case "ChainOfThought":
            return {f"{predictor.name}.predict": (*inputs, "reasoning", *outputs)}
        case "ReAct":
            steps = ("next_thought", "next_tool_name", "next_tool_args")
            return {
                f"{predictor.name}.react": (*inputs, "trajectory", *steps),
                f"{predictor.name}.extract.predict": (*inputs, "trajectory", "reasoning", *outputs),
            }
