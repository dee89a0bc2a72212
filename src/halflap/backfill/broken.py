"""Where logged results break what their tools declare: told in the declaration's own names, without any data."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from halflap.backfill.value import is_tool_result
from halflap.calls import breached_place
from halflap.core.errors import ArgumentProblem
from halflap.core.values import Result
from halflap.schema import Reading, Validator, declared_names, try_compile

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["Broken", "Declaration", "Places", "merge_places"]

_MOST_PLACES = 100
_LONGEST = 500
_NOTHING = object()


class Broken(NamedTuple):
    """How often results broke a declaration at one place, and when, as far as the logs say."""

    expected: str
    times: int = 1
    first: float | None = None
    last: float | None = None

    def merge(self, other: Broken) -> Broken:
        return Broken(
            min(self.expected, other.expected),
            self.times + other.times,
            min((at for at in (self.first, other.first) if at is not None), default=None),
            max((at for at in (self.last, other.last) if at is not None), default=None),
        )


Places = dict[str, Broken]
"""The places at which one tool's declaration was broken."""


def merge_places(one: Mapping[str, Broken], other: Mapping[str, Broken]) -> Places:
    """Put together what was found apart; of too many places the first by name are kept, in whatever order they came."""
    merged = {**one, **other}
    for place in one.keys() & other.keys():
        merged[place] = one[place].merge(other[place])
    return {place: merged[place] for place in sorted(merged)[:_MOST_PLACES]}


class Declaration:
    """What a tool declares of its results, ready to hold them against."""

    def __init__(self, schema: Mapping[str, Any], reading: Reading) -> None:
        compiled = try_compile(schema)
        self._validator = compiled if isinstance(compiled, Validator) else None
        self._names = declared_names(schema)
        self._reading = reading
        self._places: Places = {}

    def hold(self, raw: Any, value: Any, at: float | None) -> None:
        """Hold a result against it, as the log has it and as a program would see it."""
        if self._validator is None:
            return
        told = _structured(raw, value, wrapped=self._reading.wrapped)
        if told is _NOTHING:
            return
        problems = (
            [ArgumentProblem("", "structured content", "none")]
            if told is None
            else self._validator.problems(told, without_data=True)
        )
        if problems:
            # The first, as for a call.
            place = breached_place(problems[0], self._names)
            found = Broken(problems[0].expected[:_LONGEST], 1, at, at)
            known = self._places.get(place)
            self._places[place] = found if known is None else known.merge(found)
            if len(self._places) > 2 * _MOST_PLACES:
                self._places = merge_places(self._places, {})

    def places(self) -> Places:
        """Give where it was broken."""
        return merge_places(self._places, {})


def _structured(raw: Any, value: Any, *, wrapped: bool) -> Any:
    """Give what of a result is held against the declaration; `_NOTHING` where the log does not tell that.

    None is a result that has no structured content, which only logs of the protocol itself tell: other logs may have
    left it out. Their texts count where they are a JSON object, and the declaration is no wrapper around something else.
    """
    if type(raw) is Result:
        return raw.structured_content if raw.has_structured_content else None
    if is_tool_result(raw):
        result = Result.from_wire(raw)
        if result.has_structured_content:
            return result.structured_content
    elif value is raw and type(raw) is not str and raw is not None:
        return {"result": raw} if wrapped else raw
    elif wrapped and type(raw) is dict and list(raw) == ["result"]:
        return raw
    return value if type(value) is dict and not wrapped else _NOTHING
