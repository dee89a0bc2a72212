"""Look at results, one after another, and keep what they look like until it is written."""

from __future__ import annotations

import json
import logging
from collections import OrderedDict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from halflap.graph.lineage import NO_LINEAGE
from halflap.graph.trail import Trails
from halflap.learn import Learned, digest_of, observer, outcome_of, with_unkept
from halflap.observe.compare import compare
from halflap.observe.knowledge import key_of
from halflap.schema import read_result, reading_of
from halflap.values import Result

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from halflap.calls import Answered
    from halflap.graph.lineage import Lineage
    from halflap.learn import Observer
    from halflap.learn.learned import Outcome
    from halflap.schema import Reading
    from halflap.store import DriftEvent, ToolKey
    from halflap.values import Tool

__all__ = ["Course", "Watch", "Watched"]

logger = logging.getLogger(__name__)

_MOST_READINGS = 2_000
_KEPT_OF_BLOCKS = ("type", "mimeType", "uri", "name")


_SHORTEST_PART = 16
_PART = 8
"""A part is as long as all before it divided by this, if that is longer: to add it up stays cheap beside looking."""


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


@dataclass(slots=True)
class Watched:
    """What was seen since it was last written."""

    tools: dict[ToolKey, dict[Outcome, Observer]] = field(default_factory=dict)
    """The part of it that was not added to its course yet."""
    courses: dict[ToolKey, Course] = field(default_factory=dict)
    calls: list[str] = field(default_factory=list)
    lineage: Lineage = NO_LINEAGE
    counts: dict[ToolKey, int] = field(default_factory=dict)
    ends: dict[ToolKey, int] = field(default_factory=dict)
    """At which count the part that is under way ends."""

    def count(self, key: ToolKey) -> bool:
        """Count a result; say whether a part of it is full."""
        count = self.counts[key] = self.counts.get(key, 0) + 1
        return count >= self.ends.setdefault(key, _SHORTEST_PART)

    def fold(self, key: ToolKey, before: Learned, *, enums: bool) -> None:
        """Add what was seen of a tool to its course, which began with what was known before."""
        self.ends[key] = self.counts[key] + max(_SHORTEST_PART, self.counts[key] // _PART)
        outcomes = self.tools.pop(key)
        part = Learned(**{outcome: one.shape() for outcome, one in outcomes.items()})
        self.courses.setdefault(key, Course(before)).add(key, part, enums=enums)

    def fold_all(self, before: Mapping[ToolKey, Learned], *, enums: bool) -> dict[ToolKey, Course]:
        """Add all of it, and give the courses."""
        for key in list(self.tools):
            self.fold(key, before[key], enums=enums)
        return self.courses


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
        return bool(self._seen.counts)

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
        if self._trails is not None:
            seen.lineage = self._trails.take()
        return seen

    def see(self, answered: Answered) -> ToolKey | None:
        """Look at one result; give its tool if there is enough of it to be folded.

        One that cannot be read is passed over: it was the caller's, not ours.
        """
        try:
            return self._see(answered)
        except Exception as error:  # noqa: BLE001 -- whatever a server sends, the next one counts
            logger.info("A result of %s was not learned from: %r", answered.tool.name, error)
            return None

    def fold(self, key: ToolKey, before: Learned) -> None:
        """Hold what was seen of a tool against what came before it, and add it to that."""
        self._seen.fold(key, before, enums=self._values)

    def _see(self, answered: Answered) -> ToolKey | None:
        key = key_of(answered.tool)
        result = Result.from_wire(_read(answered.result))
        value = read_result(result, self._reading(key, answered.tool), _without_data)
        arguments = _read(answered.arguments)
        digest = digest_of(arguments, self._salt)
        self._follow(answered, key, arguments, None if result.is_error else value)
        if self._values and self._redact is not None:
            value = with_unkept(value, self._redact(value))
        outcome = outcome_of(value, is_error=result.is_error)
        outcomes = self._seen.tools.setdefault(key, {})
        if outcome not in outcomes:
            outcomes[outcome] = observer(values=self._values)
        outcomes[outcome].observe(value, digest, answered.at)
        self._seen.calls.append(answered.call)
        return key if self._seen.count(key) else None

    def _follow(self, answered: Answered, key: ToolKey, arguments: Mapping[str, Any], value: Any) -> None:
        if self._trails is None or answered.run is None:
            return
        began = answered.at
        ended = began if answered.ended is None else answered.ended
        run = (answered.principal, answered.run)
        self._trails.see(run, key, arguments, value, began=began, ended=ended)

    def _reading(self, key: ToolKey, tool: Tool) -> Reading:
        if key not in self._readings:
            self._readings[key] = reading_of(tool)
            if len(self._readings) > _MOST_READINGS:
                self._readings.popitem(last=False)
        return self._readings[key]


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
