"""Values of a field's type, made so that whoever passes one on as it is can be told from whoever makes another of it."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    import random
    from collections.abc import Mapping

__all__ = ["sample", "with_less"]

_LETTERS: Final = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 ,.;:"
_SPECIAL: Final = "<b>&amp;</b> {x} [1] \"'`\\ % $HOME #!? | ~ ^ * = + @ / \t\r\n ä ß é 中文 🙂 \u200b 0 -1 1e9 null https://a.b/c?d=e"
"""What code that looks for something in a text usually looks for."""
_LONG: Final = 3_000
"""So long that cutting at a usual length shows."""
_HALF: Final = 0.5
_RARELY: Final = 0.15
"""How often a value is empty, or null, where it may be."""


def sample(schema: Mapping[str, Any], dice: random.Random) -> Any:
    """Make a value: long and ragged text or special letters, large numbers, any of the options, at times nothing."""
    if "const" in schema or "enum" in schema:
        return dice.choice(schema.get("enum") or [schema["const"]])
    kinds = schema.get("type", "string")
    if isinstance(kinds, str):
        kind = kinds
    else:
        others = [one for one in kinds if one != "null"]
        kind = "null" if not others or dice.random() < _RARELY else dice.choice(others)
    makers = {"string": _text, "integer": _integer, "number": _number, "array": _array, "object": _object}
    if kind == "boolean":
        return dice.choice([True, False])
    return makers[kind](schema, dice) if kind in makers else None


def with_less(value: Any, schema: Mapping[str, Any], dice: random.Random) -> Any:
    """Leave out of a value some of what has a default."""
    if isinstance(value, list):
        return [with_less(one, schema.get("items", {}), dice) for one in value]
    if not isinstance(value, dict):
        return value
    known = schema.get("properties", {})
    return {
        name: with_less(one, known.get(name, {}), dice)
        for name, one in value.items()
        if "default" not in known.get(name, {}) or dice.random() < _HALF
    }


def _text(schema: Mapping[str, Any], dice: random.Random) -> str:
    least, most = schema.get("minLength", 0), schema.get("maxLength", _LONG)
    style = dice.random()
    if style < _RARELY and least == 0:
        return ""
    if style > 1 - 2 * _RARELY and least <= len(_SPECIAL) <= most:
        return _SPECIAL
    size = max(min(most, _LONG), least)
    inner = "".join(dice.choice(_LETTERS) for _ in range(size))
    # Ragged ends: who strips, joins or splits it makes another text of it.
    return f" {inner[1:-2]}\n " if len(inner) > 3 else inner  # noqa: PLR2004


def _integer(schema: Mapping[str, Any], dice: random.Random) -> int:
    low, high = _range(schema, 10**9)
    return dice.randint(math.ceil(low), math.floor(high))


def _number(schema: Mapping[str, Any], dice: random.Random) -> float:
    return dice.uniform(*_range(schema, 10**6))


def _range(schema: Mapping[str, Any], most: int) -> tuple[float, float]:
    low = schema.get("minimum", schema.get("maximum", most // 1000 + most) - most)
    return low, schema.get("maximum", low + most)


def _array(schema: Mapping[str, Any], dice: random.Random) -> list[Any]:
    least = schema.get("minItems", 0)
    count = min(max(0 if dice.random() < _RARELY else 2, least), schema.get("maxItems", 1000))
    return [sample(schema.get("items", {}), dice) for _ in range(count)]


def _object(schema: Mapping[str, Any], dice: random.Random) -> dict[str, Any]:
    if "properties" in schema:
        return {name: sample(inner, dice) for name, inner in schema["properties"].items()}
    further = schema.get("additionalProperties", {})
    count = 0 if dice.random() < _RARELY else 2
    return {
        f"key{number}": sample(further if isinstance(further, dict) else {}, dice) for number in range(count)
    }
