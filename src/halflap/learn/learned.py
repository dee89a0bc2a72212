"""What is known of one tool: successful structured results, plain text and errors, each apart."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from halflap.core.errors import ShapeBrokenError
from halflap.learn.codec import from_json, to_json
from halflap.learn.merge import merge
from halflap.learn.shape import NOTHING, Shape
from halflap.learn.unvalued import has_values, without_values

__all__ = ["OUTCOMES", "Learned", "Outcome", "outcome_of"]

Outcome = Literal["structured", "text", "error"]
OUTCOMES: tuple[Outcome, ...] = ("structured", "text", "error")


def outcome_of(value: Any, *, is_error: bool) -> Outcome:
    """Say what kind of outcome a result is, by its value once unwrapped."""
    if is_error:
        return "error"
    return "text" if isinstance(value, str) else "structured"


@dataclass(frozen=True, slots=True)
class Learned:
    """The shapes of a tool's outcomes."""

    structured: Shape = field(default=NOTHING)
    text: Shape = field(default=NOTHING)
    error: Shape = field(default=NOTHING)

    @classmethod
    def of(cls, outcome: Outcome, shape: Shape) -> Learned:
        return cls(**{outcome: shape})

    def merge(self, other: Learned) -> Learned:
        return Learned(
            merge(self.structured, other.structured),
            merge(self.text, other.text),
            merge(self.error, other.error),
        )

    @property
    def observations(self) -> int:
        """How many results it rests on, of any kind."""
        return self.structured.observations + self.text.observations + self.error.observations

    @property
    def has_values(self) -> bool:
        """Whether there are values in it that are kept with `learning.values` alone."""
        return has_values(self.structured) or has_values(self.text) or has_values(self.error)

    def without_values(self) -> Learned:
        """Give it as it would have been learned without them."""
        return Learned(*map(without_values, (self.structured, self.text, self.error)))

    def to_json(self) -> dict[str, Any]:
        shapes = {outcome: getattr(self, outcome) for outcome in OUTCOMES}
        return {outcome: to_json(shape) for outcome, shape in shapes.items() if shape != NOTHING}

    @classmethod
    def from_json(cls, data: Any) -> Learned:
        if not isinstance(data, dict):
            raise ShapeBrokenError("Not what was learned of a tool: it is no object.")
        if not data.keys() <= set(OUTCOMES):
            raise ShapeBrokenError(f"There are no outcomes but {', '.join(OUTCOMES)}.")
        return cls(**{outcome: from_json(data[outcome], outcome) for outcome in OUTCOMES if outcome in data})
