"""Learns from the records of one stretch of a log, as they come."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Protocol

from halflap.backfill.broken import Declaration
from halflap.backfill.calls import BadRecordError, Call, NeedsOrderError, name_of, server_of
from halflap.backfill.following import Following
from halflap.backfill.found import MOST_NAMES, MOST_SHOWN, BadLine, Found, merge_broken
from halflap.backfill.opening import damage
from halflap.backfill.pieces import LONGEST
from halflap.backfill.records import Records
from halflap.backfill.rules import is_bare
from halflap.backfill.value import value_of
from halflap.calls import Redactor
from halflap.graph.lineage import NO_LINEAGE
from halflap.learn import Learned, Observer, digest_of, outcome_of, with_unkept
from halflap.schema import Reading, json_problem, parse_json

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Mapping, Sequence

    from halflap.backfill.broken import Places
    from halflap.backfill.found import Counted
    from halflap.backfill.identity import Candidates, Mark
    from halflap.backfill.pieces import Pieces
    from halflap.backfill.rules import Rules
    from halflap.graph.lineage import Lineage
    from halflap.learn import Outcome
    from halflap.store import ToolKey

__all__ = ["MOST_TOOLS", "Control", "Learner"]

MOST_TOOLS = 10_000
"""Whatever names more tools than this is no log of calls."""
_BETWEEN_LOOKS = 1 << 20
_PLAIN = Reading()
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class Control(Protocol):
    """How work that is under way is told to stop, and tells how far it is."""

    def is_stopped(self) -> bool:
        """Say whether to stop at the next record."""
        ...

    def advance(self, count: int) -> None:
        """Take note of so many bytes more that are done."""
        ...


def _tell(control: Control, place: Callable[[], int], told: int) -> int:
    now = place()
    control.advance(now - told)
    return now


class _Tool:
    """A tool that results were seen of."""

    __slots__ = ("bare", "declared", "key", "missing", "reading", "watching")

    def __init__(
        self,
        key: ToolKey | None = None,
        reading: Reading = _PLAIN,
        declared: Declaration | None = None,
        *,
        bare: bool,
        missing: bool = False,
    ) -> None:
        self.key = key
        """None where nobody knows whose it is."""
        self.declared = declared
        self.reading = reading
        self.bare = bare
        """The log names it without a server."""
        self.missing = missing
        """It counts also where everything else was counted before."""
        self.watching: dict[Outcome, Observer] = {}


class Learner:
    """Learns from records as they come.

    With `again`, all of it was counted before, and only that counts which the rules say is missing.
    """

    def __init__(self, rules: Rules, *, alone: bool, again: bool = False) -> None:
        self.counted = 0
        self.known: Candidates = {}
        self.marks: Mapping[str, Mark] = {}
        """The marks of what is known."""
        self.recognised: Counted | None = None
        """Which of what is known this begins with."""
        self._ends_at: tuple[int, Counted] | None = None
        """Where a log that is known ended once; if this ends there, it is a copy of that."""
        self._again = again
        self._rules = rules
        self._redactor = Redactor(rules.secrets) if rules.values else None
        self._hashes = rules.hashes()
        self._records = Records(self, alone=alone)
        self._tools: dict[tuple[str | None, str], _Tool] = {}
        self._following = Following(rules.salt, rules.every) if rules.lineage else None
        self._counting = True
        self._recalling = False
        self._start()

    def go_on(self, counted: int) -> None:
        """Go on with another file: what it tells is counted apart, and learned together."""
        self._records = Records(self, alone=False)
        self.counted = counted
        if self._following is not None:
            self._following.next_log()
        self._start()

    def recall(self, records: Sequence[Any]) -> None:
        """Look again at what was told before: a run goes on from there, and only that of it is new that follows."""
        self._counting, self._recalling = False, True
        for record in records:
            with suppress(BadRecordError, NeedsOrderError, RecursionError):
                self._records.read(record)
        self._recalling = False
        self._start()

    def _start(self) -> None:
        self._said = Found()
        self._bad: list[BadLine] = []
        self._bad_count = self._other = self._first_other = self._unpaired = 0
        self._observations = self._nameless = self._bare = 0
        self._nameless_tools: set[str] = set()
        self._bytes = self._lines = 0

    def learn(self, pieces: Pieces, control: Control, place: Callable[[], int]) -> None:
        """Learn from all of it, or up to where it is told to stop; `place` says how much of the file is read."""
        told = looked = lines_before = 0
        before = self.counted
        self._counting = self.counted == 0 and not self._again
        try:
            for text in pieces:
                self._line = pieces.line - lines_before
                if not self._piece(text, pieces):
                    break
                if self._is_counted_up_to(pieces):
                    self._begin_anew()
                    self.counted = before = pieces.position
                    lines_before = pieces.lines
                if pieces.position - looked >= _BETWEEN_LOOKS:
                    looked = pieces.position
                    told = _tell(control, place, told)
                    if control.is_stopped():
                        self._said = Found(cut_short=True)
                        break
        except NeedsOrderError:
            self._said = Found(needs_order=True)
        except damage() as error:
            self._line = pieces.lines + 1 - lines_before
            self._blame(f"the compressed data is damaged or not whole here ({error})")
        _tell(control, place, told)
        if self._is_copy(pieces):
            self.counted = before = pieces.position
            lines_before = pieces.lines
        self._bytes = max(0, pieces.position - before)
        self._lines = pieces.lines - lines_before
        self._records.close()

    def _begin_anew(self) -> None:
        """Begin to count behind what was counted before; of that, what is missing counts."""
        observations, bare = self._observations, self._bare
        if self._counting:
            # Only now is it known which log this is. What was said of it then holds for the rest as well.
            assert self.recognised is not None
            self._rules = self.marks[self.recognised.origin].rules_for(self._rules)
            self._tools = {
                named: tool
                for named, tool in self._tools.items()
                if tool.key and self._is_missing(*named, tool.key)
            }
            observations = sum(_count(tool) for tool in self._tools.values())
            bare = sum(_count(tool) for tool in self._tools.values() if tool.bare)
            self.lineage()
        self._start()
        self._observations, self._bare = observations, bare
        self._counting = True

    def _piece(self, text: bytes | None, pieces: Pieces) -> bool:
        """Read one record; False if more of it has yet to be written."""
        if text is None:
            self._blame(f"longer than {LONGEST >> 20} MB")
            return True
        try:
            self._read(text)
        except BadRecordError as error:
            self._blame(str(error))
        except RecursionError:
            self._blame("nested too deeply")
        except ValueError as error:
            if not pieces.is_finished:
                self._blame("not finished: it is read when it is")
                return False
            self._blame(json_problem(error))
        if not pieces.is_finished:
            pieces.accept(text)
        return True

    def _read(self, text: bytes) -> None:
        if text[:1] == b"\xef" and text.startswith(_BYTE_ORDER_MARK):
            text = text[3:]
        line = text.decode()
        if line.isspace():
            return
        if not self._records.read(parse_json(line)) and self._counting:
            self._other += 1
            self._first_other = self._first_other or self._line

    def _blame(self, reason: str) -> None:
        if self._counting:
            self._bad_count += 1
            if len(self._bad) < MOST_SHOWN:
                self._bad.append(BadLine(self._line, reason))

    def _is_counted_up_to(self, pieces: Pieces) -> bool:
        """Say whether all of it so far, to the letter, was counted before."""
        if self._again:
            return False
        if not self._counting:
            return pieces.position >= self.counted
        hashes = self.known.get(pieces.position) if self.known else None
        counted = None if hashes is None else hashes.get(pieces.digest())
        if counted is None:
            return False
        if counted.is_former:
            self._ends_at = pieces.position, counted
            return False
        self.recognised = counted
        return True

    def _is_copy(self, pieces: Pieces) -> bool:
        """Say whether all of it was counted, as the beginning of something longer; then nothing of it counts."""
        if self._ends_at is None or self._ends_at[0] != pieces.position:
            return False
        self.recognised = self._ends_at[1]
        self._tools = {}
        self.lineage()
        self._start()
        return True

    # What the records tell ---------------------------------------------------------------------------

    def asked(
        self,
        server: str | None,
        name: Any,
        arguments: Mapping[str, Any],
        *,
        side: str | None = None,
        run: Hashable = None,
        order: int | None = None,
    ) -> Call:
        call = Call(
            server_of(server), name_of(name), digest_of(arguments, self._rules.salt), side, run, order
        )
        if run is None or self._following is None:
            return call
        if not self._following.takes(run):
            return call._replace(run=None)
        tool = self._tool(call)
        if tool.key is not None:
            counting = self._counting or self._is_caught_up(tool)
            self._following.asked(run, tool.key, arguments, order, counting=counting)
        return call

    def unpaired(self, count: int) -> None:
        if self._counting:
            self._unpaired += count

    def answered(self, call: Call, result: Any, at: float | None, *, is_error: bool) -> None:
        follows = call.run is not None and self._following is not None
        if not self._counting and not follows and not self._rules.missing:
            return
        tool = self._tool(call)
        counts = self._counting or self._is_caught_up(tool)
        if tool.key is None:
            self._nameless += counts
            return
        if not counts and not follows:
            return
        value, says_error = value_of(result, tool.reading)
        if self._following is not None and follows and not (is_error or says_error):
            self._following.answered(call.run, tool.key, value, call.order)
        if not counts:
            return
        if tool.declared is not None and not is_error and not says_error:
            tool.declared.hold(result, value, at)
        if self._redactor is not None:
            value = with_unkept(value, self._redactor.value(value))
        outcome = outcome_of(value, is_error=is_error or says_error)
        watching = tool.watching.get(outcome)
        if watching is None:
            watching = tool.watching[outcome] = Observer(values=self._rules.values)
        watching.observe(value, call.digest, at)
        self._observations += 1
        if tool.bare:
            self._bare += 1

    def _is_caught_up(self, tool: _Tool) -> bool:
        """Say whether a tool counts where all else was counted before; not in what is only recalled."""
        return tool.missing and not self._recalling

    def _tool(self, call: Call) -> _Tool:
        named = call[:2]
        try:
            return self._tools[named]
        except KeyError:
            return self._add(*named)

    def _add(self, server: str | None, name: str) -> _Tool:
        key = self._rules.key_of(server, name, self._hashes)
        bare = is_bare(server, name)
        if len(self._tools) >= MOST_TOOLS:
            self._said = Found(crowded=True)
            return _Tool(bare=bare)
        if key is None:
            self._nameless_tools.add(name)
            tool = _Tool(bare=bare)
        else:
            reading, schema = self._rules.readings.get(key, _PLAIN), self._rules.declared.get(key)
            declared = None if schema is None else Declaration(schema, reading)
            tool = _Tool(key, reading, declared, bare=bare, missing=self._is_missing(server, name, key))
        self._tools[server, name] = tool
        return tool

    def _is_missing(self, server: str | None, name: str, key: ToolKey) -> bool:
        missing, owner = self._rules.missing, "" if is_bare(server, name) else key.server
        return (owner, "") in missing or (owner, key.tool) in missing

    def shapes(self) -> dict[ToolKey, Learned]:
        """Give what was learned."""
        shapes: dict[ToolKey, Learned] = {}
        for tool in self._tools.values():
            if tool.key is None:
                continue
            for outcome, watching in tool.watching.items():
                learned = Learned.of(outcome, watching.shape())
                known = shapes.get(tool.key)
                shapes[tool.key] = learned if known is None else known.merge(learned)
        return shapes

    def broken(self) -> dict[ToolKey, Places]:
        """Give where results broke what their tools declare."""
        broken: dict[ToolKey, Places] = {}
        for tool in self._tools.values():
            places = None if tool.declared is None else tool.declared.places()
            if places and tool.key is not None:
                broken = merge_broken(broken, {tool.key: places})
        return broken

    def lineage(self) -> Lineage:
        """Give where values went."""
        return NO_LINEAGE if self._following is None else self._following.take()

    def found(self, *, shapes: bool = True) -> Found:
        """Give what was found; without shapes, what was learned in all is told apart."""
        return replace(
            self._said,
            shapes=self.shapes() if shapes else {},
            broken=self.broken() if shapes else {},
            lineage=self.lineage() if shapes else NO_LINEAGE,
            bytes=self._bytes,
            lines=self._lines,
            observations=self._observations,
            bare=self._bare,
            bad=tuple(self._bad),
            bad_count=self._bad_count,
            other=self._other,
            first_other=self._first_other,
            unpaired=self._unpaired,
            nameless=self._nameless,
            nameless_tools=tuple(sorted(self._nameless_tools)[:MOST_NAMES]),
        )


def _count(tool: _Tool) -> int:
    return sum(watching.shape().observations for watching in tool.watching.values())
