"""What was learned of one tool: shapes of its structured results, its plain texts and its errors."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, Literal

from halflap.core.errors import ShapeBrokenError
from halflap.learn.codec import from_json, to_json
from halflap.learn.merge import merge
from halflap.learn.names import TAG_KEYS, is_tag_value
from halflap.learn.shape import NOTHING, Key, Place, Record, Shape

__all__ = ["OUTCOMES", "Learned", "Outcome", "outcome_of"]

Outcome = Literal["structured", "text", "error"]
OUTCOMES: tuple[Outcome, ...] = ("structured", "text", "error")


def outcome_of(value: Any, *, is_error: bool) -> Outcome:
    """Classify a result by its unwrapped value."""
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
        """Results of any kind."""
        return self.structured.observations + self.text.observations + self.error.observations

    @property
    def has_values(self) -> bool:
        """Whether it has values that are kept with `learning.values` only."""
        return self != self.without_values()

    def without_values(self) -> Learned:
        """Return it as it would have been learned without `learning.values`."""
        shapes = (self.structured, self.text, self.error)
        return Learned(*(replace(shape, root=_without_values(shape.root)) for shape in shapes))

    def to_json(self) -> dict[str, Any]:
        shapes = {outcome: getattr(self, outcome) for outcome in OUTCOMES}
        return {outcome: to_json(shape) for outcome, shape in shapes.items() if shape != NOTHING}

    @classmethod
    def from_json(cls, data: Any) -> Learned:
        if not isinstance(data, dict):
            raise ShapeBrokenError("This is not what was learned of a tool: it is not an object.")
        if not data.keys() <= set(OUTCOMES):
            raise ShapeBrokenError(
                f"What was learned of a tool has no other keys than {', '.join(OUTCOMES)}."
            )
        return cls(**{outcome: from_json(data[outcome], outcome) for outcome in OUTCOMES if outcome in data})


def _without_values(place: Place, name: str | None = None) -> Place:
    """Keep no values but the words and booleans under tag keys."""
    is_kept = not place.values or (name in TAG_KEYS and all(map(is_tag_value, place.values)))
    return replace(
        place,
        values=place.values if is_kept else None,
        items=None if place.items is None else _without_values(place.items),
        records={tag: _record(record) for tag, record in place.records.items()},
    )


def _record(record: Record) -> Record:
    keys = {name: Key(_without_values(key.place, name), key.missing) for name, key in record.keys.items()}
    return replace(record, keys=keys, rest=None if record.rest is None else _without_values(record.rest))
