"""Look at results, one after another, and keep what they look like until it is written."""

from __future__ import annotations

import json
import logging
from collections import OrderedDict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from halflap.core.values import Result
from halflap.graph.lineage import Lineage, Trails
from halflap.learn import Learned, Observer, digest_of, outcome_of, with_unkept
from halflap.observe.compare import compare
from halflap.observe.knowledge import key_of
from halflap.schema import read_result, reading_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from halflap.calls import Answered
    from halflap.core.values import Tool
    from halflap.learn import Outcome
    from halflap.schema import Reading
    from halflap.store import DriftEvent, ToolKey

__all__ = ["Course", "Watch", "Watched"]

logger = logging.getLogger(__name__)

_MOST_READINGS = 2_000
_BESIDES = 500
"""About what a call takes in memory beside its texts."""
_KEPT_OF_BLOCKS = ("type", "mimeType", "uri", "name")


_SHORTEST_PART = 16
_PART = 8
"""A part is as long as all before it divided by this, if that is longer: to add them up stays cheap beside looking."""

_Observers = dict["Outcome", "Observer"]
"""What was seen of a tool, by outcome."""


@dataclass(slots=True)
class Course:
    """What was learned of one tool since it was last written, part by part.

    Something may settle within a second, and be contradicted in the next: what comes later is held against all that
    came before it, in the store or not.
    """

    known: Learned
    """All of it, with what was known before."""
    learned: Learned = field(default_factory=Learned)
    drift: list[DriftEvent] = field(default_factory=list)
    is_changed: bool = False
    """Whether something is known now that was not."""

    def add(self, key: ToolKey, part: Learned, *, enums: bool) -> None:
        """Add what came next."""
        found = compare({key: self.known}, {key: part}, enums=enums)
        self.known = found.after[key]
        self.learned = self.learned.merge(part)
        self.drift += found.drift
        self.is_changed = self.is_changed or bool(found.changed)


class _Parts:
    """What was seen of one tool, in parts, in their order."""

    __slots__ = ("_count", "_end", "observers")

    def __init__(self) -> None:
        self.observers: list[_Observers] = [{}]
        self._count = 0
        self._end = _SHORTEST_PART

    def observe(self, outcome: Outcome, value: Any, digest: int, at: float, *, values: bool) -> None:
        if self._count == self._end:
            self.observers.append({})
            self._end += max(_SHORTEST_PART, self._count // _PART)
        self._count += 1
        outcomes = self.observers[-1]
        if outcome not in outcomes:
            outcomes[outcome] = Observer(values=values)
        outcomes[outcome].observe(value, digest, at)


@dataclass(slots=True)
class Watched:
    """What was seen since it was last written."""

    tools: dict[ToolKey, _Parts] = field(default_factory=dict)
    texts: list[Answered] = field(default_factory=list)
    """What is in it, to be looked at again if some of it is not to count after all."""
    bytes: int = 0
    """How much that is."""
    large_tools: dict[ToolKey, _Parts] = field(default_factory=dict)
    """Of what is too large to be kept; it counts as a whole, or not at all."""
    large_calls: list[str] = field(default_factory=list)
    flows: list[tuple[str, Lineage]] = field(default_factory=list)
    """Where values went, by the call that took them."""

    def __bool__(self) -> bool:
        return bool(self.tools or self.large_tools)

    @property
    def calls(self) -> list[str]:
        return [*(one.call for one in self.texts), *self.large_calls]

    @property
    def lineage(self) -> Lineage:
        return Lineage.sum(flows for _, flows in self.flows)

    @property
    def keys(self) -> set[ToolKey]:
        return {*self.tools, *self.large_tools}

    def add_to(self, courses: Mapping[ToolKey, Course], *, enums: bool) -> None:
        """Add it to the courses of its tools, part by part."""
        for tools in (self.tools, self.large_tools):
            for key, parts in tools.items():
                for outcomes in parts.observers:
                    part = Learned(**{outcome: one.shape() for outcome, one in outcomes.items()})
                    courses[key].add(key, part, enums=enums)


class Watch:
    """Sees one result at a time; whoever calls it sees to that."""

    def __init__(
        self, *, values: bool = False, redact: Callable[[Any], Any] | None = None, lineage: bool = True
    ) -> None:
        self._salt = b""
        self._trails = Trails() if lineage else None
        self._values = values
        self._redact = redact
        """Takes secrets out: where values are kept, what is another one without them is not."""
        self._seen = Watched()
        self._readings: OrderedDict[ToolKey, Reading] = OrderedDict()

    def __bool__(self) -> bool:
        return bool(self._seen)

    @property
    def held(self) -> int:
        """How much is kept of what was seen."""
        return self._seen.bytes

    def seal_with(self, salt: bytes) -> None:
        """Say what the digests of arguments, and of values, are made with."""
        self._salt = salt
        if self._trails is not None:
            self._trails.salt = salt

    def forget_idle(self, since: float) -> bool:
        """Let go of runs that nothing was seen of since then; says whether there are others."""
        return self._trails is not None and self._trails.forget_idle(since)

    def take(self) -> Watched:
        """Give what was seen, and begin anew; runs that are under way are followed on."""
        seen, self._seen = self._seen, Watched()
        return seen

    def without(self, seen: Watched, taken: frozenset[str]) -> Watched:
        """Give what was seen without calls that somebody else has learned from meanwhile."""
        left = Watched(flows=[told for told in seen.flows if told[0] not in taken])
        for answered in seen.texts:
            if answered.call not in taken:
                self._count(left, answered, *self._value(answered))
        if taken.isdisjoint(seen.large_calls):
            left.large_tools, left.large_calls = seen.large_tools, seen.large_calls
        return left

    def see(self, answered: Answered) -> None:
        """Look at one result. One that cannot be read is passed over: it was the caller's, not ours."""
        try:
            self._see(answered)
        except Exception as error:  # noqa: BLE001 -- whatever a server sends, the next one counts
            logger.info("A result of %s was not learned from: %r", answered.tool.name, error)

    def _see(self, answered: Answered) -> None:
        arguments, value, is_error = self._value(answered)
        self._follow(answered, key_of(answered.tool), arguments, None if is_error else value)
        self._count(self._seen, answered, arguments, value, is_error)

    def _value(self, answered: Answered) -> tuple[Mapping[str, Any], Any, bool]:
        """Give the arguments, the value as a program would see it, and whether it is an error."""
        result = Result.from_wire(_read(answered.result))
        reading = self._reading(key_of(answered.tool), answered.tool)
        return _read(answered.arguments), read_result(result, reading, _without_data), result.is_error

    def _count(
        self,
        seen: Watched,
        answered: Answered,
        arguments: Mapping[str, Any],
        value: Any,
        is_error: bool,
    ) -> None:
        if self._values and self._redact is not None:
            value = with_unkept(value, self._redact(value))
        outcome = outcome_of(value, is_error=is_error)
        kept = _length(answered)
        tools = seen.large_tools if kept is None else seen.tools
        key = key_of(answered.tool)
        if key not in tools:
            tools[key] = _Parts()
        digest = digest_of(arguments, self._salt)
        tools[key].observe(outcome, value, digest, answered.at, values=self._values)
        if kept is None:
            seen.large_calls.append(answered.call)
        else:
            seen.texts.append(answered)
            seen.bytes += kept

    def _follow(self, answered: Answered, key: ToolKey, arguments: Mapping[str, Any], value: Any) -> None:
        if self._trails is None or answered.run is None:
            return
        began = answered.at
        ended = began if answered.ended is None else answered.ended
        run = (answered.principal, answered.run)
        self._trails.see(run, key, arguments, value, began=began, ended=ended)
        if self._trails:
            self._seen.flows.append((answered.call, self._trails.take()))

    def _reading(self, key: ToolKey, tool: Tool) -> Reading:
        if key not in self._readings:
            self._readings[key] = reading_of(tool)
            if len(self._readings) > _MOST_READINGS:
                self._readings.popitem(last=False)
        return self._readings[key]


def _length(answered: Answered) -> int | None:
    """Say about how much it takes; None where it is in the hands of others, who may change it."""
    parts = (answered.arguments, answered.result)
    if any(part is not None and not isinstance(part, str) for part in parts):
        return None
    return _BESIDES + sum(len(part) for part in parts if part is not None)


def _read(raw: str | Mapping[str, Any] | None) -> Mapping[str, Any]:
    if isinstance(raw, str):
        read: Mapping[str, Any] = json.loads(raw)
        return read
    return {} if raw is None else raw


def _without_data(block: Mapping[str, Any]) -> dict[str, Any]:
    """Give what a block that is not text says of itself, and nothing of what is in it."""
    resource = block.get("resource")
    source = {**resource, "type": block.get("type")} if isinstance(resource, dict) else block
    return {key: source[key] for key in _KEPT_OF_BLOCKS if source.get(key) is not None}
