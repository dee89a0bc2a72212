"""Learn from the results of calls in the background."""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections import deque
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from halflap.core.errors import StoreError
from halflap.core.values import Result
from halflap.graph.lineage import NO_LINEAGE, Lineage, Trails
from halflap.learn import Observations, digest_of
from halflap.observe.knowledge import Knowledge, key_of
from halflap.observe.known import compare, media_value
from halflap.schema import read_result, reading_of
from halflap.store import LIVE

if TYPE_CHECKING:
    from halflap.core.values import Tool
    from halflap.schema import Reading
    from halflap.store import CallRecord, Store, ToolKey

logger = logging.getLogger(__name__)

METERS = {
    "results": "results that were learned from",
    "look_seconds": "seconds spent inferring their shapes",
    "lag_seconds": "seconds from an answer until what was learned from it was stored, summed over the results",
    "writes": "batches that were stored",
    "write_seconds": "seconds spent storing them",
    "dropped": "results that were skipped because too many were waiting",
}
_MAX_WAITING_BYTES = 64 * 1024 * 1024
_BYTES_PER_CALL = 2_000
"""What a waiting call takes besides its texts."""
_SMALL = 4_096
"""Results up to this size are parsed on the event loop; larger ones take milliseconds, so a thread parses them."""
_OBSERVED_BYTES = 256 * 1024
"""Results that are observed together. Doubling it doubles the longest pause, some milliseconds, and saves a tenth."""
_BATCH_SECONDS = 3.0
_WRITE_REST = 20
"""After a batch that took long to store, the next one waits this many times as long."""
_SLICE_SECONDS = 0.001
_REST = 19
"""After a slice of work, calls have the event loop for this many times as long as it took."""


@dataclass(slots=True)
class _Waiting:
    tool: Tool
    """As it was defined when the call was sent."""
    call: CallRecord
    lineage: Lineage | None = None
    """Where its arguments came from; None until the call was followed."""

    @property
    def size(self) -> int:
        return _BYTES_PER_CALL + len(self.call.arguments or "") + len(self.call.result or "")

    @property
    def ended(self) -> float:
        """When the answer arrived."""
        return self.call.started_at + (self.call.duration_ms or 0.0) / 1000


@dataclass(slots=True)
class _Seen:
    """What was seen in a batch of results."""

    results: Observations[ToolKey]
    calls: list[str] = field(default_factory=list)
    flows: list[Lineage] = field(default_factory=list)
    ended: float = 0.0
    """The sum of the times at which the answers arrived."""


class Learner:
    """Learns from answered calls. No call waits for it, and none fails because of it.

    Calls stay in a queue until what was learned from them is stored, so nothing is lost while the store fails. A call counts
    once, however many gateways and backfills read the same records: the store marks it in the transaction that adds the
    shapes.
    """

    def __init__(
        self,
        store: Store,
        knowledge: Knowledge,
        *,
        values: bool = False,
        lineage: bool = True,
        redact: Callable[[Any], Any] | None = None,
        before_writing: Callable[[], Awaitable[None]] | None = None,
        on_learned: Callable[[], None] = lambda: None,
    ) -> None:
        self._store = store
        self._knowledge = knowledge
        self._values = values
        self._trails = Trails() if lineage else None
        self._redact = redact
        """Removes secrets from a value. A text that it changes is not stored as a value."""
        self._before_writing = before_writing
        self._on_learned = on_learned
        self._waiting: deque[_Waiting] = deque()
        self._waiting_bytes = 0
        self._some, self._hurry = asyncio.Event(), asyncio.Event()
        self._flushes = 0
        self._lock = asyncio.Lock()
        self._task: asyncio.Task[None] | None = None
        self._salt: bytes | None = None
        self._readings: dict[ToolKey, Reading] = {}
        self._took = 0.0
        self._unreported = 0
        """Dropped results that the store does not count yet."""
        self._is_failing = self._is_closed = False
        self.dropped = 0
        """Results skipped because too many were waiting; a backfill can learn from those that were recorded."""

    def take(self, tool: Tool, call: CallRecord) -> None:
        """Queue an answered call with its values. The call waits for this, so nothing else happens here."""
        if self._is_closed:
            return
        waiting = _Waiting(tool, call)
        if self._waiting and self._waiting_bytes + waiting.size > _MAX_WAITING_BYTES:
            if not self.dropped:
                logger.warning("Results arrive faster than they can be learned from; some are skipped.")
            self.dropped += 1
            self._unreported += 1
            return
        self._waiting.append(waiting)
        self._waiting_bytes += waiting.size
        self._some.set()
        if self._task is None:
            self._task = asyncio.create_task(self._run(), name="learn from results")

    async def flush(self) -> None:
        """Learn from all calls answered so far, without pauses."""
        self._flushes += 1
        self._hurry.set()
        try:
            await self._learn()
        finally:
            self._flushes -= 1
            if not self._flushes:
                self._hurry.clear()

    async def close(self) -> None:
        self._is_closed = True
        if self._task is not None:
            async with self._lock:  # its work in a thread cannot be cancelled
                self._task.cancel()
            await asyncio.wait([self._task])
        await self.flush()

    async def _run(self) -> None:
        while True:
            await self._some.wait()
            await asyncio.sleep(max(_BATCH_SECONDS, _WRITE_REST * self._took))
            await self._learn()

    async def _learn(self) -> None:
        async with self._lock:
            self._some.clear()
            batch = list(self._waiting)
            if not batch:
                return
            began = time.monotonic()
            try:
                await self._learn_from(batch)
                self._is_failing = False
            except StoreError as error:
                if not self._is_failing:
                    logger.warning("%s What is learned is kept in memory until the store works again.", error)
                self._is_failing = True
                self._some.set()
                return
            except Exception:
                # A crash loses this batch, not later ones.
                logger.exception("A batch of results could not be learned from")
            self._took = time.monotonic() - began
            for _ in batch:
                self._waiting_bytes -= self._waiting.popleft().size

    async def _learn_from(self, batch: Sequence[_Waiting]) -> None:
        if self._salt is None:
            self._salt = await self._store.salt()
        if self._before_writing is not None:
            # The calls have to be recorded before they can be marked.
            await self._before_writing()
        taken: frozenset[str] = frozenset()
        while batch := [one for one in batch if one.call.id not in taken]:
            began = time.perf_counter()
            seen = await self._observe_all(batch)
            looked = time.perf_counter()
            if taken := await self._write(seen):
                continue  # a backfill learned from some of these calls in the meantime
            meters = {
                "results": float(len(batch)),
                "look_seconds": looked - began,
                "lag_seconds": max(0.0, len(seen.calls) * time.time() - seen.ended),
                "writes": 1.0,
                "write_seconds": time.perf_counter() - looked,
                "dropped": float(self._unreported),
            }
            self._unreported = 0
            await self._store.add_counters({f"learning_{name}": value for name, value in meters.items()})
            return

    async def _write(self, seen: _Seen) -> frozenset[str]:
        """Store what was seen. If another process learned from some of the calls, store nothing and return those."""
        new = await asyncio.to_thread(seen.results.learned)
        before = {key: await self._knowledge.learned(key) for key in new}
        compared = await asyncio.to_thread(compare, before, new)
        flows = Lineage.sum(seen.flows)
        taken = await self._store.add_learned(LIVE, new, lineage=flows, observed_calls=seen.calls)
        if taken:
            return taken
        for key, learned in compared.after.items():
            self._knowledge.put(key, learned)
        for one in compared.drift:
            logger.info("Results of %s.%s have changed: %s %s", one.server, one.tool, one.path, one.what)
        await self._store.add_drift(compared.drift)
        if compared.changed or flows.counts:
            self._on_learned()
        return taken

    async def _observe_all(self, batch: Sequence[_Waiting]) -> _Seen:
        """Observe results one after another, with pauses for other work on the event loop."""
        seen, busy = _Seen(Observations(values=self._values, most_bytes=_OBSERVED_BYTES)), 0.0
        for one in batch:
            began = time.perf_counter()
            if one.size <= _SMALL and not self._values:  # redaction of values is slow
                self._observe(one, seen)
            else:
                await asyncio.to_thread(self._observe, one, seen)
            busy += time.perf_counter() - began
            await asyncio.sleep(0)
            if busy > _SLICE_SECONDS:
                with suppress(TimeoutError):
                    async with asyncio.timeout(_REST * busy):
                        await self._hurry.wait()
                busy = 0.0
        return seen

    def _observe(self, one: _Waiting, seen: _Seen) -> None:
        call = one.call
        try:
            result = Result.from_wire(json.loads(call.result or ""))
            arguments = json.loads(call.arguments or "{}")
            key = key_of(one.tool)
            value = read_result(result, self._reading(key, one.tool), media_value)
            if one.lineage is None:
                one.lineage = self._follow(one, key, arguments, None if result.is_error else value)
            if self._values and self._redact is not None:
                value = self._redact(value)
            digest = digest_of(arguments, self._salt or b"")
            seen.results.add(key, value, digest, call.started_at, is_error=result.is_error, size=one.size)
        except Exception as error:  # noqa: BLE001 -- whatever a server sends, the next result counts
            logger.info("A result of %s was not learned from: %r", one.tool.name, error)
            return
        seen.calls.append(call.id)
        seen.flows.append(one.lineage)
        seen.ended += one.ended

    def _follow(self, one: _Waiting, key: ToolKey, arguments: Mapping[str, Any], value: Any) -> Lineage:
        call = one.call
        if self._trails is None or call.run is None:
            return NO_LINEAGE
        run = (call.principal, call.run)
        self._trails.see(run, key, arguments, value, began=call.started_at, ended=one.ended)
        return self._trails.take()

    def _reading(self, key: ToolKey, tool: Tool) -> Reading:
        if key not in self._readings:
            self._readings[key] = reading_of(tool)
        return self._readings[key]
