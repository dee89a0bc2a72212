"""Keeps the key of the language model out of every message and out of the log."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from halflap.config import LmConfig

__all__ = ["KeyFilter", "place", "redacted"]

_HIDDEN = "[api_key]"
_SHORTEST = 4
"""What is shorter is no secret, and taking it out of every word would leave no message."""

_LONGEST = 100_000
_SHORTEST_PART = 8
"""Of a part of a key, likewise."""


def redacted(text: str, config: LmConfig | None) -> str:
    """Give a text without the key, and without what the address may hold besides a place."""
    if config is None:
        return text
    if config.api_base is not None:
        text = text.replace(config.api_base, place(config))
    key = config.api_key
    if key is None or len(key) < _SHORTEST:
        return text
    if len(key) <= _SHORTEST_PART:
        return text.replace(key, _HIDDEN)
    # Others cut what they say, too: any part of the key that is long enough tells of it.
    parts = {key[at : at + _SHORTEST_PART] for at in range(len(key) - _SHORTEST_PART + 1)}
    # Nothing that is told is nearly as long.
    text, rest = text[:_LONGEST], text[_LONGEST:].replace(key, _HIDDEN)
    shown: list[str] = []
    start = at = 0
    while at <= len(text) - _SHORTEST_PART:
        if text[at : at + _SHORTEST_PART] not in parts:
            at += 1
            continue
        end = at + _SHORTEST_PART
        while text[end - _SHORTEST_PART + 1 : end + 1] in parts:
            end += 1
        shown += [text[start:at], _HIDDEN]
        start = at = end
    return "".join([*shown, text[start:], rest])


def place(config: LmConfig) -> str:
    """Say where the model is, as far as that can be told to anybody."""
    if config.api_base is None:
        return f"the provider of {config.model}"
    parts = urlsplit(config.api_base)
    return f"{parts.scheme}://{parts.hostname}{'' if parts.port is None else f':{parts.port}'}{parts.path}"


class KeyFilter(logging.Filter):
    """Takes the key out of what DSPy and LiteLLM log."""

    def __init__(self, config: LmConfig) -> None:
        super().__init__()
        self._config = config

    def filter(self, record: logging.LogRecord) -> bool:
        """Let everything through, without the key."""
        said = record.getMessage()
        clean = redacted(said, self._config)
        if clean != said:
            record.msg, record.args = clean, ()
        return True
