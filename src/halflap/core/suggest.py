"""The one "did you mean": names close to one that does not exist."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

from rapidfuzz import fuzz
from rapidfuzz.process import extract

from halflap.core.text import join, quote

_MIN_SCORE = 65.0
_MIN_TOOL_SCORE = 72.0
_TOOL_PENALTY = 8.0
"""What a match of the tool's part counts less than one of the whole name."""
_BEST_ONLY = 10.0
"""Drop suggestions that score this much below the best one."""
_MAX_SUGGESTIONS = 3
_MAX_NAME = 300


def closest(name: str, known: Collection[str], limit: int = _MAX_SUGGESTIONS) -> list[str]:
    """Return the known names most similar to this one, best first; empty if none is close."""
    found = extract(
        name[:_MAX_NAME].lower(),
        list(known),
        scorer=fuzz.ratio,
        processor=str.lower,
        score_cutoff=_MIN_SCORE,
        limit=limit,
    )
    return [text for text, score, _ in found if score >= found[0][1] - _BEST_ONLY]


def did_you_mean(name: str, known: Collection[str], *, otherwise: str = "") -> str:
    """Return `Did you mean 'x' or 'y'?`, or the other text if nothing is close."""
    found = closest(name, known)
    return f"Did you mean {join(map(quote, found), 'or')}?" if found else otherwise


class ToolNameIndex:
    """Tool names prepared for comparison, so that a suggestion among 10,000 takes milliseconds."""

    def __init__(self, names: Sequence[str]) -> None:
        self._names = names
        self._keys = list(zip(*map(_keys, names), strict=True))

    def closest(self, name: str) -> list[str]:
        """Return the tools that were probably meant, best first."""
        scores: dict[str, float] = {}
        for at, (key, keys) in enumerate(zip(_keys(name[:_MAX_NAME]), self._keys, strict=False)):
            for _, score, index in extract(key, keys, scorer=fuzz.ratio, score_cutoff=_MIN_TOOL_SCORE):
                found = self._names[index]
                scores[found] = max(scores.get(found, 0.0), score - (_TOOL_PENALTY if at else 0.0))
        least = max(scores.values(), default=0.0) - _BEST_ONLY
        near = [found for found, score in scores.items() if score >= least]
        return sorted(near, key=lambda found: (-scores[found], found))[:_MAX_SUGGESTIONS]


def _keys(name: str) -> tuple[str, str, str]:
    """Return the letters of a name, those of its tool, and those with the tool's words sorted."""
    words = re.findall(r"[^\W_]+", name.lower().removeprefix("mcp"))
    tool = re.findall(r"[^\W_]+", name.lower().removeprefix("mcp").rpartition("__")[2])
    return "".join(words), "".join(tool), "".join(sorted(tool))
