"""What went wrong between a DSPy program and its model, in plain words. Imports DSPy, as `building` does."""

from __future__ import annotations

import json
import logging
import re
import traceback
from typing import TYPE_CHECKING, Any, Final

from dspy._vendor.lm15.transports._exceptions import ProtocolError, ReadError, WriteError
from dspy.utils.exceptions import (
    AdapterParseError,
    ContextWindowExceededError,
    LMAuthError,
    LMBillingError,
    LMConfigurationError,
    LMError,
    LMInvalidRequestError,
    LMProviderError,
    LMRateLimitError,
    LMServerError,
    LMTransportError,
    LMUnexpectedError,
    LMUnsupportedFeatureError,
)

from halflap.dspy.model import is_timeout
from halflap.dspy.redirects import NoAnswerError
from halflap.dspy.rules import broken_rules
from halflap.dspy.secrecy import place, redacted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from halflap.config import LmConfig

__all__ = ["in_plain_words", "is_of_model"]

logger = logging.getLogger(__name__)

_LONGEST: Final = 300
_OF_FIELD = re.compile(r"Failed to parse field (\w+)")


def in_plain_words(error: BaseException, config: LmConfig, timeout: float) -> str:
    """Say what went wrong, where, and what to do next; never with the key."""
    if isinstance(error, AdapterParseError):
        said = _unreadable(error, config)
    elif isinstance(error, LMError):
        said = _of_model(error, config, timeout)
    else:
        logger.error("DSPy failed: %s", redacted("".join(traceback.format_exception(error)), config))
        said = f"DSPy failed with {type(error).__name__}: {_first_line(str(error), config)}"
    return redacted(said, config)


def is_of_model(error: BaseException) -> bool:
    """Say whether the model could not be asked: what it answered before that is as good as it was."""
    return isinstance(error, LMError)


# The first that fits is said; classes that come from others stand before those.
_SAID: Final[tuple[tuple[type[LMError], str], ...]] = (
    (ContextWindowExceededError, "what was to be asked is longer than {model} takes{told}. Give it less, or the program fewer demos."),
    (LMRateLimitError, "the model at {at} has too much to do (status 429){told}.{wait} Try it again later."),
    (LMAuthError, "{at} refused the key{status}{told}. Look at `programs.lm.api_key`."),
    (LMBillingError, "{at} refused for its bill or quota{status}{told}."),
    (LMTransportError, "the model at {at} cannot be reached{told}. Does it run there? `programs.lm.api_base` says where."),
    (LMServerError, "the model at {at} failed{status}{told}."),
    (LMInvalidRequestError, "{at} did not take the request for {model}{status}{told}. Look at `programs.lm`."),
    (LMConfigurationError, "DSPy cannot use the model of `programs.lm`{told}."),
    (LMUnsupportedFeatureError, "DSPy cannot use the model of `programs.lm`{told}."),
    (LMProviderError, "{at} gave an answer that is none{told}."),
    (LMError, "asking {model} failed{told}."),
)  # fmt: skip


def _of_model(error: LMError, config: LmConfig, timeout: float) -> str:
    at = place(config)
    if is_timeout(error):
        seconds = config.timeout or timeout
        return f"the model at {at} did not answer within {seconds:g} s. `programs.lm.timeout` says how long it may take."
    if isinstance(error, NoAnswerError):
        return _no_answer(error, config)
    other = _not_as_asked(error, at, config)
    if other:
        return other
    said = next(text for kind, text in _SAID if isinstance(error, kind))
    return said.format(
        at=at,
        model=config.model,
        told=_told(error, config),
        status="" if error.status is None else f" (status {error.status})",
        wait=f" It asks to wait {error.retry_after:g} s." if error.retry_after else "",
    )


def _not_as_asked(error: LMError, at: str, config: LmConfig) -> str:
    """Say what came instead of an answer, where something did."""
    causes = list(_causes(error))
    if any(isinstance(one, (ReadError, WriteError)) or _is_cut_off(one) for one in causes):
        return (
            f"the connection to {at} broke off before the answer was whole. What runs there, or a proxy before it, ended it: its log "
            "may say why. Try it again."
        )
    if any(isinstance(one, ProtocolError) and "forbidden byte" not in str(one) for one in causes):
        what = "is no proper HTTP"
    elif type(error) not in {LMProviderError, LMUnexpectedError}:
        # An error that has a status says more by that.
        return ""
    elif any(isinstance(one, json.JSONDecodeError) for one in causes):
        what = "is no JSON"
    elif any(_was_read(one) for one in causes):
        what = "has another form"
    else:
        return ""
    return (
        f"what answered at {at} does not speak the chat API that {config.model} is asked by: its answer {what}. Look at "
        "`programs.lm.api_base`; what stands before the `/` in `programs.lm.model` says which API that is."
    )


def _causes(error: BaseException) -> Iterator[BaseException]:
    found: BaseException | None = error.__cause__
    while found is not None:
        yield found
        found = found.__cause__ or found.__context__


def _is_cut_off(error: BaseException) -> bool:
    return isinstance(error, ProtocolError) and "closed" in str(error)


def _was_read(error: BaseException) -> bool:
    """Say whether it was in reading an answer that this went wrong, by what is in it: nothing else tells these apart."""
    return isinstance(error, (TypeError, ValueError, LookupError, AttributeError)) and any(
        frame.name == "parse_response" for frame in traceback.extract_tb(error.__traceback__)
    )


def _no_answer(error: NoAnswerError, config: LmConfig) -> str:
    reply, at = error.reply, place(config)
    if not reply.is_redirect:
        return f"{at} answered with status {reply.status}, which is no answer. Does `programs.lm.api_base` name a model's address?"
    to = reply.place(config.api_base or "")
    return (
        f"{at} leads elsewhere{f', to {to}' if to else ''} (status {reply.status}), and nothing is sent to another place than the "
        "configuration says. If that is where the model is, put its address under `programs.lm.api_base`."
    )


def _told(error: LMError, config: LmConfig) -> str:
    said = _first_line(str(error.message), config)
    return f": {said}" if said else ""


def _first_line(text: str, config: LmConfig) -> str:
    line = next((line.strip() for line in text.splitlines() if line.strip()), "")
    return _cut(line, config).rstrip(".")


def _cut(text: str, config: LmConfig) -> str:
    # In this order: of a key that is cut through, nobody would know what is left.
    clean = redacted(text, config)
    return clean if len(clean) <= _LONGEST else f"{clean[:_LONGEST]}…"


def _unreadable(error: AdapterParseError, config: LmConfig) -> str:
    """Say which field of an answer is missing or wrong."""
    error = _more_telling(error)
    expected = list(error.signature.output_fields)
    answer = str(error.lm_response or "").strip()
    if not answer:
        return f"the model answered nothing, and was to answer with {_list(expected)}."
    shown = _cut(answer, config)
    of_field = _OF_FIELD.search(str(error.message))
    if of_field:
        name = of_field.group(1)
        wanted = getattr(error.signature.output_fields.get(name), "annotation", None)
        told = broken_rules(name, wanted, error.__cause__ or error.__context__)
        return f"the model's answer cannot be read: {told}. It answered: {shown}"
    there: Any = error.parsed_result or {}
    missing = [name for name in expected if name not in there]
    return f"the model's answer cannot be read: it has no {_list(missing)}. It answered: {shown}"


def _more_telling(error: AdapterParseError) -> AdapterParseError:
    """Choose between two answers: DSPy asks again, for JSON, when the first cannot be read."""
    first = error.__context__
    if (
        not isinstance(first, AdapterParseError)
        or _OF_FIELD.search(str(error.message))
        or error.parsed_result
    ):
        return error
    return first


def _list(names: list[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)
