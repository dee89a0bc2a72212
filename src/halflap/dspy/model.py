"""The language model that the configuration names, for DSPy. Imports DSPy: to be imported only where it is needed."""

from __future__ import annotations

import asyncio
import copy
import os
import re
import time
from contextlib import contextmanager
from ipaddress import ip_address
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit
from urllib.request import getproxies

import dspy
from dspy.utils.exceptions import LMError, LMTimeoutError, LMTransportError, is_retryable_lm_error

from halflap.core.errors import ProgramFailedError
from halflap.dspy.answers import answer_key
from halflap.dspy.environment import environment_hidden
from halflap.dspy.redirects import NoAnswerError, redirects_refused
from halflap.dspy.replies import choices_wanted
from halflap.dspy.running import RUNNING
from halflap.dspy.secrecy import redacted, without_key

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from halflap.config import LmConfig
    from halflap.dspy.answers import Answers
    from halflap.dspy.running import Running

__all__ = ["SETTING", "Model", "current", "is_timeout", "make_model"]

SETTING: Final = "halflap_running"
"""Under which DSPy's settings hold the execution, for the threads that DSPy starts."""
_RETRIES: Final = 2
_FIRST_PAUSE: Final = 0.5
_LONGEST_PAUSE: Final = 20.0
_NO_KEY: Final = "none"
"""Sent to a server of one's own that wants no key: without any, the environment's key of a provider would be."""
_HERE: Final = dict.fromkeys(("ollama", "ollama_chat"), "http://localhost:11434")
"""Where models are that run on this machine and want no key, unless the configuration says otherwise."""
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
            return self._clean(copy.deepcopy(found))
        pauses = _pauses()
        while True:
            try:
                with _guarded():
                    outputs = self._clean(await super().acall(prompt, messages=messages, **settings))
                break
            except LMError as error:
                await asyncio.sleep(_pause(error, pauses))
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
            return self._clean(copy.deepcopy(found))
        pauses = _pauses()
        while True:
            try:
                with _guarded():
                    outputs = self._clean(super().__call__(prompt, messages=messages, **settings))
                break
            except LMError as error:
                try:
                    pause = _pause(error, pauses)
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

    def _clean(self, outputs: Any) -> Any:
        """Take the key out of an answer: what is not in it is neither kept, nor made a demo of, nor given to anybody."""
        return without_key(outputs, self.kwargs.get("api_key"))

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
    if (
        pause is None
        or not is_retryable_lm_error(error)
        or is_timeout(error)
        or isinstance(error, NoAnswerError)
    ):
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


@contextmanager
def _guarded() -> Iterator[None]:
    """Have nothing but the configuration say where a model is asked and with what; what leads elsewhere is an error."""
    choices_wanted()
    with environment_hidden(), redirects_refused() as refused:
        try:
            yield
        except LMError as error:
            if not refused:
                raise
            raise NoAnswerError(refused[-1]) from error
    if refused:
        raise NoAnswerError(refused[-1])


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
        _refuse_elsewhere(name, config)
    provider = config.model.partition("/")[0]
    api_base = config.api_base or _HERE.get(provider)
    if api_base is not None:
        _ask_directly(api_base)
    elif config.api_key is None:
        raise ProgramFailedError(
            name,
            f"there is no key for {config.model}, and none is taken from the environment. Say which one to send in the "
            f"configuration file:\nprograms:\n  lm: {{model: {config.model}, api_key: '${{{_variable(provider)}}}'}}\n"
            "For a server of your own that wants no key, say where it is under `programs.lm.api_base`.",
        )
    settings: dict[str, Any] = {
        "timeout": config.timeout or timeout,
        # Servers of one's own have models that no table has; those that speak JSON at all can be held to a schema.
        "takes_schemas": config.adapter == "json" and config.api_base is not None,
        "api_key": config.api_key or _NO_KEY,
    }
    for setting in ("temperature", "max_tokens"):
        if getattr(config, setting) is not None:
            settings[setting] = getattr(config, setting)
    try:
        with environment_hidden():
            return Model(answers, model=config.model, api_base=api_base, **settings)
    except (LMError, TypeError, ValueError) as error:
        raise ProgramFailedError(
            name, f"DSPy cannot use the model of `programs.lm`: {redacted(str(error), config)}"
        ) from None


def _refuse_elsewhere(name: str, config: LmConfig) -> None:
    """Refuse an address of the environment rather than pass over it: whoever set it may not want the provider asked."""
    for variable in _elsewhere(config.model):
        if os.environ.get(variable):
            raise ProgramFailedError(
                name,
                f"the environment variable {variable} names another place for {config.model} than the configuration does, and "
                "would not be followed. Put its value under `programs.lm.api_base`, or take it out of the environment "
                "that Halflap runs in.",
            )


def _variable(provider: str) -> str:
    """Give the name that a provider's key usually has in the environment."""
    return f"{re.sub(r'[^A-Z0-9]+', '_', provider.upper())}_API_KEY"
