"""Numbers that JSON has no word for, NaN and the infinities: where there is one, and what an error's details say of it."""

from __future__ import annotations

import math
from typing import Any

__all__ = ["in_words", "place_of_endless"]


def place_of_endless(value: Any) -> tuple[str | int, ...] | None:
    """Give where the first such number is; None where there is none."""
    if isinstance(value, float):
        return None if math.isfinite(value) else ()
    if isinstance(value, dict):
        inside = [(str(key), inner) for key, inner in value.items()]
    elif isinstance(value, list | tuple | set | frozenset):
        inside = list(enumerate(value))  # type: ignore[arg-type]
    else:
        return None
    for step, inner in inside:
        place = place_of_endless(inner)
        if place is not None:
            return (step, *place)
    return None


def in_words(value: Any) -> Any:
    """Write such numbers as the texts NaN, Infinity and -Infinity."""
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    if isinstance(value, dict):
        return {key: in_words(inner) for key, inner in value.items()}
    return [in_words(inner) for inner in value] if isinstance(value, list) else value
