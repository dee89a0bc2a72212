"""What was learned about one tool, and a queue of results to observe."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

from halflap.core.errors import ShapeError
from halflap.learn.codec import from_json, to_json
from halflap.learn.infer import Observer
from halflap.learn.merge import merge, with_inner
from halflap.learn.shape import NOTHING, Place, Shape

_K = TypeVar("_K", bound=Hashable)
_AT_ONCE = 1_000
"""Results of a tool observed together. Half as many take a tenth longer."""
_LARGE = 65_536
"""A result of this many bytes is observed immediately, while it is in the processor's caches."""


@dataclass(frozen=True, slots=True)
class Learned:
    """What was learned of a tool."""

    results: Shape = NOTHING
    """The values of successful calls; plain text is a string."""
    errors: int = 0
    """Calls that returned an error, of which nothing is learned."""

    def merge(self, other: Learned) -> Learned:
        return Learned(merge(self.results, other.results), self.errors + other.errors)

    @property
    def observations(self) -> int:
        """Answered calls."""
        return self.results.observations + self.errors

    @property
    def texts(self) -> int:
        """Results that were plain text."""
        kinds = self.results.root.kinds
        return kinds["string"].times if "string" in kinds else 0

    @property
    def has_values(self) -> bool:
        """Whether it has values that are stored only with `learning.values`."""
        return self != self.without_values()

    def without_values(self) -> Learned:
        """Return what would have been learned without `learning.values`."""
        return replace(self, results=replace(self.results, root=_without_values(self.results.root)))

    def to_json(self) -> dict[str, Any]:
        return {"results": to_json(self.results), "errors": self.errors}

    @classmethod
    def from_json(cls, data: Any) -> Learned:
        errors = data.get("errors") if isinstance(data, dict) else None
        if type(errors) is not int or errors < 0:
            raise ShapeError(
                "What was learned of a tool is an object with `results` and the number of `errors`."
            )
        return cls(from_json(data.get("results"), "results"), errors)


def _without_values(place: Place) -> Place:
    return replace(with_inner(place, _without_values), values=None if place.values else place.values)


class Observations(Generic[_K]):
    """Collects results of many tools by key, and observes those of one tool together, which is faster."""

    def __init__(self, *, values: bool, most_bytes: int) -> None:
        """At most this many bytes of results wait to be observed."""
        self._most_bytes = most_bytes
        self._bytes = 0
        self._errors: Counter[_K] = Counter()
        self._observers: defaultdict[_K, Observer] = defaultdict(lambda: Observer(values=values))
        self._waiting: defaultdict[_K, list[tuple[Any, int, float | None]]] = defaultdict(list)

    def add(self, key: _K, value: Any, digest: int, at: float | None, *, is_error: bool, size: int) -> None:
        """Add a result; `size` is about how many bytes it has."""
        if is_error:
            self._errors[key] += 1
            return
        waiting = self._waiting[key]
        waiting.append((value, digest, at))
        self._bytes += size
        if self._bytes > self._most_bytes:
            self._observe_all()
        elif len(waiting) >= _AT_ONCE or size > _LARGE:
            self._observe(key)

    def learned(self) -> dict[_K, Learned]:
        """Return what was learned of every tool."""
        self._observe_all()
        shapes = {key: observer.shape() for key, observer in self._observers.items()}
        keys = shapes.keys() | self._errors.keys()
        return {key: Learned(shapes.get(key, NOTHING), self._errors[key]) for key in keys}

    def _observe_all(self) -> None:
        self._bytes = 0
        for key in list(self._waiting):
            self._observe(key)

    def _observe(self, key: _K) -> None:
        values, digests, times = zip(*self._waiting.pop(key), strict=True)
        self._observers[key].observe(values, digests, [at for at in times if at is not None])
