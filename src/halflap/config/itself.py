"""Tells Halflap's own entry among servers: in front of itself it would start itself for ever."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["is_halflap"]

_ITSELF = re.compile(r"halflap(?:\.exe)?(?:\[[\w,-]*\])?(?:(?:@|[=<>~!]=?).*)?\Z", re.IGNORECASE)


def is_halflap(command: str | None, args: Sequence[str]) -> bool:
    """Say whether a command runs Halflap's server: by its own name, with `python -m`, with uvx or the like."""
    words = [re.split(r"[/\\]", word)[-1] for word in (command or "", *args)]
    named = next((at for at, word in enumerate(words) if _ITSELF.match(word)), None)
    return named is not None and "serve" in words[named + 1 :]
