"""The language model that the configuration names, for DSPy. Imports DSPy: to be imported only where it is needed."""

from __future__ import annotations

import asyncio
import copy
import os
import time
from ipaddress import ip_address
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit
from urllib.request import getproxies

import dspy
from dspy.utils.exceptions import LMError, LMTimeoutError, LMTransportError, is_retryable_lm_error

from halflap.errors import ProgramFailedError
from halflap.programs.answers import answer_key
from halflap.programs.redirects import redirects_refused
from halflap.programs.running import RUNNING
from halflap.programs.secrecy import redacted

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from halflap.config import LmConfig
    from halflap.programs.answers import Answers
    from halflap.programs.running import Running

__all__ = ["SETTING", "Model", "current", "is_redirect", "is_timeout", "make_model"]

SETTING: Final = "halflap_running"
"""Under which DSPy's settings hold the execution, for the threads that DSPy starts."""
_RETRIES: Final = 2
_FIRST_PAUSE: Final = 0.5
_LONGEST_PAUSE: Final = 20.0
_NO_KEY: Final = "none"
"""Sent to a server of one's own that wants no key: without any, the environment's key of a provider would be."""
_OF_THE_CLIENT: Final = {"api_key", "api_base", "base_url", "timeout"}


class Model(dspy.LM):  # type: ignore[misc]  # DSPy has no types
    """Asks the model, or gives what it answered before to the very same request; tries again what may pass.

    DSPy's own cache is one for the whole process, does not tell endpoints apart, and reads pickles; it is off here.
    """

    def __init__(
        self,
        answers: Answers | None,
        *,
        model: str,
        api_base: str | None,
        takes_schemas: bool = False,
        **settings: Any,
    ) -> None:
        super().__init__(model, cache=False, num_retries=0, api_base=api_base, **settings)
        self.answers = answers
        self.namespace = {"model": model, "api_base": api_base}
        self.takes_schemas = takes_schemas

    @property
    def supports_response_schema(self) -> bool:
        """Say whether the form of an answer may be asked for: DSPy knows it of the models in its table alone."""
        return self.takes_schemas or bool(super().supports_response_schema)

    @property
    def supported_params(self) -> set[str]:
        """Give what may be said in a request."""
        known: set[str] = super().supported_params
        return known | {"response_format"} if self.takes_schemas else known

    async def acall(self, prompt: Any = None, *, messages: Any = None, **settings: Any) -> Any:
        """Answer from what was kept, else ask."""
        key = self._key(prompt, messages, settings)
        found = None
        if self.answers is not None and key is not None:
            found = self.answers.recent(key)
            if found is None:
                found = await asyncio.to_thread(self.answers.stored, key)
        _count(key, hit=found is not None)
        if found is not None:
            return copy.deepcopy(found)
        pauses = _pauses()
        while True:
            try:
                with redirects_refused() as led:
                    outputs = await super().acall(prompt, messages=messages, **settings)
                break
            except LMError as error:
                await asyncio.sleep(_pause(_led_elsewhere(error, led), pauses))
        if self.answers is not None and key is not None:
            await asyncio.to_thread(self.answers.keep, key, outputs)
        return outputs

    def __call__(self, prompt: Any = None, *, messages: Any = None, **settings: Any) -> Any:
        """Do the same in a thread of its own, as DSPy's optimizers do."""
        running = current()
        _go_on(running)
        key = self._key(prompt, messages, settings)
        found = None
        if self.answers is not None and key is not None:
            found = self.answers.recent(key) or self.answers.stored(key)
        _count(key, hit=found is not None)
        if found is not None:
            return copy.deepcopy(found)
        pauses = _pauses()
        while True:
            try:
                with redirects_refused() as led:
                    outputs = super().__call__(prompt, messages=messages, **settings)
                break
            except LMError as error:
                try:
                    pause = _pause(_led_elsewhere(error, led), pauses)
                except LMError:
                    if running is not None and running.trouble is None:
                        running.trouble = error
                        running.stop()
                    raise
                if running is None:
                    time.sleep(pause)
                else:
                    running.stopped.wait(pause)
                _go_on(running)
        if self.answers is not None and key is not None:
            self.answers.keep(key, outputs)
        return outputs

    def _key(self, prompt: Any, messages: Any, settings: Mapping[str, Any]) -> str | None:
        said = {**self.kwargs, **settings}
        request = {name: value for name, value in said.items() if name not in _OF_THE_CLIENT}
        return answer_key(self.namespace, {"prompt": prompt, "messages": messages, **request})


def current() -> Running | None:
    """Give the execution that this belongs to, also in a thread that DSPy started: it hands on its settings alone."""
    return RUNNING.get() or dspy.settings.get(SETTING)


def _go_on(running: Running | None) -> None:
    if running is not None and running.stopped.is_set():
        raise LMError("it was stopped")


def _count(key: str | None, *, hit: bool) -> None:
    running = current()
    if running is not None:
        running.asked += 1
        running.hits += hit
        if key is not None:
            running.keys.append(key)


def _pauses() -> Iterator[float]:
    return (_FIRST_PAUSE * 2**attempt for attempt in range(_RETRIES))


def _pause(error: LMError, pauses: Iterator[float]) -> float:
    """Say how long to wait before it is tried again, or raise: not what won't pass, nor past the end of the time."""
    pause = next(pauses, None)
    if pause is None or not is_retryable_lm_error(error) or is_timeout(error) or is_redirect(error):
        raise error
    wanted = max(pause, error.retry_after or 0.0)
    running = current()
    left = None if running is None else running.seconds_left
    if wanted > _LONGEST_PAUSE or (left is not None and wanted >= left):
        raise error
    return float(wanted)


def is_timeout(error: BaseException) -> bool:
    """Say whether the model took too long, which it would again."""
    # What a server says of its own troubles is no sign of it.
    return isinstance(error, LMTimeoutError) or (
        isinstance(error, LMTransportError) and "timed out" in str(error)
    )


def _led_elsewhere(error: LMError, led: list[int]) -> LMError:
    """Say it of an error that came of a redirection which was not followed."""
    if led:
        error.status = led[-1]
    return error


def is_redirect(error: LMError) -> bool:
    """Say whether the address leads to another one, which it would again."""
    return error.status is not None and 300 <= error.status < 400  # noqa: PLR2004  # all of HTTP's redirections


def _ask_directly(address: str) -> None:
    """Have a model on this machine asked without the proxy that the environment names, which would get the key."""
    host = urlsplit(address).hostname or ""
    if not _is_here(host) or not getproxies():
        return
    # There is no other way to tell it to both of the clients that DSPy has. The name in lower case counts, if there are both.
    for variable in ("no_proxy", "NO_PROXY"):
        told = [one.strip() for one in os.environ.get(variable, "").split(",") if one.strip()]
        if host not in told and "*" not in told and (variable in os.environ or variable == "NO_PROXY"):
            os.environ[variable] = ",".join([*told, host])


def _is_here(host: str) -> bool:
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def _elsewhere(model: str) -> Iterator[str]:
    """Give the variables by which DSPy or LiteLLM would ask at another place: `ollama_chat` goes by OLLAMA's, too."""
    words = model.partition("/")[0].upper().replace("-", "_").split("_")
    for begin in range(len(words)):
        for end in range(begin + 1, len(words) + 1):
            for name in {"_".join(words[begin:end]), "".join(words[begin:end])}:
                yield f"{name}_API_BASE"
                yield f"{name}_BASE_URL"
    if os.environ.get("USE_LITELLM_PROXY", "").strip().lower() == "true":
        yield "LITELLM_PROXY_API_BASE"


def make_model(name: str, config: LmConfig, timeout: float, answers: Answers | None) -> Model:
    """Make the model that the configuration names: nothing else, of the environment or of a file, says where to ask."""
    if config.api_base is None:
        for variable in _elsewhere(config.model):
            if os.environ.get(variable):
                raise ProgramFailedError(
                    name,
                    f"the environment variable {variable} would send what the DSPy programs ask to another place than the "
                    "configuration says. Put its value under `programs.lm.api_base`, or take it out of the environment "
                    "that Halflap runs in.",
                )
    else:
        _ask_directly(config.api_base)
    settings: dict[str, Any] = {
        "timeout": config.timeout or timeout,
        # Servers of one's own have models that no table has; those that speak JSON at all can be held to a schema.
        "takes_schemas": config.adapter == "json" and config.api_base is not None,
    }
    for setting in ("temperature", "max_tokens"):
        if getattr(config, setting) is not None:
            settings[setting] = getattr(config, setting)
    if config.api_key is not None or config.api_base is not None:
        settings["api_key"] = config.api_key or _NO_KEY
    try:
        return Model(answers, model=config.model, api_base=config.api_base, **settings)
    except (LMError, TypeError, ValueError) as error:
        raise ProgramFailedError(
            name, f"DSPy cannot use the model of `programs.lm`: {redacted(str(error), config)}"
        ) from None
