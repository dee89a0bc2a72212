"""Learn from results as they pass: taken from the calls at once, looked at behind, written every few seconds."""

from __future__ import annotations

import asyncio
import logging
import secrets
import time
from collections import deque
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from halflap.core.errors import StoreError
from halflap.graph.lineage import Lineage
from halflap.observe.watch import Course, Watch
from halflap.store import LIVE

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    from halflap.calls import Answered
    from halflap.observe.knowledge import Knowledge
    from halflap.observe.watch import Watched
    from halflap.store import Store, ToolKey

__all__ = ["METERS", "Learning"]

logger = logging.getLogger(__name__)

METERS = {
    "results": "results that were learned from",
    "look_seconds": "seconds that it took to look at them",
    "lag_seconds": "seconds from an answer till what it taught was in the store, added up over the results",
    "writes": "times that something was written",
    "write_seconds": "seconds that writing took",
    "dropped": "results that were passed over, since too many came",
}
_MOST_WAITING = 5_000
_MOST_WAITING_BYTES = 64 * 1024 * 1024
_LARGE = 2_000_000
"""What a result counts that is not written out; it is in the hands of others as well."""
_SMALL = 4_096
"""So many letters are looked at where we are; more in a thread, for it takes milliseconds."""
_LOOK_SECONDS = 0.5
"""Results are looked at in batches: nobody's next call then waits for his last."""
_SLICE_SECONDS = 0.001
_REST = 19
"""While calls come, so many times as long as it looked it lets them pass: it takes a twentieth of the time at most."""
_WRITE_SECONDS = 3.0
_WRITE_REST = 20
_IDLE_SECONDS = 600.0
"""Of a run that nothing was seen of for so long, the hashes of its values are let go of."""


class Learning:
    """Takes what was answered, and makes knowledge of it. No call is delayed by it, and none fails."""

    def __init__(
        self,
        store: Store,
        knowledge: Knowledge,
        *,
        values: bool = False,
        lineage: bool = True,
        redact: Callable[[Any], Any] | None = None,
        before_writing: Callable[[], Awaitable[None]] | None = None,
        on_changed: Callable[[Sequence[ToolKey]], None] | None = None,
        on_flows: Callable[[Lineage], None] | None = None,
    ) -> None:
        self._store = store
        self._knowledge = knowledge
        self._watch = Watch(values=values, redact=redact, lineage=lineage)
        self._values = values
        self._before_writing = before_writing
        self._on_changed = on_changed
        """Told which tools something new is known of, when it is written."""
        self._on_flows = on_flows
        """Told where values were seen to go, when it is written."""
        self._waiting: deque[tuple[Answered, int]] = deque()
        self._waiting_bytes = 0
        self._some = asyncio.Event()
        self._urgent = asyncio.Event()
        self._hurry = asyncio.Event()
        """Somebody waits for everything to be looked at."""
        self._looked = asyncio.Event()
        self._looking = asyncio.Lock()
        self._writing = asyncio.Lock()
        self._tasks: list[asyncio.Task[None]] = []
        self._full = asyncio.Event()
        """So much is looked at that it is to be written soon."""
        self._unwritten: list[Watched] = []
        self._unwritten_bytes = 0
        self._took = 0.0
        self._taken = 0
        self._has_salt = False
        self._forgetting: asyncio.TimerHandle | None = None
        self._overloaded = self._failing = self._closed = False
        self._meters: dict[str, float] = dict.fromkeys(METERS, 0.0)
        """What is to be added to the numbers in the store: see `METERS`."""
        self._ended = 0.0
        """When the answers ended that are looked at and not written, added up."""
        self.dropped = 0
        """How many results came when too many were waiting. Those that are in the trace can still be learned from."""

    def take(self, answered: Answered) -> None:
        """Take what was answered; on the path of the call, so it is only put down."""
        if self._closed:
            return
        result = answered.result
        size = len(result) if isinstance(result, str) else _LARGE
        kept = self._waiting_bytes + self._watch.held + self._unwritten_bytes
        full = kept and kept + size > _MOST_WAITING_BYTES
        if full or len(self._waiting) >= _MOST_WAITING:
            self._drop()
            return
        if size >= _LARGE:
            # It is still in the hands of others, who may change it.
            self._waiting.appendleft((answered, size))
            self._urgent.set()
        else:
            self._waiting.append((answered, size))
        self._waiting_bytes += size
        self._taken += 1
        self._some.set()
        if not self._tasks:
            self._tasks = [
                asyncio.create_task(self._look_on(), name="learn from results"),
                asyncio.create_task(self._write_on(), name="write what was learned"),
            ]

    def _drop(self) -> None:
        self.dropped += 1
        self._meters["dropped"] += 1
        if not self._overloaded:
            logger.warning("More results come than can be learned from; some are passed over.")
        self._overloaded = True

    async def _look_on(self) -> None:
        while True:
            await self._some.wait()
            with suppress(TimeoutError):
                async with asyncio.timeout(_LOOK_SECONDS):
                    await self._urgent.wait()
            await self._look()

    async def _look(self, *, hurry: bool = False) -> None:
        """Look at all that waits, or as much of it until somebody else hurries. Others get their turn after each."""
        if self._waiting and not self._has_salt:
            self._watch.seal_with(await self._salt())
            self._has_salt = True
        self._some.clear()
        self._urgent.clear()
        looked, taken = 0.0, self._taken
        while self._waiting and (hurry or not self._hurry.is_set()):
            began = time.perf_counter()
            async with self._looking:
                await self._look_at_one()
            looked += time.perf_counter() - began
            await asyncio.sleep(0)
            if looked > _SLICE_SECONDS and not hurry:
                if self._taken != taken:
                    with suppress(TimeoutError):
                        async with asyncio.timeout(_REST * looked):
                            await self._hurry.wait()
                looked, taken = 0.0, self._taken
        if self._waiting:
            self._some.set()
        elif self._overloaded:
            logger.warning("%d results were passed over so far; from here on it works again.", self.dropped)
            self._overloaded = False
        if self._watch:
            self._looked.set()

    async def _look_at_one(self) -> None:
        if not self._waiting:
            # Somebody else looked at the last one while we waited for our turn.
            return
        answered, size = self._waiting.popleft()
        self._waiting_bytes -= size
        if size >= _LARGE and answered.run is not None:
            # It came first; where values went is seen only when a run's calls are looked at in their order.
            await self._look_at_those_before(answered.run)
        await self._see(answered, size)

    async def _look_at_those_before(self, run: str) -> None:
        before = [one for one in self._waiting if one[0].run == run and one[1] < _LARGE]
        for one in before:
            self._waiting.remove(one)
            self._waiting_bytes -= one[1]
        for answered, size in before:
            await self._see(answered, size)

    async def _see(self, answered: Answered, size: int) -> None:
        began = time.perf_counter()
        # To redact takes long.
        if size <= _SMALL and not self._values:
            self._watch.see(answered)
        else:
            await asyncio.to_thread(self._watch.see, answered)
        if self._watch.held > _MOST_WAITING_BYTES // 2:
            self._full.set()
        self._meters["results"] += 1
        self._meters["look_seconds"] += time.perf_counter() - began
        self._ended += answered.at if answered.ended is None else answered.ended
        if self._forgetting is None and answered.run is not None:
            self._forget_later()

    def _forget_later(self) -> None:
        loop = asyncio.get_running_loop()
        self._forgetting = None if self._closed else loop.call_later(_IDLE_SECONDS, self._forget)

    def _forget(self) -> None:
        # While a thread looks at something, it is that one's.
        if self._looking.locked() or self._watch.forget_idle(time.time() - _IDLE_SECONDS):
            self._forget_later()
        else:
            self._forgetting = None

    async def _salt(self) -> bytes:
        try:
            return await self._store.salt()
        except StoreError as error:
            logger.warning("%s Arguments are told apart until the gateway ends.", error)
            return secrets.token_bytes(32)

    async def _write_on(self) -> None:
        while True:
            await self._looked.wait()
            with suppress(TimeoutError):
                async with asyncio.timeout(max(_WRITE_SECONDS, _WRITE_REST * self._took)):
                    await self._full.wait()
            async with self._writing:
                # What was looked at so far: to wait for the rest may be to wait for ever.
                await self._write_down()

    async def flush(self) -> None:
        """Look at all that waits, and write down what was learned."""
        async with self._writing:
            self._hurry.set()
            try:
                await self._look(hurry=True)
            finally:
                self._hurry.clear()
            await self._write_down()

    async def _write_down(self) -> None:
        async with self._looking:
            self._looked.clear()
            self._full.clear()
            watched = self._watch.take()
        began = time.monotonic()
        try:
            await self._write(watched)
            await self._measure(time.monotonic() - began)
        except StoreError as error:
            self._complain(str(error))
        except Exception:
            # A crash costs this batch, not the ones to come.
            logger.exception("What was learned could not be written")
            self._keep([])
        else:
            self._failing = False
        self._took = time.monotonic() - began

    async def _measure(self, took: float) -> None:
        """Add what it took to what it took so far."""
        results = self._meters["results"]
        if not results:
            return
        meters = self._meters
        lag = max(0.0, results * time.time() - self._ended)
        meters |= {"writes": 1.0, "write_seconds": took, "lag_seconds": lag}
        self._meters, self._ended = dict.fromkeys(METERS, 0.0), 0.0
        await self._store.add_counters({f"learning_{name}": value for name, value in meters.items()})

    def _keep(self, unwritten: list[Watched]) -> None:
        self._unwritten = unwritten
        self._unwritten_bytes = sum(one.bytes for one in unwritten)

    async def _write(self, watched: Watched) -> None:
        # Kept until it is written: a store that fails today may work tomorrow.
        if watched:
            self._keep([*self._unwritten, watched])
        if not self._unwritten:
            return
        if self._before_writing is not None:
            # The calls have to be there, to be marked in the same transaction.
            await self._before_writing()
        while self._unwritten and (taken := await self._add()):
            # A backfill of the store was faster with these. Not while something is looked at: it is by the same watch.
            async with self._looking:
                left = [await asyncio.to_thread(self._watch.without, one, taken) for one in self._unwritten]
            self._keep([one for one in left if one])

    async def _add(self) -> frozenset[str]:
        """Add what is not written to what is known; gives the calls that somebody has learned from, if there are any."""
        keys = {key for one in self._unwritten for key in one.keys}
        courses = {key: Course(await self._knowledge.learned(key)) for key in keys}
        await asyncio.to_thread(_run_through, self._unwritten, courses, enums=self._values)
        flows = Lineage.sum(one.lineage for one in self._unwritten)
        calls = [call for one in self._unwritten for call in one.calls]
        shapes = {key: course.learned for key, course in courses.items()}
        taken = await self._store.add_learned(LIVE, shapes, lineage=flows, observed_calls=calls)
        if taken:
            return taken
        self._keep([])
        for key, course in courses.items():
            self._knowledge.put(key, course.known)
        drift = [event for course in courses.values() for event in course.drift]
        changed = [key for key, course in courses.items() if course.is_changed]
        for event in drift:
            logger.info(
                "%s.%s returns something else than before: %s %s",
                event.server,
                event.tool,
                event.path,
                event.what,
            )
        await self._store.add_drift(drift)
        if changed and self._on_changed is not None:
            self._on_changed(changed)
        if flows.counts and self._on_flows is not None:
            self._on_flows(flows)
        return taken

    def _complain(self, trouble: str) -> None:
        """Say it once, until it has worked again."""
        if not self._failing:
            logger.warning("%s What is learned is kept in memory until it works again.", trouble)
        self._failing = True
        self._looked.set()

    async def close(self) -> None:
        """Write what is left."""
        self._closed = True
        if self._forgetting is not None:
            self._forgetting.cancel()
        async with self._writing, self._looking:
            # Not in the middle of anything: a thread would go on.
            for task in self._tasks:
                task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks)
        await self.flush()


def _run_through(unwritten: Sequence[Watched], courses: Mapping[ToolKey, Course], *, enums: bool) -> None:
    """Go through what was seen, in its order."""
    for one in unwritten:
        one.add_to(courses, enums=enums)
