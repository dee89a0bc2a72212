"""Images, sounds and resources among results, as they come through the channel."""

from __future__ import annotations

from typing import Any

from halflap.sandbox.media import Media

__all__ = ["Media", "from_gateway"]


def from_gateway(answer: Any) -> Any:
    """Give the value that a program gets. A pair marks something that is not text: JSON has no pairs."""
    if type(answer) is tuple:
        return Media(answer[1])
    if type(answer) is list and any(type(part) is tuple for part in answer):
        return [from_gateway(part) for part in answer]
    return answer
