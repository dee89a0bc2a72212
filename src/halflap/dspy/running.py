"""One execution of a DSPy program: on whose behalf it calls tools, until when, and what the model was asked for it."""

from __future__ import annotations

import asyncio
import json
import logging
import threading
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from halflap.core.errors import HalflapError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping
    from concurrent.futures import Future

    from halflap.core.values import CallContext, Result

    Call = Callable[[str, Mapping[str, Any], CallContext], Awaitable[Result]]

__all__ = ["RUNNING", "Running", "StoppedError", "observation"]

logger = logging.getLogger(__name__)

_LONGEST: Final = 50_000
"""So much of a tool's result goes to the model: it has to fit beside all that was said before."""


@dataclass(slots=True)
class Running:
    """What the parts of one execution share, whichever task or thread they run in."""

    call: Call
    context: CallContext
    """Of the calls that it makes."""
    loop: asyncio.AbstractEventLoop
    asked: int = 0
    """How often the model was asked."""
    hits: int = 0
    """How often of those it had answered before."""
    keys: list[str] = field(default_factory=list)
    """Under which its answers are kept."""
    trouble: BaseException | None = None
    """Why the model could not be asked, for optimizers, which would go on without it."""
    stopped: threading.Event = field(default_factory=threading.Event)
    """Set when nobody waits for it any more, for threads that cannot be cancelled."""
    _calls: set[Future[str]] = field(default_factory=set)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def cache_hit(self) -> bool:
        """Say whether nothing was asked anew, and something was asked at all."""
        return 0 < self.asked == self.hits

    @property
    def seconds_left(self) -> float | None:
        """How much time there is, or None if there is no end to it."""
        return None if self.context.deadline is None else self.context.deadline - self.loop.time()

    def stop(self) -> None:
        """Have threads end it: what they are calling is cancelled, and nothing is called or asked any more."""
        with self._lock:
            self.stopped.set()
            calls = [*self._calls]
        for one in calls:
            one.cancel()

    def observation_from_thread(self, name: str, arguments: Mapping[str, Any]) -> str:
        """Call a tool from a thread, as `observation` does; raises once it is stopped."""
        with self._lock:
            if self.stopped.is_set():
                raise StoppedError
            one = asyncio.run_coroutine_threadsafe(observation(self, name, arguments), self.loop)
            self._calls.add(one)
        try:
            return one.result()
        finally:
            with self._lock:
                self._calls.discard(one)


class StoppedError(Exception):
    """Nobody waits for this execution any more."""


RUNNING: ContextVar[Running | None] = ContextVar("halflap_dspy_running", default=None)
"""The execution that this task belongs to; threads that DSPy starts for a task have it, too."""


async def observation(running: Running, name: str, arguments: Mapping[str, Any]) -> str:
    """Call a tool for a model, and say what came of it; a failure is something that the model can act on."""
    try:
        result = await running.call(name, arguments, running.context)
    except HalflapError as error:
        return _cut(f"Error: {error}")
    except Exception:
        logger.exception("the call of %s by a DSPy program crashed", name)
        return f"Error: the call of {name} failed within Halflap; its log says how."
    said = result.text
    if not said and result.has_structured_content:
        said = json.dumps(result.structured_content, ensure_ascii=False)
    other = [str(block.get("type")) for block in result.content if block.get("type") != "text"]
    if other:
        said += f"\n({', '.join(other)}: not shown, since it is no text)"
    return _cut(f"Error: {said}" if result.is_error else said)


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}… ({len(text) - _LONGEST:,} characters more)"
