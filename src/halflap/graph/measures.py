"""Descriptions that begin with what is measured, in two words or three: `Milk yield of a cow in litres`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from halflap.graph.verbs import CHANGING, DESTROYING

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["is_measured"]

_TOLD = frozenset(
    {"yield", "level", "colour", "color", "rate", "ratio", "score", "weight", "height", "length", "width", "depth",
     "thickness", "age", "moisture", "humidity", "acidity", "salinity", "density", "angle", "factor", "capacity", "type",
     "quality", "percentage", "size", "span", "frequency", "duration", "distance", "origin", "consumption", "mileage",
     "stiffness", "purity", "hardness", "wetness"}
)  # fmt: skip
"""What one has or is, in a word: nobody does something to it without an article."""
_SET = frozenset(
    {"speed", "pressure", "volume", "brightness", "temperature", "voltage", "current", "intensity", "dose", "flow", "heat",
     "power", "price", "cost", "time"}
)  # fmt: skip
"""What is turned up and down, too: it is told where a unit is named."""
_OF_WHAT = frozenset(
    {"fill", "charge", "water", "feed", "stock", "price", "credit", "heat", "power", "exchange", "load", "burn", "drain",
     "crop", "trim", "fund", "scale", "review", "step", "bid", "vote", "tip", "press", "bake", "brew", "wash"}
)  # fmt: skip
"""What is done, and what a measure is of: `fill level`."""
_OF_ACTS = frozenset({"level", "rate", "yield", "ratio", "factor", "capacity", "percentage", "score"})
_TURNS = frozenset(
    {"cap", "halve", "double", "triple", "tweak", "bump", "nudge", "dim", "vent", "bleed", "cut", "slash", "hike", "boost",
     "override", "tune", "tare", "zero", "max", "clamp", "peg", "fix", "shift", "flip", "invert", "limit", "lift", "drop",
     "ramp", "spend", "waste", "use", "mix", "match", "alter", "amend", "vary", "guard", "ensure", "boil", "cool", "warm"}
)  # fmt: skip
"""What is done to a measure, though few tools are called so."""
_AS_VERBS = re.compile(r".{3,}(?:[sz]e|ify|[^aeiou]ate|en)")
_BEHIND = frozenset({"of", "in", "on", "for", "per", "at"})
_SMALL = frozenset({"a", "an", "the", "its", "their", "your", "this", "each", "all", "every", "my", "one"})
_MOST = 3


def is_measured(words: Sequence[str]) -> bool:
    """Say whether a description begins with what something has, and not with what is done to it."""
    ends = next((at for at, one in enumerate(words) if one in _BEHIND or not one.isalpha()), 0)
    if not 1 < ends <= _MOST or words[ends] not in _BEHIND or not _SMALL.isdisjoint(words[:ends]):
        return False
    first, measure = words[0], words[ends - 1]
    has_unit = any(
        one == "in" and words[at + 1] not in _SMALL and words[at + 1].isalpha()
        for at, one in enumerate(words[:-1])
        if at >= ends
    )
    if first in DESTROYING or (first in CHANGING and first not in _OF_WHAT):
        return False
    if first in CHANGING:
        return measure in _OF_ACTS or (has_unit and measure in _TOLD)
    if first in _TURNS or _AS_VERBS.fullmatch(first) or (first.endswith("s") and not first.endswith("ss")):
        return False
    return measure in _TOLD or (has_unit and measure in _SET)
