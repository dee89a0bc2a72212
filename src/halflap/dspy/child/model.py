"""The configured language model, as DSPy calls it."""

from __future__ import annotations

import asyncio
import copy
import math
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import dspy
import httpx
from dspy.utils.exceptions import ContextWindowExceededError, LMError, is_retryable_lm_error

from halflap.dspy.child.answers import Answers, answer_key

if TYPE_CHECKING:
    from halflap.config import LmConfig

JOB = "halflap_job"
"""DSPy's settings hold the job under this name; DSPy passes them on to its threads."""
_PAUSES = (0.5, 1.0)
"""Seconds before each retry after a transient failure, unless the server asks for more."""
_MAX_PAUSE = 20.0
_NO_KEY = "none"
"""Sent if no key is configured: otherwise clients would look for one elsewhere."""


@dataclass(slots=True)
class Job:
    """State shared by the steps of one execution or optimisation."""

    number: int
    call: Callable[[int, str, dict[str, Any]], Awaitable[str]]
    deadline: float = math.inf
    """On the monotonic clock."""
    asked: int = 0
    hits: int = 0
    new: dict[str, Any] = field(default_factory=dict)
    """Answers that were not in the cache, by key; kept once the program's outputs are valid."""
    is_optimizing: bool = False
    failure: LMError | TimeoutError | None = None
    """Why the model could not be reached; an optimizer would treat that as a bad answer, and continue."""

    @property
    def cache_hit(self) -> bool:
        return 0 < self.asked == self.hits


class Model(dspy.LM):  # type: ignore[misc]  # DSPy has no types
    """Calls the model, or returns its cached answer to the same request; retries transient failures.

    DSPy's own cache is off: it ignores the address, and reads pickles.
    """

    def __init__(self, config: LmConfig, answers: Answers | None, loop: asyncio.AbstractEventLoop) -> None:
        settings = config.model_dump(include={"temperature", "max_tokens"}, exclude_none=True)
        key = config.api_key or _NO_KEY
        super().__init__(
            config.model, cache=False, num_retries=0, api_base=config.api_base, api_key=key, **settings
        )
        _refuse_redirects()
        self.config = config
        self.answers = answers
        self.loop = loop
        # DSPy's table lacks self-hosted models; with `adapter: json` they are expected to follow schemas.
        self.takes_schemas = config.adapter == "json" and config.api_base is not None

    @property
    def supports_response_schema(self) -> bool:
        """DSPy's own answer covers only the models in its table."""
        return self.takes_schemas or bool(super().supports_response_schema)

    @property
    def supported_params(self) -> set[str]:
        known: set[str] = super().supported_params
        return known | {"response_format"} if self.takes_schemas else known

    def __deepcopy__(self, memo: dict[int, Any]) -> Model:
        """Optimizers copy modules; connections and the event loop are shared."""
        return self

    async def acall(self, prompt: Any = None, *, messages: Any = None, **settings: Any) -> Any:
        asked = {**self.kwargs, **settings, "model": self.model, "prompt": prompt, "messages": messages}
        # The address counts, the key does not.
        key = answer_key({name: value for name, value in asked.items() if name != "api_key"})
        answer = None if self.answers is None else self.answers.find(key)
        job: Job = dspy.settings.get(JOB)
        job.asked += 1
        job.hits += answer is not None
        if answer is None:
            answer = job.new[key] = await self._ask(job, {"prompt": prompt, "messages": messages, **settings})
            if job.is_optimizing and self.answers is not None:
                self.answers.keep({key: answer})
        return copy.deepcopy(answer)

    def __call__(self, prompt: Any = None, *, messages: Any = None, **settings: Any) -> Any:
        """Ask from a thread, as optimizers do."""
        asked = self.acall(prompt, messages=messages, **settings)
        return asyncio.run_coroutine_threadsafe(asked, self.loop).result()

    async def _ask(self, job: Job, request: dict[str, Any]) -> Any:
        if job.failure is not None:
            raise job.failure
        for pause in (*_PAUSES, math.inf):
            try:
                async with asyncio.timeout(self.config.timeout):
                    return await super().acall(**request)
            except (LMError, TimeoutError) as error:
                wait = max(pause, getattr(error, "retry_after", None) or 0.0)
                left = min(_MAX_PAUSE, job.deadline - time.monotonic())
                if wait > left or not is_retryable_lm_error(error):
                    # A ReAct shortens a request that is too long, and tries again.
                    if job.is_optimizing and not isinstance(error, ContextWindowExceededError):
                        job.failure = error
                    raise
                await asyncio.sleep(wait)
        raise AssertionError("the last attempt returns or raises")


def _refuse_redirects() -> None:
    """Turn off redirects in httpx, which LiteLLM turns on: headers with a key would follow them."""
    sync_send, async_send = httpx.Client.send, httpx.AsyncClient.send

    def send(self: Any, request: Any, **settings: Any) -> Any:
        return sync_send(self, request, **{**settings, "follow_redirects": False})

    async def asend(self: Any, request: Any, **settings: Any) -> Any:
        return await async_send(self, request, **{**settings, "follow_redirects": False})

    httpx.Client.send, httpx.AsyncClient.send = send, asend
