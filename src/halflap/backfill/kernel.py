"""The kernel: a stretch of a file → the shapes of what its tools returned; anything that runs functions can run it."""

from __future__ import annotations

import gc
import json
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any, BinaryIO, Protocol

from halflap.backfill.calls import BadRecordError, Call, NeedsOrderError, name_of
from halflap.backfill.following import Following, told_before
from halflap.backfill.found import MOST_NAMES, MOST_SHOWN, BadLine, Found, Stretch
from halflap.backfill.opening import damage, unpacked
from halflap.backfill.pieces import LONGEST, Lines, Values
from halflap.backfill.records import Records
from halflap.backfill.rules import Rules
from halflap.backfill.value import value_of
from halflap.calls import Redactor
from halflap.graph.lineage import NO_LINEAGE, Lineage
from halflap.learn import Learned, digest_of, observer, outcome_of
from halflap.schema import Reading

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Mapping, Sequence

    from halflap.backfill.pieces import Pieces
    from halflap.learn import Observer
    from halflap.learn.learned import Outcome
    from halflap.store import ToolKey

__all__ = [
    "MOST_TOOLS",
    "Control",
    "learn_files",
    "learn_open",
    "learn_range",
    "learn_stream",
    "start_worker",
]

MOST_TOOLS = 10_000
"""Whatever names more tools than this is no log of calls."""
_BETWEEN_LOOKS = 1 << 20
_PLAIN = Rules()
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class Control(Protocol):
    """How work that is under way is told to stop, and tells how far it is."""

    def is_stopped(self) -> bool:
        """Say whether to stop at the next record."""
        ...

    def advance(self, count: int) -> None:
        """Take note of so many bytes more that are done."""
        ...


class _Alone:
    def is_stopped(self) -> bool:
        return False

    def advance(self, count: int) -> None:
        pass


_control: Control = _Alone()


def start_worker(control: Control) -> None:
    """Make a process ready for the kernel: values come and go in no cycles, so nothing has to look for them."""
    global _control  # noqa: PLW0603 -- a worker has one, which cannot go along with each piece of work
    _control = control
    gc.collect()
    gc.freeze()
    gc.disable()


def learn_range(
    path: str, start: int, end: int, rules: Rules = _PLAIN, control: Control | None = None
) -> Found:
    """Learn from the lines of a plain file that begin from `start` to `end`; a line begins at both.

    If lines belong together, `needs_order` is all that is said: then `learn_stream` has to read the whole file.
    """
    with open(path, "rb", buffering=1 << 20) as file:  # noqa: PTH123 -- bytes alone
        learner = _Learner(rules, alone=True)
        if start and rules.lineage:
            learner.recall(told_before(file, start))
        file.seek(start)
        lines = Lines(file, end - start)
        learner.learn(lines, control or _control, lambda: lines.position)
        return learner.found()


def learn_stream(
    path: str,
    rules: Rules = _PLAIN,
    *,
    document: bool = False,
    counted: int = 0,
    control: Control | None = None,
) -> Stretch:
    """Learn from a whole file of any kind, in order, without what its first `counted` bytes tell."""
    with open(path, "rb", buffering=1 << 20) as packed, unpacked(packed) as file:  # noqa: PTH123 -- bytes alone
        return learn_open(file, rules, document=document, counted=counted, control=control, place=packed.tell)


def learn_files(
    files: Sequence[tuple[str, bool, int]], rules: Rules = _PLAIN, *, control: Control | None = None
) -> tuple[list[Stretch], dict[ToolKey, Learned], Lineage]:
    """Learn from many small files as from one; of each, whether it is a document, and how much of it was counted.

    Gives what was found in each, without shapes, and the shapes of all, and where values went in them.
    """
    learner = _Learner(rules, alone=False)
    found = []
    for path, document, counted in files:
        learner.go_on(counted)
        with open(path, "rb", buffering=1 << 20) as packed, unpacked(packed) as file:  # noqa: PTH123 -- bytes alone
            pieces: Pieces = Values(file) if document else Lines(file, hashing=True)
            learner.learn(pieces, control or _control, packed.tell)
        told = learner.found(shapes=False)
        found.append(Stretch(told, pieces.position, pieces.lines, pieces.digest(), counted))
    return found, learner.shapes(), learner.lineage()


def learn_open(
    file: BinaryIO,
    rules: Rules,
    *,
    document: bool = False,
    counted: int = 0,
    known: Mapping[int, Mapping[str, str]] | None = None,
    control: Control | None = None,
    place: Callable[[], int] | None = None,
) -> Stretch:
    """Learn from what is open; `known` says which contents were counted before, by length and hash."""
    pieces: Pieces = Values(file) if document else Lines(file, hashing=True)
    learner = _Learner(rules, alone=False)
    learner.counted = counted
    learner.known = known or {}
    learner.learn(pieces, control or _control, place or (lambda: pieces.position))
    return Stretch(
        learner.found(), pieces.position, pieces.lines, pieces.digest(), learner.counted, learner.origin
    )


def _reason(error: ValueError) -> str:
    if isinstance(error, UnicodeDecodeError):
        return "not UTF-8"
    if isinstance(error, json.JSONDecodeError):
        return f"not JSON: {error.msg}, at character {error.pos + 1}"
    return f"not JSON: {error}"


def _tell(control: Control, place: Callable[[], int], told: int) -> int:
    now = place()
    control.advance(now - told)
    return now


class _Tool:
    """A tool that results were seen of."""

    __slots__ = ("key", "reading", "watching")

    def __init__(self, key: ToolKey, reading: Reading) -> None:
        self.key = key
        self.reading = reading
        self.watching: dict[Outcome, Observer] = {}


class _Learner:
    """Learns from records as they come."""

    def __init__(self, rules: Rules, *, alone: bool) -> None:
        self.counted = 0
        self.known: Mapping[int, Mapping[str, str]] = {}
        self.origin: str | None = None
        self._rules = rules
        self._redactor = Redactor(rules.secrets) if rules.values else None
        self._hashes = rules.hashes()
        self._records = Records(self, alone=alone)
        self._tools: dict[tuple[str | None, str], _Tool | None] = {}
        self._following = Following(rules.salt, rules.every) if rules.lineage else None
        self._counting = True
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
        self._counting = False
        for record in records:
            with suppress(BadRecordError, NeedsOrderError, RecursionError):
                self._records.read(record)
        self._start()

    def _start(self) -> None:
        self._said = Found()
        self._bad: list[BadLine] = []
        self._bad_count = self._other = self._first_other = self._unpaired = 0
        self._observations = self._nameless = 0
        self._nameless_tools: set[str] = set()
        self._bytes = self._lines = 0

    def learn(self, pieces: Pieces, control: Control, place: Callable[[], int]) -> None:
        """Learn from all of it, or up to where it is told to stop; `place` says how much of the file is read."""
        told = looked = lines_before = 0
        before = self.counted
        self._counting = self.counted == 0
        try:
            for text in pieces:
                self._line = pieces.line - lines_before
                if not self._piece(text, pieces):
                    break
                if self._is_counted_up_to(pieces):
                    if self._counting:
                        self._tools = {}
                        self.lineage()
                    self._start()
                    self._counting = True
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
        self._bytes = max(0, pieces.position - before)
        self._lines = pieces.lines - lines_before
        self._records.close()

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
            self._blame(_reason(error))
        if not pieces.is_finished:
            pieces.accept(text)
        return True

    def _read(self, text: bytes) -> None:
        if text[:1] == b"\xef" and text.startswith(_BYTE_ORDER_MARK):
            text = text[3:]
        line = text.decode()
        if line.isspace():
            return
        if not self._records.read(json.loads(line)) and self._counting:
            self._other += 1
            self._first_other = self._first_other or self._line

    def _blame(self, reason: str) -> None:
        if self._counting:
            self._bad_count += 1
            if len(self._bad) < MOST_SHOWN:
                self._bad.append(BadLine(self._line, reason))

    def _is_counted_up_to(self, pieces: Pieces) -> bool:
        """Say whether all of it so far, to the letter, was counted before."""
        if not self._counting:
            return pieces.position >= self.counted
        hashes = self.known.get(pieces.position) if self.known else None
        origin = None if hashes is None else hashes.get(pieces.digest())
        if origin is None:
            return False
        self.origin = origin
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
        call = Call(server, name_of(name), digest_of(arguments, self._rules.salt), side, run, order)
        if run is None or self._following is None:
            return call
        if not self._following.takes(run):
            return call._replace(run=None)
        tool = self._tool(call)
        if tool is not None:
            self._following.asked(run, tool.key, arguments, order, counting=self._counting)
        return call

    def unpaired(self, count: int) -> None:
        if self._counting:
            self._unpaired += count

    def answered(self, call: Call, result: Any, at: float | None, *, is_error: bool) -> None:
        follows = call.run is not None and self._following is not None
        if not self._counting and not follows:
            return
        tool = self._tool(call)
        if tool is None:
            if self._counting:
                self._nameless += 1
                self._nameless_tools.add(call.name)
            return
        value, says_error = value_of(result, tool.reading)
        if self._following is not None and follows and not (is_error or says_error):
            self._following.answered(call.run, tool.key, value, call.order)
        if not self._counting:
            return
        if self._redactor is not None:
            value = self._redactor.value(value)
        outcome = outcome_of(value, is_error=is_error or says_error)
        watching = tool.watching.get(outcome)
        if watching is None:
            watching = tool.watching[outcome] = observer(values=self._rules.values)
        watching.observe(value, call.digest, at)
        self._observations += 1

    def _tool(self, call: Call) -> _Tool | None:
        named = call[:2]
        try:
            return self._tools[named]
        except KeyError:
            return self._add(*named)

    def _add(self, server: str | None, name: str) -> _Tool | None:
        if len(self._tools) >= MOST_TOOLS:
            self._said = Found(crowded=True)
            return None
        key = self._rules.key_of(server, name, self._hashes)
        if key is None:
            self._tools[server, name] = None
            return None
        tool = _Tool(key, self._rules.readings.get(key, Reading()))
        self._tools[server, name] = tool
        return tool

    def shapes(self) -> dict[ToolKey, Learned]:
        """Give what was learned."""
        shapes: dict[ToolKey, Learned] = {}
        for tool in self._tools.values():
            if tool is None:
                continue
            for outcome, watching in tool.watching.items():
                learned = Learned.of(outcome, watching.shape())
                known = shapes.get(tool.key)
                shapes[tool.key] = learned if known is None else known.merge(learned)
        return shapes

    def lineage(self) -> Lineage:
        """Give where values went."""
        return NO_LINEAGE if self._following is None else self._following.take()

    def found(self, *, shapes: bool = True) -> Found:
        """Give what was found; without shapes, and where values went, if they are asked for apart."""
        return replace(
            self._said,
            shapes=self.shapes() if shapes else {},
            lineage=self.lineage() if shapes else NO_LINEAGE,
            bytes=self._bytes,
            lines=self._lines,
            observations=self._observations,
            bad=tuple(self._bad),
            bad_count=self._bad_count,
            other=self._other,
            first_other=self._first_other,
            unpaired=self._unpaired,
            nameless=self._nameless,
            nameless_tools=tuple(sorted(self._nameless_tools)[:MOST_NAMES]),
        )
