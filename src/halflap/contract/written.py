"""How Python's own values are written where JSON Schema's format for them is narrower: told in words, and not declared.

RFC 3339, which the formats `duration` and `time` follow, has no half a second, no negative duration and no time without
an offset; Python has all of these, and writes them as ISO 8601 does.
"""

from __future__ import annotations

__all__ = ["DURATION", "TIME", "WRITTEN"]

WRITTEN = "x-halflap-written"
"""Under this a schema has the sentence while it is made; it ends in the description."""

DURATION = "An ISO 8601 duration, such as PT1.5S."
TIME = "An ISO 8601 time, such as 08:30:00."
