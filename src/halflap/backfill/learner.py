"""Learns from the lines of a log: shapes of results, and where values went."""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING, NamedTuple

from halflap.backfill.formats.events import NO_RESULT, Answer, BadRecordError, Call
from halflap.backfill.formats.records import events_of
from halflap.backfill.formats.results import value_of
from halflap.backfill.found import Counts, Knowledge
from halflap.backfill.logfile import MAX_LINE
from halflap.calls import Redactor
from halflap.graph.lineage import Trails
from halflap.learn import Observations, digest_of, with_unkept
from halflap.schema import Reading, json_problem, parse_json

if TYPE_CHECKING:
    from halflap.backfill.rules import Rules
    from halflap.store import ToolKey

__all__ = ["OBSERVED_BYTES", "Learner"]

_MAX_TOOLS = 10_000
"""Further tools are skipped: a file that names more is not a log of calls."""
_MAX_PENDING = 100_000
"""Calls kept while their result has not been seen; beyond this the oldest are dropped, to bound memory."""
OBSERVED_BYTES = 16 << 20
"""Bytes of lines whose results are observed together: more is faster, and takes four times as much memory."""
_PLAIN = Reading()


class _Pending(NamedTuple):
    """A call, as far as its result needs to know about it."""

    tool: str
    key: ToolKey | None
    """None if its server is not known."""
    digest: int
    """Of the arguments."""
    sender: str | None
    run: Hashable
    """None if its values are not followed."""
    order: int | None


class Learner:
    """Learns from one part of a log after another; counts are per part, knowledge is for all of them."""

    def __init__(self, rules: Rules) -> None:
        self._rules = rules
        self._redactor = Redactor(rules.secrets) if rules.values else None
        self._trails = Trails(rules.salt)
        self._results: Observations[ToolKey] = Observations(values=rules.values, most_bytes=OBSERVED_BYTES)
        self._keys: dict[tuple[str | None, str], ToolKey | None] = {}
        self._clock = 0
        self.begin()

    def begin(self, followed: int = MAX_LINE) -> None:
        """Start another part; values are followed in this many bytes of it, and calls are answered in it or not at all."""
        self.counts = Counts()
        self._pending: dict[Hashable, _Pending] = {}
        self._followed = followed if self._rules.lineage else 0
        self._trails.forget()

    def learn(self, line: bytes) -> None:
        self.counts.lines += 1
        number = self.counts.lines
        self._followed -= len(line)
        self._unobserved_bytes = len(line)
        if len(line) > MAX_LINE:
            self.counts.blame(number, f"longer than {MAX_LINE >> 20} MB")
            return
        try:
            text = line.decode("utf-8-sig").strip()
            events = events_of(parse_json(text)) if text else []
            for event in events or ():
                if type(event) is Call:
                    self._call(event)
                else:
                    self._answer(event)  # type: ignore[arg-type]  # a union of two
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

    def _call(self, call: Call) -> None:
        key = self._key(call)
        run: Hashable = None
        if self._followed > 0 and call.run is not None and key is not None:
            # Numbered calls and others cannot be put into one order.
            run = call.run, call.order is None
            self._trails.asked(run, key, call.arguments, self._time(call.order, 0), order=call.order)
        digest = digest_of(call.arguments, self._rules.salt)
        dropped = self._pending.pop(call.id, None)
        self._pending[call.id] = _Pending(call.tool, key, digest, call.sender, run, call.order)
        if len(self._pending) > _MAX_PENDING:
            dropped = self._pending.pop(next(iter(self._pending)))
        self.counts.unpaired += dropped is not None

    def _answer(self, answer: Answer) -> None:
        call = self._pending.get(answer.id)
        # Servers number their own requests from 1 as well; what the caller itself sends is not an answer.
        if call is None or (answer.sender is not None and answer.sender == call.sender):
            self.counts.unpaired += not answer.may_be_other
            return
        del self._pending[answer.id]
        if answer.result is NO_RESULT:
            self.counts.unpaired += 1
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
            value = with_unkept(value, self._redactor.value(value))
        size, self._unobserved_bytes = self._unobserved_bytes, 0
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
