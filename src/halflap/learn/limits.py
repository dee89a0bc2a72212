"""How much of what was seen is kept; every bound is a rule about the set of all that was seen, never its order."""

from __future__ import annotations

__all__ = [
    "DEEPEST",
    "LONGEST_KEY",
    "LONGEST_VALUE",
    "MOST_DIGESTS",
    "MOST_KEYS",
    "MOST_PLACES",
    "MOST_VALUES",
    "MOST_VARIANTS",
]

MOST_KEYS = 96
"""An object with more distinct keys than this is a map: one place stands for all of them.

The largest records of well-known services have some eighty.
"""
MOST_VARIANTS = 16
"""Objects told apart by more tags than this are not told apart at all."""
MOST_VALUES = 16
"""More distinct values than this under a tag key, and none is kept."""
DEEPEST = 32
"""Below this level nothing is looked at. The root is level 0."""
MOST_PLACES = 50_000
"""The levels kept are those that have at most so many places together, counted as in `bound`."""
MOST_DIGESTS = 256
"""So many distinct arguments are counted one by one; beyond, their number is estimated."""
LONGEST_KEY = 64
LONGEST_VALUE = 64
