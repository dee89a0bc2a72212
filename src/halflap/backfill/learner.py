"""Learn result shapes and lineage from the lines of a log, or from recorded calls."""

from __future__ import annotations

import json
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from halflap.backfill.logfile import MAX_LINE
from halflap.backfill.records import NO_RESULT, Answer, BadRecordError, Call, events_of, value_of
from halflap.backfill.summary import Counts
from halflap.calls import Redactor
from halflap.core.values import OWN, Result, Tool
from halflap.graph.lineage import NO_LINEAGE, Lineage, Trails
from halflap.learn import Learned, Observations, digest_of
from halflap.schema import Reading, json_problem, parse_json, reading_of
from halflap.store import ToolKey

if TYPE_CHECKING:
    from halflap.store import CallRecord

_PREFIX = "mcp__"
_MAX_TOOLS = 10_000
"""A log that names more tools than this is not a log of calls; further ones are skipped."""
_MAX_PENDING = 100_000
"""Calls waiting for their result; beyond this the oldest are dropped, to bound memory."""
_OBSERVED_BYTES = 16 << 20
"""Results are observed in batches of this many bytes of lines, which need four times as much memory."""
_PLAIN = Reading()


@dataclass(frozen=True, slots=True)
class Rules:
    """Context for reading a log that the log itself does not contain. Sent to every worker, so plain values only."""

    server: str | None = None
    """The server of tools that a log names without a server."""
    salt: bytes = b""
    values: bool = False
    """Whether short strings are kept: `learning.values`."""
    secrets: tuple[str, ...] = ()
    lineage: bool = True
    """Whether values are followed from results into later arguments: `graph.lineage`."""
    names: Mapping[str, ToolKey] = field(default_factory=dict)
    """The catalogue's tools by namespaced name."""
    schema_hashes: Mapping[str, str] = field(default_factory=dict)
    """The hash of a tool's schemas by the hash of its whole definition, which recorded calls have."""
    readings: Mapping[ToolKey, Reading] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        tools: Collection[Tool],
        *,
        server: str | None,
        salt: bytes,
        values: bool,
        secrets: Iterable[str],
        lineage: bool,
    ) -> Rules:
        """Return the rules for a catalogue."""
        names = {tool.name: ToolKey(tool.server, tool.original_name, tool.schema_hash) for tool in tools}
        hashes = {tool.hash: tool.schema_hash for tool in tools}
        readings = {names[tool.name]: reading_of(tool) for tool in tools if tool.output_schema is not None}
        return cls(server, salt, values, tuple(secrets), lineage, names, hashes, readings)

    def key_of(self, server: str | None, name: str) -> ToolKey | None:
        """Return the key of a tool, or None if its server is unknown."""
        known = self.names.get(name)
        if known is not None and server in {None, known.server}:
            return known
        if server is None:
            server, name = _split(name)
            server = server or self.server
        if not server:
            return None
        hashes = (one.definition_hash for one in self.names.values() if one[:2] == (server, name))
        return ToolKey(server, name, next(hashes, ""))


def _split(name: str) -> tuple[str | None, str]:
    """Split a namespaced name into server and tool; a bare name has no server."""
    server, _, tool = name.removeprefix(_PREFIX).partition("__")
    is_namespaced = name.startswith(_PREFIX) or server in OWN
    return (server, tool) if is_namespaced and server and tool else (None, name)


@dataclass(frozen=True, slots=True)
class Knowledge:
    """What was learned about tools; merging commutes and associates."""

    shapes: Mapping[ToolKey, Learned] = field(default_factory=dict)
    lineage: Lineage = NO_LINEAGE

    def merge(self, other: Knowledge) -> Knowledge:
        shapes = dict(self.shapes)
        for key, learned in other.shapes.items():
            shapes[key] = shapes[key].merge(learned) if key in shapes else learned
        return Knowledge(shapes, self.lineage.merge(other.lineage))


class _Pending(NamedTuple):
    """A call whose result has not been seen yet."""

    tool: str
    key: ToolKey | None
    """None if its server is unknown."""
    digest: int
    """Hash of the arguments."""
    run: Hashable
    """None if lineage is not tracked for it."""
    order: int | None


class Learner:
    """Learns from parts of logs, one after another. Counts are per part; knowledge accumulates."""

    def __init__(self, rules: Rules) -> None:
        self._rules = rules
        self._redactor = Redactor(rules.secrets) if rules.values else None
        self._trails = Trails()
        self._results: Observations[ToolKey] = Observations(values=rules.values, most_bytes=_OBSERVED_BYTES)
        self._keys: dict[tuple[str | None, str], ToolKey | None] = {}
        self._clock = 0
        self.begin()

    def begin(self, followed: int = MAX_LINE) -> None:
        """Start a new part; calls still waiting for results are dropped. Lineage is tracked in its first `followed` bytes."""
        self.counts = Counts()
        self._pending: dict[Hashable, _Pending] = {}
        self._followed = followed if self._rules.lineage else 0
        self._trails.forget()

    def learn(self, line: bytes) -> None:
        self.counts.lines += 1
        number, size = self.counts.lines, len(line)
        self._followed -= size
        if size > MAX_LINE:
            self.counts.blame(number, f"longer than {MAX_LINE >> 20} MB")
            return
        try:
            text = line.decode("utf-8-sig").strip()
            events = events_of(parse_json(text)) if text else []
            for event in events or ():
                if type(event) is Call:
                    self.call(event, self._key(event))
                else:
                    self.answer(event, size)  # type: ignore[arg-type]  # a union of two
                    size = 0
        except BadRecordError as error:
            self.counts.blame(number, str(error))
        except RecursionError:
            self.counts.blame(number, "nested too deeply")
        except ValueError as error:
            self.counts.blame(number, json_problem(error))
        else:
            if events is None:
                self.counts.other += 1
                self.counts.first_other = self.counts.first_other or number

    def end(self) -> Counts:
        """Return what was counted in this part."""
        self.counts.unpaired += len(self._pending)
        return self.counts

    def knowledge(self) -> Knowledge:
        """Return everything learned."""
        return Knowledge(self._results.learned(), self._trails.take())

    def call(self, call: Call, key: ToolKey | None) -> None:
        run: Hashable = None
        if self._followed > 0 and call.run is not None and key is not None:
            # Calls with and without sequence numbers cannot be put into one order.
            run = call.run, call.order is None
            self._trails.asked(run, key, call.arguments, self._time(call.order, 0), order=call.order)
        digest = digest_of(call.arguments, self._rules.salt)
        dropped = self._pending.pop(call.id, None)
        self._pending[call.id] = _Pending(call.tool, key, digest, run, call.order)
        if len(self._pending) > _MAX_PENDING:
            dropped = self._pending.pop(next(iter(self._pending)))
        self.counts.unpaired += dropped is not None

    def answer(self, answer: Answer, size: int) -> None:
        call = self._pending.pop(answer.id, None)
        if call is None or answer.result is NO_RESULT:
            # A protocol error without a call may belong to any kind of request.
            self.counts.unpaired += call is not None or answer.result is not NO_RESULT
            return
        if call.key is None:
            self.counts.nameless += 1
            self.counts.nameless_tools.add(call.tool)
            return
        value, says_error = value_of(answer.result, self._rules.readings.get(call.key, _PLAIN))
        is_error = answer.is_error or says_error
        if call.run is not None and not is_error:
            self._trails.answered(call.run, call.key, value, self._time(call.order, 1))
        if self._redactor is not None:
            value = self._redactor.value(value)
        self._results.add(call.key, value, call.digest, answer.at, is_error=is_error, size=size)
        self.counts.observations += 1

    def _key(self, call: Call) -> ToolKey | None:
        name = call.server, call.tool
        if name not in self._keys:
            if len(self._keys) >= _MAX_TOOLS:
                raise BadRecordError(f"the logs name more than {_MAX_TOOLS:,} tools")
            self._keys[name] = self._rules.key_of(*name)
        return self._keys[name]

    def _time(self, order: int | None, later: int) -> int:
        if order is not None:
            return 2 * order + later
        self._clock += 1
        return self._clock


def learn_recorded(calls: Sequence[CallRecord], rules: Rules) -> tuple[Knowledge, list[str]]:
    """Learn from Halflap's own records; also return the ids of the calls whose results are complete."""
    learner = Learner(rules)
    events: list[tuple[float, Call | Answer]] = []
    keys: dict[Hashable, ToolKey] = {}
    for call in calls:
        result = None if call.result is None or call.result_cut else _read(call.result)
        if result is None:
            continue
        hashed = rules.schema_hashes.get(call.definition_hash, call.definition_hash)
        keys[call.id] = ToolKey(call.server, call.tool, hashed)
        run = None if call.run is None else (call.principal, call.run)
        asked = Call(call.id, call.server, call.tool, _read(call.arguments) or {}, run)
        answered = Answer(call.id, Result.from_wire(result), call.started_at)
        ended = call.started_at + (call.duration_ms or 0) / 1_000
        events += [(call.started_at, asked), (ended, answered)]
    for _, event in sorted(events, key=lambda one: one[0]):
        if isinstance(event, Call):
            learner.call(event, keys[event.id])
        else:
            learner.answer(event, 0)
    return learner.knowledge(), [str(id_) for id_ in keys]


def _read(text: str | None) -> dict[str, Any] | None:
    try:
        value = None if text is None else json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if type(value) is dict else None
