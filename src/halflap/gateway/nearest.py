"""Which tools come nearest to a goal that none fits: those that search finds, and those that are spelt like its words."""

from __future__ import annotations

from difflib import SequenceMatcher
from typing import TYPE_CHECKING

from halflap.catalog.search.words import STOP_WORDS
from halflap.graph.effects import name_words
from halflap.graph.words import words_in, words_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from halflap.graph.edge import Ports

__all__ = ["nearest"]

_SHORTEST = 4
_ALIKE = 0.75
_MOST_LETTERS_MORE = 3
_MOST_WORDS = 20


def nearest(goal: str, tools: Mapping[str, Ports], found: Iterable[str]) -> list[str]:
    """Give the tools that come nearest, the nearest first: those that were found, else those that are called alike."""
    known = [name for name in found if name in tools]
    if known:
        return known
    asked = [one for one in sorted(words_in(goal) - STOP_WORDS) if len(one) >= _SHORTEST][:_MOST_WORDS]
    if not asked:
        return []
    words = {name: name_words(ports) for name, ports in tools.items()}
    alike = {word: _likeness(word, asked) for word in {one for said in words.values() for one in said}}
    scores = {name: max((alike[one] for one in said), default=0.0) for name, said in words.items()}
    return sorted(
        (name for name, score in scores.items() if score >= _ALIKE), key=lambda name: (-scores[name], name)
    )


def _likeness(word: str, asked: list[str]) -> float:
    """Say how alike a word is spelt to one of those that are asked for; what begins otherwise is not looked at."""
    word = "_".join(words_of(word))
    near = (one for one in asked if one[0] == word[:1] and abs(len(one) - len(word)) <= _MOST_LETTERS_MORE)
    return max((SequenceMatcher(None, word, one).ratio() for one in near), default=0.0)
