"""JSON merge patches (RFC 7386): what to put at a place so that it becomes what it should be."""

from __future__ import annotations

from typing import Any

__all__ = ["patch_to"]


def patch_to(old: Any, new: dict[str, Any]) -> dict[str, Any]:
    """Give what has to be put over `old` to get `new`: what is gone is null, what is the same is left out."""
    if not isinstance(old, dict):
        return new
    patch: dict[str, Any] = dict.fromkeys(key for key in old if key not in new)
    for key, value in new.items():
        if key not in old:
            patch[key] = value
        elif old[key] != value:
            patch[key] = patch_to(old[key], value) if isinstance(value, dict) else value
    return patch
