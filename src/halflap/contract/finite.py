"""Values that JSON has no word for, NaN, the infinities and halves of characters: where there is one, and how it is told."""

from __future__ import annotations

import math
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from halflap.contract.structs import is_struct

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["in_words", "place_of_endless", "place_of_half"]

_Place = tuple[str | int, ...]


def place_of_endless(value: Any) -> _Place | None:
    """Give where the first number is that is not finite; None where there is none."""
    return _place(value, _is_endless)


def place_of_half(value: Any) -> _Place | None:
    """Give where the first text is that has a half of a character, a lone surrogate; None where there is none."""
    return _place(value, _is_half)


def _is_endless(value: Any) -> bool:
    if isinstance(value, float):
        return not math.isfinite(value)
    return isinstance(value, Decimal) and not value.is_finite()


def _is_half(value: Any) -> bool:
    return isinstance(value, str) and any("\ud800" <= one <= "\udfff" for one in value)


def _place(value: Any, is_meant: Callable[[Any], bool]) -> _Place | None:
    if is_meant(value):
        return ()
    inside: list[tuple[str | int, Any]] = []
    if isinstance(value, dict):
        if (key := next(filter(is_meant, value), None)) is not None:
            return (str(key),)
        inside = [(str(key), inner) for key, inner in value.items()]
    elif isinstance(value, list | tuple | set | frozenset):
        inside = list(enumerate(value))
    elif is_struct(type(value)):
        inside = [(name, getattr(value, name)) for name in value.__struct_fields__]
    for step, inner in inside:
        place = _place(inner, is_meant)
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
