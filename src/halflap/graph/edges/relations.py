"""Relations that a server declares by naming its tools in descriptions.

`Use with order_history` at a field, or `as returned by list_orders` at a parameter, relates two tools of one server. Only
exact names of tools of the same server count, so no text can reach another server's tools.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

from halflap.graph.edges.evidence import DECLARED
from halflap.graph.edges.model import Evidence
from halflap.graph.types import Form, conflict

if TYPE_CHECKING:
    from halflap.graph.edges.fields import Returned
    from halflap.graph.paths import Path
    from halflap.graph.ports import Ports, Slot

_MAX_TEXT = 4_000
_MAX_DETAIL = 200
_NAME = re.compile(r"\w+(?:[_./:-]\w+)+|[a-z]\w*[A-Z]\w*|`(\w+)`|\b(\w+)\(\)")
_SENTENCE_END = re.compile(r"(?<=[.!?;])\s+|\n\s*\n")
_WORD = re.compile(r"[\w']+")
_OTHERWISE = frozenset({"avoid", "instead", "never", "not", "rather", "unlike", "without", "deprecated"})
"""A sentence with one of these may say what not to combine."""


def declared(
    source: str, fields: Sequence[Returned], target: Ports, slot: Slot, *, form: Form, found: Collection[Path]
) -> Iterator[tuple[Returned, Evidence]]:
    """Yield the fields of one tool, by its name, that descriptions declare to fill a slot of another of the same server.

    These are the fields that names and types found, if the slot names the tool, or they name the slot's. Where nothing
    was found, a slot takes the one identifier that the tool it names returns, and the only required parameter of a tool
    the field that names it.
    """
    asks = source in _names_in(slot.description)
    if asks:
        named = [one for one in fields if one.place.path in found] or _only_key(fields, form)
    elif found or len(target.required) == 1:
        fields = [one for one in fields if not found or one.place.path in found]
        named = [one for one in fields if target.name in _names_in(one.place.description)]
    else:
        named = []
    for given in named:
        if not conflict(given.place.form, form):
            text = slot.description if asks else given.place.description
            yield given, Evidence("declared", DECLARED, text[:_MAX_DETAIL])


def _only_key(fields: Sequence[Returned], form: Form) -> list[Returned]:
    """Return the one identifier of its entity that a tool returns, if it has the right type."""
    keys = [
        one
        for one in fields
        if any(own.attribute for own in one.meaning.identities) and not conflict(one.place.form, form)
    ]
    depth = min((len(one.place.path) for one in keys), default=0)
    outermost = [one for one in keys if len(one.place.path) == depth]
    return outermost if len(outermost) == 1 else []


@lru_cache(maxsize=1 << 14)
def _names_in(text: str) -> frozenset[str]:
    """Return the possible tool names in a description: compounds, quoted names and calls."""
    found: set[str] = set()
    for sentence in _SENTENCE_END.split(text[:_MAX_TEXT]):
        names = [next(filter(None, (one[1], one[2], one[0]))) for one in _NAME.finditer(sentence)]
        if names and _OTHERWISE.isdisjoint(word.casefold() for word in _WORD.findall(sentence)):
            found.update(names)
    return frozenset(found)


def mentions(ports: Ports) -> frozenset[str]:
    """Return all names in the descriptions of a tool's fields and parameters."""
    texts = {one.description for one in ports.slots} | {one.description for one in ports.places}
    return frozenset().union(*map(_names_in, texts))
