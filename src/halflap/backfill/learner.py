"""Learns from the lines of a log: shapes of results, broken declarations, and where values went."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from halflap.backfill.formats.calls import BadRecordError, LoggedCall, checked_name
from halflap.backfill.formats.records import RecordReader
from halflap.backfill.formats.results import value_of
from halflap.backfill.found import MAX_BAD_LINES, BadLine, Counts, Knowledge
from halflap.backfill.logfile import MAX_LINE
from halflap.calls import Redactor
from halflap.core.errors import BackfillError
from halflap.graph.lineage import NO_LINEAGE, Trails
from halflap.learn import Observations, digest_of, with_unkept
from halflap.schema import Reading, json_problem, parse_json

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping

    from halflap.backfill.rules import Rules
    from halflap.store import ToolKey

__all__ = ["OBSERVED_BYTES", "Learner"]

_MAX_TOOLS = 10_000
"""A file that names more tools is not a log of calls."""
_FOLLOWED_BYTES = 100_000_000
"""Values are followed in this many bytes of each log: it costs more than everything else, and more teaches little."""
OBSERVED_BYTES = 1 << 20
"""Bytes of lines whose results are observed together. Doubling it takes twice the memory, about 10 MB."""
_PLAIN = Reading()


@dataclass(slots=True)
class _Tool:
    key: ToolKey | None
    """None if its server is not known."""
    reading: Reading = _PLAIN


class Learner:
    """Learns from one log after another; counts are per log, knowledge is for all of them."""

    def __init__(self, rules: Rules) -> None:
        self._rules = rules
        self._redactor = Redactor(rules.secrets) if rules.values else None
        self._trails = Trails(rules.salt) if rules.lineage else None
        self._results: Observations[ToolKey] = Observations(values=rules.values, most_bytes=OBSERVED_BYTES)
        self._line_bytes = 0
        self._tools: dict[tuple[str | None, str], _Tool] = {}
        self._log = 0
        self._clock = 0
        self.begin(alone=False)

    def begin(self, *, alone: bool, position: int = 0) -> None:
        """Start another log, or a part of one at this position; `alone` as in RecordReader."""
        self._records = RecordReader(self, alone=alone)
        self.ends_open = False
        """Whether the last line has no line break yet."""
        self._log += 1
        if self._trails is not None:
            self._trails.forget()
        self._follows = self._trails is not None and position < _FOLLOWED_BYTES
        self._counts = Counts()
        self._observations = self._unpaired = self._nameless = 0
        self._nameless_tools: set[str] = set()
        self._bytes = self._lines = 0
        self._bad: list[BadLine] = []
        self._bad_count = self._other = self._first_other = 0

    def learn(self, line: bytes) -> bool:
        """Learn from a line. Returns False for the last line if more of it has yet to be written."""
        is_whole = line.endswith(b"\n")
        self._line_bytes = len(line)
        try:
            text = line.decode("utf-8-sig").strip()
            if len(line) >= MAX_LINE and not is_whole:
                self._blame(f"longer than {MAX_LINE >> 20} MB")
            elif text and not self._records.read(parse_json(text)):
                self._other += 1
                self._first_other = self._first_other or self._lines + 1
        except BadRecordError as error:
            self._blame(str(error))
        except RecursionError:
            self._blame("nested too deeply")
        except ValueError as error:
            if not is_whole:
                return False
            self._blame(json_problem(error))
        self._bytes += len(line)
        self._lines += 1
        self.ends_open = not is_whole
        if self._bytes > _FOLLOWED_BYTES:
            self._follows = False
        return True

    def damaged(self, error: BaseException) -> None:
        """Note that the compressed data ends here unexpectedly."""
        self._blame(f"the compressed data is damaged or incomplete here ({error})")

    def _blame(self, reason: str) -> None:
        self._bad_count += 1
        if len(self._bad) < MAX_BAD_LINES:
            self._bad.append(BadLine(self._lines + 1, reason))

    def counts(self, *, cut_short: bool = False) -> Counts:
        """End this log and return what was counted in it."""
        self._records.close()
        return replace(
            Counts(),
            bytes=self._bytes,
            lines=self._lines,
            observations=self._observations,
            bad=tuple(self._bad),
            bad_count=self._bad_count,
            other=self._other,
            first_other=self._first_other,
            unpaired=self._unpaired,
            nameless=self._nameless,
            nameless_tools=tuple(sorted(self._nameless_tools)[:20]),
            cut_short=cut_short,
        )

    def knowledge(self) -> Knowledge:
        """Return everything learned."""
        return Knowledge(self._results.learned(), NO_LINEAGE if self._trails is None else self._trails.take())

    # The sink of the records.

    def called(
        self,
        server: str | None,
        tool: Any,
        arguments: Mapping[str, Any],
        *,
        sender: str | None = None,
        run: Hashable = None,
        order: int | None = None,
    ) -> LoggedCall:
        if server is not None:
            checked_name(server, "server")
        digest = digest_of(arguments, self._rules.salt)
        call = LoggedCall(server, checked_name(tool), digest, sender, run, order)
        key = self._tool(call).key
        if run is None or key is None or not self._follows or self._trails is None:
            return call._replace(run=None)
        self._trails.asked(self._run(call), key, arguments, self._time(order, 0), order=order)
        return call

    def returned(self, call: LoggedCall, result: Any, at: float | None, *, is_error: bool) -> None:
        tool = self._tool(call)
        if tool.key is None:
            self._nameless += 1
            self._nameless_tools.add(call.tool)
            return
        value, says_error = value_of(result, tool.reading)
        is_error = is_error or says_error
        if call.run is not None and self._trails is not None and not is_error:
            self._trails.answered(self._run(call), tool.key, value, self._time(call.order, 1))
        if self._redactor is not None:
            value = with_unkept(value, self._redactor.value(value))
        self._results.add(tool.key, value, call.digest, at, is_error=is_error, size=self._line_bytes)
        self._line_bytes = 0
        self._observations += 1

    def unpaired(self, count: int) -> None:
        self._unpaired += count

    def _tool(self, call: LoggedCall) -> _Tool:
        tool = self._tools.get(call[:2])
        if tool is None:
            if len(self._tools) >= _MAX_TOOLS:
                raise BackfillError(f"It names more than {_MAX_TOOLS:,} tools; this is not a log of calls.")
            key = self._rules.key_of(call.server, call.tool)
            tool = _Tool(key, _PLAIN if key is None else self._rules.readings.get(key, _PLAIN))
            self._tools[call[:2]] = tool
        return tool

    def _run(self, call: LoggedCall) -> Hashable:
        # Numbered calls and others cannot be put into one order.
        return self._log, call.run, call.order is None

    def _time(self, order: int | None, later: int) -> int:
        if order is not None:
            return 2 * order + later
        self._clock += 1
        return self._clock
