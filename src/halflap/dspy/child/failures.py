"""Explain what went wrong between a DSPy program and its model."""

from __future__ import annotations

import logging
import traceback
from typing import TYPE_CHECKING

import pydantic
from dspy.utils import exceptions as of_dspy

from halflap.dspy.child.model import is_timeout
from halflap.dspy.child.modules import OutputError
from halflap.dspy.key import place, redacted

if TYPE_CHECKING:
    from halflap.config import LmConfig

__all__ = ["explain"]

logger = logging.getLogger(__name__)

_MAX_SHOWN = 300
_MAX_PROBLEMS = 5
_EXPLAINED: tuple[tuple[type[Exception], str], ...] = (
    (of_dspy.ContextWindowExceededError, "the request is longer than {model} accepts{said}. Shorten the inputs or remove demos."),
    (of_dspy.LMRateLimitError, "the model at {at} is overloaded (status 429){said}.{wait} Try again later."),
    (of_dspy.LMAuthError, "{at} refused the key{status}{said}. Check `programs.lm.api_key`."),
    (of_dspy.LMBillingError, "{at} refused because of its bill or quota{status}{said}."),
    (of_dspy.LMTransportError, "the model at {at} cannot be reached{said}. Is it running? Check `programs.lm.api_base`."),
    (of_dspy.LMServerError, "the model at {at} failed{status}{said}."),
    (of_dspy.LMInvalidRequestError, "{at} did not accept the request for {model}{status}{said}. Check `programs.lm`."),
    (of_dspy.LMConfigurationError, "DSPy cannot use the model of `programs.lm`{said}."),
    (of_dspy.LMUnsupportedFeatureError, "DSPy cannot use the model of `programs.lm`{said}."),
    (
        of_dspy.LMError,
        "the answer from {at} is not a chat completion{status}{said}. Check `programs.lm.api_base` and the provider in `programs.lm.model`.",
    ),
)  # fmt: skip
"""The first class that fits counts, so subclasses come first."""


def explain(error: BaseException, config: LmConfig) -> str:
    """Return what went wrong, where, and what to do; never with the key."""
    if isinstance(error, OutputError):
        text = str(error)
    elif isinstance(error, of_dspy.AdapterParseError):
        text = _unreadable(error, config)
    elif isinstance(error, RecursionError):
        text = "the model's answer is nested too deep."
    elif is_timeout(error):
        text = f"the model at {place(config)} did not answer within {config.timeout:g} s (`programs.lm.timeout`)."
    elif isinstance(error, of_dspy.LMError):
        said = _first_line(str(error.message), config)
        text = next(text for kind, text in _EXPLAINED if isinstance(error, kind)).format(
            at=place(config),
            model=config.model,
            said=f": {said}" if said else "",
            status="" if error.status is None else f" (status {error.status})",
            wait=f" It asks to wait {error.retry_after:g} s." if error.retry_after else "",
        )
    else:
        logger.error("%s", redacted("".join(traceback.format_exception(error)), config))
        text = f"DSPy failed with {type(error).__name__}: {_first_line(str(error), config)}"
    return redacted(text, config)


def _unreadable(error: of_dspy.AdapterParseError, config: LmConfig) -> str:
    """Describe which field of an answer is missing or wrong."""
    first = error.__context__
    if isinstance(first, of_dspy.AdapterParseError) and not error.parsed_result:
        # DSPy asks again, for JSON, if it cannot read the first answer; that one usually says more.
        error = first
    answer = str(error.lm_response or "").strip()
    expected = list(error.signature.output_fields)
    if not answer:
        return f"the model answered nothing; expected {', '.join(expected)}."
    cause = error.__cause__ or error.__context__
    if isinstance(cause, pydantic.ValidationError):
        wrong = "; ".join(
            f"{'.'.join(map(str, one['loc']))}{': ' if one['loc'] else ''}{one['msg']}"
            for one in cause.errors(include_url=False, include_input=False)[:_MAX_PROBLEMS]
        )
        why = f"{str(error.message or '').partition(' with value')[0].removeprefix('Failed to parse ')}: {wrong}"
    else:
        missing = [name for name in expected if name not in (error.parsed_result or {})]
        why = f"{', '.join(missing or expected)} missing or unreadable"
    return f"the model's answer cannot be read ({why}). It answered: {_cut(answer, config)}"


def _first_line(text: str, config: LmConfig) -> str:
    line = next((line.strip() for line in text.splitlines() if line.strip()), "")
    return _cut(line, config).rstrip(".")


def _cut(text: str, config: LmConfig) -> str:
    # In this order: part of a key that was cut could not be recognised.
    clean = redacted(text, config)
    return clean if len(clean) <= _MAX_SHOWN else f"{clean[:_MAX_SHOWN]}…"
