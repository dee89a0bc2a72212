"""The one "did you mean": names close to one that does not exist."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from rapidfuzz import fuzz
from rapidfuzz.process import extract

from halflap.core.text import join, quote

_MIN_SCORE = 65.0
_MIN_TOOL_SCORE = 70.0
_BEST_ONLY = 10.0
"""Drop suggestions that score this much below the best one."""
_MIN_CANDIDATE = 57.0
_MAX_CANDIDATES = 20
_SERVER_WEIGHT = 0.3
_LETTERS_PENALTY = 10.0
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
    """Tool names split and folded once, so that a suggestion among 10,000 takes a millisecond."""

    def __init__(self, names: Sequence[str]) -> None:
        self._names = names
        self._parts = [_split(name) for name in names]
        self._tools = [tool for _, tool in self._parts]
        self._letters = [_letters(name) for name in names]

    def closest(self, name: str) -> list[str]:
        """Return the tools that someone who typed this name probably meant, best first."""
        server, tool = _split(name[:_MAX_NAME])
        letters = _letters(name[:_MAX_NAME])
        scores = {}
        for text, texts in ((tool, self._tools), (letters, self._letters)):
            for _, _, at in extract(
                text, texts, scorer=fuzz.ratio, score_cutoff=_MIN_CANDIDATE, limit=_MAX_CANDIDATES
            ):
                known_server, known_tool = self._parts[at]
                score = fuzz.ratio(tool, known_tool)
                if server:
                    score += _SERVER_WEIGHT * (fuzz.ratio(server, known_server) - score)
                # `echo.add` and `mcp_echo_add` have all the letters right.
                by_letters = fuzz.ratio(letters, self._letters[at]) - _LETTERS_PENALTY
                scores[self._names[at]] = max(score, by_letters)
        least = max(_MIN_TOOL_SCORE, max(scores.values(), default=0.0) - _BEST_ONLY)
        near = [found for found, score in scores.items() if score >= least]
        return sorted(near, key=lambda found: (-scores[found], found))[:_MAX_SUGGESTIONS]


def _split(name: str) -> tuple[str, str]:
    server, _, tool = name.lower().removeprefix("mcp__").rpartition("__")
    return server, tool


def _letters(name: str) -> str:
    return "".join(letter for letter in name.lower().removeprefix("mcp") if letter.isalnum())
