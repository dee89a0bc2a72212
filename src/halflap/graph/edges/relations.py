"""Relations that a server declares itself: what a field produces and a parameter consumes, and tool names in descriptions.

`Use with order_history` at a field, or `as returned by list_orders` at a parameter, relates two tools of one server. Only
exact names of tools of the same server count, so no text can reach another server's tools.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Literal

from halflap.graph.naming import phrase, words_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from halflap.graph.ports import Ports
    from halflap.schema import Type

__all__ = ["mentions", "names_in", "relation_keys"]

_MAX_TEXT = 4_000
_NAME = re.compile(r"\w+(?:[_./:-]\w+)+|[a-z]\w*[A-Z]\w*|`(\w+)`|\b(\w+)\(\)")
_SENTENCE_END = re.compile(r"(?<=[.!?;])\s+|\n\s*\n")
_WORD = re.compile(r"[\w']+")
_OTHERWISE = frozenset({"avoid", "instead", "never", "not", "rather", "unlike", "without", "deprecated"})
"""A sentence with one of these may say what not to combine."""


@lru_cache(maxsize=1 << 14)
def names_in(text: str) -> frozenset[str]:
    """Return what may be tool names in a description: compounds, quoted names and calls."""
    found: set[str] = set()
    for sentence in _SENTENCE_END.split(text[:_MAX_TEXT]):
        names = [next(filter(None, (one[1], one[2], one[0]))) for one in _NAME.finditer(sentence)]
        if names and _OTHERWISE.isdisjoint(word.casefold() for word in _WORD.findall(sentence)):
            found.update(names)
    return frozenset(found)


def mentions(ports: Ports) -> frozenset[str]:
    """Return all names in the descriptions of a tool and its fields and parameters."""
    texts = [ports.description]
    texts += [one.description for one in ports.slots if one.description]
    texts += [one.description for one in ports.places if one.description]
    return frozenset().union(*map(names_in, texts))


def relation_keys(server: str, kind: Type, way: Literal["produces", "consumes"]) -> Iterator[str]:
    """Yield keys for what the schema of the contract kit says that a value identifies."""
    for part in (kind, *kind.members):
        for direction, thing in part.relations:
            if direction == way:
                yield f"{server}\0{phrase(words_of(thing)) or thing}"
