"""Keep the language model's key out of messages, logs and answers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from halflap.config import LmConfig

__all__ = ["address", "redact_answer", "redacted"]

_HIDDEN = "[api_key]"
_MIN_KEY = 4
_MIN_ANSWERED = 16
"""In answers, words like `ollama` or `lm-studio` are not keys, and stay."""


def redacted(text: str, config: LmConfig | None) -> str:
    """Return a text without the key, and without credentials in the model's address."""
    if config is None:
        return text
    if config.api_base is not None:
        text = text.replace(config.api_base, address(config))
    key = config.api_key or ""
    return text.replace(key, _HIDDEN) if len(key) >= _MIN_KEY else text


def redact_answer(value: Any, key: str) -> Any:
    """Return a model's answer without the key."""
    if isinstance(value, str):
        return value.replace(key, _HIDDEN) if len(key) >= _MIN_ANSWERED else value
    if isinstance(value, list):
        return [redact_answer(item, key) for item in value]
    if isinstance(value, dict):
        return {name: redact_answer(item, key) for name, item in value.items()}
    return value


def address(config: LmConfig) -> str:
    """Return where the model is, without credentials or query."""
    if config.api_base is None:
        return f"the provider of {config.model}"
    parts = urlsplit(config.api_base)
    port = "" if parts.port is None else f":{parts.port}"
    return f"{parts.scheme}://{parts.hostname}{port}{parts.path}"
