"""Explain the errors of a DSPy program and its model."""

from __future__ import annotations

import logging
import traceback
from typing import TYPE_CHECKING

from dspy.utils import exceptions as of_dspy

from halflap.core.text import shorten
from halflap.dspy.child.modules import OutputError
from halflap.dspy.key import address, redacted

if TYPE_CHECKING:
    from halflap.config import LmConfig

logger = logging.getLogger(__name__)

_MAX_SHOWN = 300
_EXPLAINED: tuple[tuple[type[Exception], str, str], ...] = (
    (of_dspy.ContextWindowExceededError, "does not accept so long a request", "Shorten the inputs or remove demos."),
    (of_dspy.LMRateLimitError, "is overloaded", "Try again later."),
    (of_dspy.LMAuthError, "refused the key", "Check `programs.lm.api_key`."),
    (of_dspy.LMTransportError, "cannot be reached", "Is it running? Check `programs.lm.api_base`."),
    (of_dspy.LMError, "failed", "Check `programs.lm.model` and `programs.lm.api_base`."),
)  # fmt: skip
"""The first class that fits counts."""


def explain(error: BaseException, config: LmConfig) -> str:
    """Return what failed, where, and what to do; the parent process redacts the key."""
    if isinstance(error, OutputError):
        text = str(error)
    elif isinstance(error, of_dspy.AdapterParseError):
        text = _unreadable(error, config)
    elif isinstance(error, RecursionError):
        text = "the model's answer is nested too deep."
    elif isinstance(error, TimeoutError):
        text = f"the model at {address(config)} did not answer within {config.timeout:g} s (`programs.lm.timeout`)."
    elif isinstance(error, of_dspy.LMError):
        what, advice = next(texts for kind, *texts in _EXPLAINED if isinstance(error, kind))
        status = "" if error.status is None else f" (status {error.status})"
        wait = f" It asks to wait {error.retry_after:g} s." if error.retry_after else ""
        shown = _shown(str(error.message), config)
        text = f"the model at {address(config)} {what}{status}: {shown or 'no reason given'}.{wait} {advice}"
    else:
        logger.error("%s", "".join(traceback.format_exception(error)))
        text = f"DSPy failed with {type(error).__name__}: {_shown(str(error), config)}"
    return text


def _unreadable(error: of_dspy.AdapterParseError, config: LmConfig) -> str:
    """Describe which fields of an answer are missing or wrong."""
    if isinstance(error.__context__, of_dspy.AdapterParseError) and not error.parsed_result:
        # If DSPy cannot parse the first answer, it asks again for JSON; the first error is usually more useful.
        error = error.__context__
    wrong = [name for name in error.signature.output_fields if name not in (error.parsed_result or {})]
    answer = str(error.lm_response or "").strip()
    shown = f"It answered: {_shown(answer, config)}" if answer else "It answered nothing."
    return f"the model's answer cannot be read ({', '.join(wrong)} missing or of another type). {shown}"


def _shown(text: str, config: LmConfig) -> str:
    """Return the text as one line, cut after redacting: part of a key could not be recognised."""
    return shorten(redacted(" ".join(text.split()), config), _MAX_SHOWN).rstrip(".")
