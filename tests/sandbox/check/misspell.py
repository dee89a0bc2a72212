"""Ways in which a name is got wrong by somebody who half remembers it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from random import Random

__all__ = ["misspellings"]

_VOWELS = "aeiouAEIOU"
"""To leave out a consonant gives fewer words that mean something else."""
_WORD = re.compile(r"[A-Z]?[a-z0-9]+|[A-Z]+(?![a-z])")


def misspellings(name: str, random: Random) -> list[tuple[str, str]]:
    """Give wrong forms of a name, each with how it came about, in an order that the random numbers decide."""
    found = {new: how for how, new in _all(name, random) if new and new != name}
    pairs = [(how, new) for new, how in found.items()]
    random.shuffle(pairs)
    return pairs


def _all(name: str, random: Random) -> Iterator[tuple[str, str]]:
    drops = [at for at in range(1, len(name)) if name[at] not in _VOWELS]
    if len(name) > 3 and drops:
        at = random.choice(drops)
        yield "a letter dropped", name[:at] + name[at + 1 :]
    swaps = [at for at in range(len(name) - 1) if name[at] != name[at + 1]]
    if swaps:
        at = random.choice(swaps)
        yield "two letters swapped", name[:at] + name[at + 1] + name[at] + name[at + 2 :]
    words = _WORD.findall(name)
    if len(words) > 1:
        is_snake = "_" in name
        yield "the other case style", _joined(words, snake=not is_snake)
        yield "without its first word", _joined(words[1:], snake=is_snake)
        yield "without its last word", _joined(words[:-1], snake=is_snake)
    elif name.islower():
        yield "the other case style", name.capitalize()
        yield "singular or plural", name[:-1] if name.endswith("s") and len(name) > 3 else f"{name}s"


def _joined(words: list[str], *, snake: bool) -> str:
    if snake:
        return "_".join(word.lower() for word in words)
    return words[0].lower() + "".join(word.capitalize() for word in words[1:])
