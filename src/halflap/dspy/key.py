"""Keep the language model's key out of messages, logs and answers."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from halflap.config import LmConfig

_MIN_KEY = 8
"""Shorter ones, such as `ollama`, are words and not secrets."""


def redacted(text: str, config: LmConfig | None) -> str:
    """Return a text without the key, and without credentials in the model's address."""
    if config is None:
        return text
    if config.api_base is not None:
        text = text.replace(config.api_base, address(config))
    key = config.api_key or ""
    return text.replace(key, "[api_key]") if len(key) >= _MIN_KEY else text


def address(config: LmConfig) -> str:
    """Return where the model is, without credentials or query."""
    if config.api_base is None:
        return f"the provider of {config.model}"
    parts = urlsplit(config.api_base)
    port = "" if parts.port is None else f":{parts.port}"
    return f"{parts.scheme}://{parts.hostname}{port}{parts.path}"
