"""Keep the language model's key out of messages, logs and answers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from halflap.config import LmConfig

__all__ = ["place", "redact_answer", "redacted"]

_HIDDEN = "[api_key]"
_MIN_KEY = 4
_MIN_PART = 8
"""A part of the key as long as this is hidden in messages, which others may have cut."""
_MIN_ANSWERED = 16
"""And in answers, where the prefix that all keys of a provider share is left alone."""
_MAX_SCANNED = 100_000


def redacted(text: str, config: LmConfig | None) -> str:
    """Return a text without the key, and without anything but the place in the address."""
    if config is None:
        return text
    if config.api_base is not None:
        text = text.replace(config.api_base, place(config))
    key = config.api_key
    return text if key is None or len(key) < _MIN_KEY else _without(text, key, _MIN_PART)


def redact_answer(value: Any, key: str | None) -> Any:
    """Return a model's answer without the key. Words like `ollama` or `lm-studio` are not keys, and stay."""
    if key is None or len(key) < (_MIN_PART if any(one.isdigit() for one in key) else _MIN_ANSWERED):
        return value
    if isinstance(value, str):
        return _without(value, key, _MIN_ANSWERED)
    if isinstance(value, list):
        return [redact_answer(one, key) for one in value]
    if isinstance(value, dict):
        return {name: redact_answer(one, key) for name, one in value.items()}
    return value


def _without(text: str, key: str, shortest: int) -> str:
    """Replace the key, and every part of it that is long enough."""
    size = min(shortest, len(key))
    parts = {key[at : at + size] for at in range(len(key) - size + 1)}
    if not any(part in text for part in parts):
        return text
    text, rest = text[:_MAX_SCANNED], text[_MAX_SCANNED:].replace(key, _HIDDEN)
    shown = ""
    at = 0
    while at < len(text):
        end = at
        while text[end : end + size] in parts:
            end += 1
        if end == at:
            shown += text[at]
            at += 1
        else:
            shown += _HIDDEN
            at = end + size - 1
    return shown + rest


def place(config: LmConfig) -> str:
    """Return where the model is, without credentials or query."""
    if config.api_base is None:
        return f"the provider of {config.model}"
    parts = urlsplit(config.api_base)
    port = "" if parts.port is None else f":{parts.port}"
    return f"{parts.scheme}://{parts.hostname}{port}{parts.path}"
