"""Which tools return what: places by the words that parameters ask for."""

from __future__ import annotations

import math
from bisect import bisect_left
from typing import TYPE_CHECKING

from halflap.graph.edges.evidence import COMPANION, given_of, name_weight, relation_keys
from halflap.graph.naming import is_abbreviation, is_secret, phrase
from halflap.graph.naming.vocabulary import SELF_NAMING
from halflap.graph.paths import NAME

if TYPE_CHECKING:
    from collections.abc import Iterator

    from halflap.graph.edges.evidence import Given, Taken
    from halflap.graph.naming import Words
    from halflap.graph.ports import Ports

__all__ = ["Index"]

_FEW_TOOLS, _FEW_SHARE = 6, 0.01
"""A plain name that more tools return, in number and as a share, says less about where a value comes from."""
_THING, _NAME, _FORMAT, _ATTRIBUTE, _RELATION = "thing ", "name ", "format ", "attribute ", "relation "


class Index:
    """Finds the places that may fill a parameter without looking at all of them."""

    def __init__(self) -> None:
        self._places: dict[str, dict[str, dict[str, tuple[Given, ...]]]] = {}
        """By key, server and tool."""
        self._tools: dict[str, tuple[Given, ...]] = {}
        self._things: list[str] | None = None
        """Sorted, to find short forms; computed when needed, as is the next."""
        self._by_last_word: dict[str, list[Given]] | None = None

    def put(self, ports: Ports) -> None:
        self.remove(ports.tool)
        own = self._tools[ports.tool] = tuple(given_of(ports))
        held: dict[str, list[Given]] = {}
        for given in own:
            for key in _keys(given):
                held.setdefault(key, []).append(given)
        for key, found in held.items():
            self._places.setdefault(key, {}).setdefault(ports.server, {})[ports.tool] = tuple(found)
        self._things = self._by_last_word = None

    def remove(self, tool: str) -> None:
        for server, key in {
            (one.features.server, key) for one in self._tools.pop(tool, ()) for key in _keys(one)
        }:
            del self._places[key][server][tool]
            if not self._places[key][server]:
                del self._places[key][server]
            if not self._places[key]:
                del self._places[key]
        self._things = self._by_last_word = None

    def of(self, tool: str) -> tuple[Given, ...]:
        return self._tools.get(tool, ())

    def ending_in(self, word: str) -> list[Given]:
        """Return the places whose name ends in a word."""
        if self._by_last_word is None:
            self._by_last_word = {}
            for found in self._tools.values():
                for given in found:
                    for last in {own.words[-1] for own in given.features.identities if own.words}:
                        self._by_last_word.setdefault(last, []).append(given)
        return self._by_last_word.get(word, [])

    def candidates(self, taken: Taken, *, home: bool) -> Iterator[Given]:
        """Yield the places of a slot's own server, or of the others, that may fill it, each once."""
        seen: set[int] = set()
        for key in self._asked(taken):
            for server, tools in self._places.get(key, {}).items():
                if (server == taken.server) != home:
                    continue
                for found in tools.values():
                    for given in found:
                        if id(given) not in seen:
                            seen.add(id(given))
                            yield given

    def related(self, key: str) -> Iterator[Given]:
        """Yield the places that a server declares to identify what a parameter declares to take."""
        for tools in self._places.get(f"{_RELATION}{key}", {}).values():
            yield from (given for found in tools.values() for given in found)

    def rarity(self, words: Words) -> float:
        """Return how much a plain name tells: 1 where few tools return it, less the more do."""
        tools = sum(map(len, self._places.get(f"{_NAME}{phrase(words)}", {}).values()))
        few = max(_FEW_TOOLS, _FEW_SHARE * len(self._tools))
        return min(1.0, math.sqrt(few / tools)) if tools else 1.0

    def _asked(self, taken: Taken) -> Iterator[str]:
        asked = taken.identity
        if asked.attribute:
            yield from self._thing_keys(asked.thing[-1] if asked.thing else "")
            if asked.attribute in SELF_NAMING:
                yield f"{_ATTRIBUTE}{asked.attribute}"
        else:
            yield from self._thing_keys(asked.words[-1] if asked.words else "")
            if name_weight(asked.words) * self.rarity(asked.words) >= COMPANION:
                yield f"{_NAME}{phrase(asked.words)}"
        yield from (f"{_THING}{thing}" for thing, _ in taken.described)
        if taken.form.format:
            yield f"{_FORMAT}{taken.form.format}"

    def _thing_keys(self, word: str) -> Iterator[str]:
        """Yield the keys of a thing, of its short forms and of what it is a short form of."""
        if not word:
            return
        yield f"{_THING}{word}"
        if self._things is None:
            self._things = sorted(key.removeprefix(_THING) for key in self._places if key.startswith(_THING))
        at = bisect_left(self._things, word)
        while at < len(self._things) and self._things[at].startswith(word):
            if is_abbreviation(word, self._things[at]):
                yield f"{_THING}{self._things[at]}"
            at += 1
        for size in range(3, len(word)):
            if is_abbreviation(word[:size], word) and f"{_THING}{word[:size]}" in self._places:
                yield f"{_THING}{word[:size]}"


def _keys(given: Given) -> set[str]:
    """Return what a place is found by; secrets and the keys of maps only by lineage."""
    found: set[str] = set()
    is_key = given.place.path[-1:] == (NAME,)
    if is_key or any(is_secret(own.words) for own in given.features.identities):
        return found
    for own in given.features.identities:
        if own.attribute:
            if own.thing:
                found.add(f"{_THING}{own.thing[-1]}")
            if own.attribute in SELF_NAMING:
                found.add(f"{_ATTRIBUTE}{own.attribute}")
        elif own.words:
            found.add(f"{_NAME}{phrase(own.words)}")
            if given.features.is_item or not own.is_direct:
                found.add(f"{_THING}{own.words[-1]}")
    if given.features.form.format == "email":
        found.add(f"{_FORMAT}{given.features.form.format}")
    found.update(
        f"{_RELATION}{key}" for key in relation_keys(given.features.server, given.place.type, "produces")
    )
    return found
