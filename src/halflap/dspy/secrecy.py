"""Keeps the key of the language model out of every message and out of the log."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from halflap.config import LmConfig

__all__ = ["KeyFilter", "place", "redacted", "without_key"]

_HIDDEN = "[api_key]"
_SHORTEST = 4
"""What is shorter is no secret, and taking it out of every word would leave no message."""

_LONGEST = 100_000
_SHORTEST_PART = 8
"""Of a part of a key, likewise."""
_SHORTEST_ANSWERED = 16
"""Of a part of a key in an answer, which is not to be changed for less."""


def redacted(text: str, config: LmConfig | None) -> str:
    """Give a text without the key, and without what the address may hold besides a place."""
    if config is None:
        return text
    if config.api_base is not None:
        text = text.replace(config.api_base, place(config))
    key = config.api_key
    if key is None or len(key) < _SHORTEST:
        return text
    return _without(text, key, _SHORTEST_PART)


def without_key(value: Any, key: str | None) -> Any:
    """Give what a model answered without the key, wherever in it that is.

    An answer is somebody's data: a word that stands for no key (`ollama`, `lm-studio`), or the beginning that all keys of a
    provider share, is left in it.
    """
    if (
        key is None
        or (len(key) < _SHORTEST_ANSWERED and not any(one.isdigit() for one in key))
        or len(key) < _SHORTEST_PART
    ):
        return value
    if isinstance(value, str):
        return _without(value, key, _SHORTEST_ANSWERED)
    if isinstance(value, list):
        return [without_key(one, key) for one in value]
    if isinstance(value, dict):
        return {name: without_key(one, key) for name, one in value.items()}
    return value


def _without(text: str, key: str, shortest: int) -> str:
    if len(key) <= shortest:
        return text.replace(key, _HIDDEN)
    # Others cut what they say, too: any part of the key that is long enough tells of it.
    parts = {key[at : at + shortest] for at in range(len(key) - shortest + 1)}
    if not any(part in text for part in parts):
        return text
    # Nothing that is told is nearly as long.
    text, rest = text[:_LONGEST], text[_LONGEST:].replace(key, _HIDDEN)
    shown: list[str] = []
    start = at = 0
    while at <= len(text) - shortest:
        if text[at : at + shortest] not in parts:
            at += 1
            continue
        end = at + shortest
        while text[end - shortest + 1 : end + 1] in parts:
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
