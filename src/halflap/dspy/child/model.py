"""The language model that the configuration names, for DSPy."""

from __future__ import annotations

import asyncio
import copy
import math
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import dspy
import httpx
from dspy.utils.exceptions import (
    ContextWindowExceededError,
    LMError,
    LMTimeoutError,
    LMTransportError,
    is_retryable_lm_error,
)

from halflap.dspy.child.answers import answer_key
from halflap.dspy.key import redact_answer

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from halflap.config import LmConfig
    from halflap.dspy.child.answers import Answers

__all__ = ["JOB", "Job", "Model", "is_timeout", "make_model"]

JOB = "halflap_job"
"""DSPy's settings hold the job under this name; DSPy passes them on to its threads."""
_PAUSES = (0.5, 1.0)
"""Seconds before each retry of what may pass, unless the server asks for more."""
_MAX_PAUSE = 20.0
_CLIENT_SETTINGS = frozenset({"api_key", "api_base", "base_url", "timeout"})
_NO_KEY = "none"
"""Sent to a server that wants no key: without one, clients look for a key elsewhere."""


@dataclass(slots=True)
class Job:
    """What the steps of one execution or optimisation share."""

    number: int
    call: Callable[[int, str, dict[str, Any]], Awaitable[str]]
    deadline: float = math.inf
    """On the monotonic clock."""
    asked: int = 0
    hits: int = 0
    keys: list[str] = field(default_factory=list)
    """Cache keys of the answers that it got."""
    is_optimizing: bool = False
    trouble: LMError | None = None
    """Why the model could not be asked; an optimizer would take that for a bad answer, and continue."""

    @property
    def cache_hit(self) -> bool:
        return 0 < self.asked == self.hits


class Model(dspy.LM):  # type: ignore[misc]  # DSPy has no types
    """Asks the model, or returns its cached answer to the same request; retries what may pass.

    DSPy's own cache is off: it does not tell addresses apart, and reads pickles.
    """

    def __init__(
        self,
        answers: Answers | None,
        loop: asyncio.AbstractEventLoop,
        *,
        model: str,
        api_base: str | None,
        takes_schemas: bool,
        **settings: Any,
    ) -> None:
        super().__init__(model, cache=False, num_retries=0, api_base=api_base, **settings)
        self.answers = answers
        self.loop = loop
        self.namespace = {"model": model, "api_base": api_base}
        self.takes_schemas = takes_schemas

    @property
    def supports_response_schema(self) -> bool:
        """DSPy knows this only of models in its table."""
        return self.takes_schemas or bool(super().supports_response_schema)

    @property
    def supported_params(self) -> set[str]:
        known: set[str] = super().supported_params
        return known | {"response_format"} if self.takes_schemas else known

    def __deepcopy__(self, memo: dict[int, Any]) -> Model:
        """Optimizers copy modules; connections and the event loop are shared."""
        return self

    async def acall(self, prompt: Any = None, *, messages: Any = None, **settings: Any) -> Any:
        said = {
            name: one for name, one in {**self.kwargs, **settings}.items() if name not in _CLIENT_SETTINGS
        }
        key = answer_key(self.namespace, {"prompt": prompt, "messages": messages, **said})
        found = None if self.answers is None or key is None else self.answers.find(key)
        job: Job = dspy.settings.get(JOB)
        job.asked += 1
        job.hits += found is not None
        job.keys += [key] if key is not None else []
        if found is None:
            found = await self._ask(prompt, messages, settings, job)
            if self.answers is not None and key is not None:
                self.answers.keep(key, found)
        return copy.deepcopy(found)

    def __call__(self, prompt: Any = None, *, messages: Any = None, **settings: Any) -> Any:
        """Ask from a thread, as optimizers do."""
        asked = self.acall(prompt, messages=messages, **settings)
        return asyncio.run_coroutine_threadsafe(asked, self.loop).result()

    async def _ask(self, prompt: Any, messages: Any, settings: Mapping[str, Any], job: Job) -> Any:
        if job.trouble is not None:
            raise job.trouble
        for pause in (*_PAUSES, None):
            try:
                answer = await super().acall(prompt, messages=messages, **settings)
                return redact_answer(answer, self.kwargs.get("api_key"))
            except LMError as error:
                wanted = max(pause or 0.0, error.retry_after or 0.0)
                left = min(_MAX_PAUSE, job.deadline - time.monotonic())
                if pause is None or wanted > left or not is_retryable_lm_error(error) or is_timeout(error):
                    # A ReAct shortens what is too long, and asks again.
                    if job.is_optimizing and not isinstance(error, ContextWindowExceededError):
                        job.trouble = error
                    raise
                await asyncio.sleep(wanted)
        raise AssertionError("the last attempt returns or raises")


def is_timeout(error: BaseException) -> bool:
    """Return whether the model took too long, which it would do again."""
    return isinstance(error, LMTimeoutError) or (
        isinstance(error, LMTransportError) and "timed out" in str(error)
    )


def make_model(
    config: LmConfig, answers: Answers | None, loop: asyncio.AbstractEventLoop, *, has_address: bool
) -> Model:
    """Make the configured model; no address leads its client anywhere else."""
    _refuse_redirects()
    settings = {name: getattr(config, name) for name in ("temperature", "max_tokens")}
    return Model(
        answers,
        loop,
        model=config.model,
        api_base=config.api_base,
        api_key=config.api_key or _NO_KEY,
        timeout=config.timeout,
        # A server of one's own has models that no table lists; if it speaks JSON, it can follow a schema.
        takes_schemas=config.adapter == "json" and has_address,
        **{name: value for name, value in settings.items() if value is not None},
    )


def _refuse_redirects() -> None:
    """Turn off redirects in httpx, which LiteLLM turns on: headers with a key would follow them."""
    sync_send, async_send = httpx.Client.send, httpx.AsyncClient.send

    def send(self: Any, request: Any, **settings: Any) -> Any:
        return sync_send(self, request, **{**settings, "follow_redirects": False})

    async def asend(self: Any, request: Any, **settings: Any) -> Any:
        return await async_send(self, request, **{**settings, "follow_redirects": False})

    httpx.Client.send, httpx.AsyncClient.send = send, asend
