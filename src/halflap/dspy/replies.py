"""Has an answer that is no answer of a chat refused: DSPy takes it for one without a word in it. Imports DSPy, as `model` does."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

from dspy._vendor.lm15.providers.openai_chat import OpenAIChatLM

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["choices_wanted"]

_LOCK = threading.Lock()


def choices_wanted() -> None:
    """Have answers of the chat API looked at as they are read, from now on."""
    with _LOCK:
        original: Callable[..., Any] = OpenAIChatLM.parse_response
        if getattr(original, "wants_choices", False):
            return

        # Named as what it stands for: by that it is known that it was in reading an answer that something went wrong.
        def parse_response(self: Any, request: Any, response: Any) -> Any:
            found = original(self, request, response)
            if not isinstance((found.provider_data or {}).get("choices"), list):
                raise TypeError("the answer has no choices")
            return found

        parse_response.wants_choices = True  # type: ignore[attr-defined]
        OpenAIChatLM.parse_response = parse_response
