"""What was learned of one tool: shapes of its structured results, its plain texts and its errors."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field, replace
from typing import Any, Generic, Literal, TypeVar

from halflap.core.errors import ShapeError
from halflap.learn.codec import from_json, to_json
from halflap.learn.infer import Observer
from halflap.learn.merge import merge, with_inner
from halflap.learn.names import TAG_KEYS, is_tag_value
from halflap.learn.shape import NOTHING, Place, Shape

Outcome = Literal["structured", "text", "error"]
OUTCOMES: tuple[Outcome, ...] = ("structured", "text", "error")
_K = TypeVar("_K")
_AT_ONCE = 1_000
"""Results of a tool observed together. Half as many take a tenth longer."""
_LARGE = 65_536
"""A result of this many bytes is observed immediately, while it is in the processor's caches."""


@dataclass(frozen=True, slots=True)
class Learned:
    """The shapes of a tool's outcomes."""

    structured: Shape = field(default=NOTHING)
    text: Shape = field(default=NOTHING)
    error: Shape = field(default=NOTHING)

    def merge(self, other: Learned) -> Learned:
        return Learned(*(merge(getattr(self, one), getattr(other, one)) for one in OUTCOMES))

    @property
    def observations(self) -> int:
        """Results of any kind."""
        return self.structured.observations + self.text.observations + self.error.observations

    @property
    def has_values(self) -> bool:
        """Whether it has values that are stored only with `learning.values`."""
        return self != self.without_values()

    def without_values(self) -> Learned:
        """Return what would have been learned without `learning.values`."""
        shapes = (self.structured, self.text, self.error)
        return Learned(*(replace(shape, root=_without_values(shape.root)) for shape in shapes))

    def to_json(self) -> dict[str, Any]:
        shapes = {outcome: getattr(self, outcome) for outcome in OUTCOMES}
        return {outcome: to_json(shape) for outcome, shape in shapes.items() if shape != NOTHING}

    @classmethod
    def from_json(cls, data: Any) -> Learned:
        if not isinstance(data, dict) or not data.keys() <= set(OUTCOMES):
            raise ShapeError(f"What was learned of a tool is an object with {', '.join(OUTCOMES)}.")
        return cls(**{outcome: from_json(data[outcome], outcome) for outcome in OUTCOMES if outcome in data})


def _without_values(place: Place, name: str | None = None) -> Place:
    """Remove all values except the words and booleans under tag keys."""
    is_kept = not place.values or (name in TAG_KEYS and all(map(is_tag_value, place.values)))
    return replace(with_inner(place, _without_values), values=place.values if is_kept else None)


class Observations(Generic[_K]):
    """Collects results of many tools by key, and observes those of one tool together, which is faster."""

    def __init__(self, *, values: bool, most_bytes: int) -> None:
        """At most this many bytes of results wait to be observed."""
        self._most_bytes = most_bytes
        self._bytes = 0
        self._observers: defaultdict[tuple[_K, Outcome], Observer] = defaultdict(
            lambda: Observer(values=values)
        )
        self._waiting: defaultdict[tuple[_K, Outcome], list[tuple[Any, int, float | None]]]
        self._waiting = defaultdict(list)

    def add(self, key: _K, value: Any, digest: int, at: float | None, *, is_error: bool, size: int) -> None:
        """Add a result; `size` is about how many bytes it has."""
        outcome: Outcome = "error" if is_error else "text" if isinstance(value, str) else "structured"
        name = key, outcome
        waiting = self._waiting[name]
        waiting.append((value, digest, at))
        self._bytes += size
        if self._bytes > self._most_bytes:
            self._observe_all()
        elif len(waiting) >= _AT_ONCE or size > _LARGE:
            self._observe(name)

    def learned(self) -> dict[_K, Learned]:
        """Return what was learned of every tool."""
        self._observe_all()
        found: dict[_K, Learned] = {}
        for (key, outcome), observer in self._observers.items():
            found[key] = replace(found.get(key, Learned()), **{outcome: observer.shape()})
        return found

    def _observe_all(self) -> None:
        self._bytes = 0
        for name in list(self._waiting):
            self._observe(name)

    def _observe(self, name: tuple[_K, Outcome]) -> None:
        values, digests, times = zip(*self._waiting.pop(name), strict=True)
        self._observers[name].observe(values, digests, [at for at in times if at is not None])
