"""Which tools return what: fields by the words that parameters ask for."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

from halflap.graph.edges.evidence import (
    COMPANION,
    Asked,
    Catalogue,
    Meaning,
    Returned,
    name_weight,
    relation_keys,
    returned_by,
)
from halflap.graph.naming import is_secret, related
from halflap.graph.naming.vocabulary import IDENTIFIERS, PERSONS, ROLES, SELF_NAMING, VAGUE
from halflap.graph.paths import NAME

if TYPE_CHECKING:
    from halflap.graph.naming import Words
    from halflap.graph.ports import Ports

__all__ = ["Index"]

_FEW_TOOLS, _FEW_SHARE = 6, 0.01
"""A plain name that more tools return, in number and as a share, says less about where a value comes from."""
_SHORTEST = 3

_Key = tuple[str, ...]
"""What fields are found by: a kind, and words."""


class Index:
    """Finds the fields that may fill a parameter without looking at all of them; they are read when first asked for."""

    def __init__(self) -> None:
        self._tools: dict[str, Ports] = {}
        self._fields: dict[str, tuple[Returned, ...]] = {}
        """Of the tools that have been read."""
        self._found: dict[_Key, dict[Meaning, list[Returned]]] = {}
        self._tools_by_key: Counter[_Key] = Counter()
        self._things: Counter[tuple[str, str]] = Counter()
        """How many tools of a server are about a thing."""
        self._sorted: list[str] | None = None
        """All things of which identifiers are returned."""
        self.catalogue = Catalogue(self._is_thing, self._name_weight)

    def put(self, ports: Ports) -> None:
        self.remove(ports.tool)
        self._tools[ports.tool] = ports
        self._things.update((ports.server, thing[-1]) for thing in ports.subject.things)

    def remove(self, tool: str) -> None:
        ports = self._tools.pop(tool, None)
        if ports is None:
            return
        self._things.subtract((ports.server, thing[-1]) for thing in ports.subject.things)
        self._sorted = None
        fields = self._fields.pop(tool, ())
        for one in fields:
            for key in _keys_of(one):
                self._found[key][one.meaning].remove(one)
        self._tools_by_key.subtract({key for one in fields for key in _keys_of(one)})

    def of(self, tool: str) -> Sequence[Returned]:
        """Return all fields of a tool."""
        self._read()
        return self._fields.get(tool, ())

    def every(self) -> Iterator[Returned]:
        self._read()
        for fields in self._fields.values():
            yield from fields

    def candidates(self, asked: Asked, *, home: bool) -> Iterator[tuple[Meaning, Sequence[Returned]]]:
        """Yield the fields of a slot's own server, or of the others, that may fill it, those that mean the same together."""
        self._read()
        seen: set[int] = set()
        for key in self._keys(asked):
            for meaning, fields in self._found.get(key, {}).items():
                if (meaning.server == asked.server) == home and id(meaning) not in seen:
                    seen.add(id(meaning))
                    yield meaning, fields

    def declared(self, asked: Asked) -> Iterator[tuple[str, Returned]]:
        """Yield the fields that a server declares to identify what a parameter declares to take, and what that is."""
        self._read()
        for thing in asked.relations:
            for meaning, fields in self._found.get(("declared", thing), {}).items():
                yield from ((thing, one) for one in fields if meaning.server == asked.server)

    def _read(self) -> None:
        """Read the fields of new tools."""
        for tool in [one for one in self._tools if one not in self._fields] if self._is_behind() else ():
            fields = self._fields[tool] = tuple(returned_by(self._tools[tool]))
            keys: set[_Key] = set()
            for one in fields:
                own = _keys_of(one)
                keys |= own
                for key in own:
                    self._found.setdefault(key, {}).setdefault(one.meaning, []).append(one)
            self._tools_by_key.update(keys)
            self._sorted = None

    def _is_behind(self) -> bool:
        return len(self._fields) < len(self._tools)

    def _keys(self, asked: Asked) -> set[_Key]:
        """Return what the fields that may fill a slot are found by."""
        found: set[_Key] = {("of", thing) for thing, _ in asked.described}
        if asked.form.format == "email":
            found.add(("format", "email"))
        for one in asked.identities:
            name = one.thing if one.attribute else one.words
            things = {name[-1], *self._related(name[-1])} if name else set()
            found |= {("of", thing) for thing in things}
            if one.attribute or self._is_thing(asked.server, name):
                found |= {("to", thing) for thing in things}
            elif self._name_weight(name) >= COMPANION:
                found.add(("name", *name))
            if one.attribute in SELF_NAMING or (one.words and one.attribute in IDENTIFIERS - {"id"}):
                found.add(("as", one.attribute))
        return found

    def _related(self, word: str) -> Iterator[str]:
        """Yield short forms of a word, what it is a short form of, and the roles of persons."""
        if self._sorted is None:
            self._sorted = sorted(key[1] for key in self._found if key[0] in {"of", "to"})
        at = bisect_left(self._sorted, word)
        while at < len(self._sorted) and self._sorted[at].startswith(word):
            if related((word,), (self._sorted[at],)):
                yield self._sorted[at]
            at += 1
        yield from (word[:size] for size in range(_SHORTEST, len(word)) if related((word[:size],), (word,)))
        if word in PERSONS:
            yield from PERSONS | ROLES
        elif word in ROLES:
            yield from PERSONS

    def _is_thing(self, server: str, words: Words) -> bool:
        return bool(words) and words[-1] not in VAGUE and self._things[server, words[-1]] > 0

    def _name_weight(self, words: Words) -> float:
        tools = self._tools_by_key["name", *words]
        few = max(_FEW_TOOLS, _FEW_SHARE * len(self._tools))
        return name_weight(words) * min(1.0, math.sqrt(few / tools)) if tools else 0.0


def _keys_of(one: Returned) -> frozenset[_Key]:
    """Return what a field is found by; secrets and the keys of maps only by lineage."""
    keys = frozenset[_Key]() if one.place.path[-1:] == (NAME,) else _keys_of_meaning(one.meaning)
    declared = relation_keys(one.place.type, "produces")
    return keys | {("declared", thing) for thing in declared} if declared else keys


@lru_cache(maxsize=1 << 16)
def _keys_of_meaning(meaning: Meaning) -> frozenset[_Key]:
    found: set[_Key] = set()
    for own in meaning.identities:
        if is_secret(own.words):
            return frozenset()
        if own.attribute:
            found |= {("as", own.attribute), *(("of", thing) for thing in own.thing[-1:])}
        elif own.words:
            found |= {("name", *own.words), ("to", own.words[-1])}
    return frozenset(found | ({("format", "email")} if meaning.form.format == "email" else set()))
