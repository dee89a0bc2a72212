"""An index of result fields, by the words that parameters ask for."""

from __future__ import annotations

import gc
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from typing import TYPE_CHECKING

from halflap.graph.edges.evidence import COMPANION, Catalogue
from halflap.graph.edges.fields import Asked, Meaning, Returned, returned_by
from halflap.graph.naming import doubts, is_secret
from halflap.graph.naming.vocabulary import IDENTIFIERS, PERSONS, ROLES, SELF_NAMING

if TYPE_CHECKING:
    from halflap.graph.naming import Words
    from halflap.graph.ports import Ports

_SHORTEST = 3
_WHOLE = frozenset({"object", "array"})

_Key = tuple[str, ...]
"""What fields are found by: a kind, and words."""


class Index:
    """Finds the fields that may fill a parameter without looking at all of them; they are read when first asked for."""

    def __init__(self) -> None:
        self._tools: dict[str, Ports] = {}
        self._fields: dict[str, tuple[Returned, ...]] = {}
        """Of the tools read so far."""
        self._meant: dict[Meaning, list[Returned]] = {}
        """The fields that mean the same."""
        self._found: dict[_Key, dict[tuple[str, bool], list[Meaning]]] = {}
        """What may be meant by a key: by server, and whether it is an object or array as a whole."""
        self.catalogue = Catalogue()
        self._sorted: list[str] | None = None
        """All entities of which identifiers are returned."""

    def put(self, ports: Ports) -> None:
        self._tools[ports.tool] = ports
        self.catalogue.tools += 1
        self.catalogue.count(ports.server, ports.subject.things, 1)

    def remove(self, ports: Ports) -> None:
        del self._tools[ports.tool]
        self.catalogue.tools -= 1
        self.catalogue.count(ports.server, ports.subject.things, -1)
        fields = self._fields.pop(ports.tool, ())
        for one in fields:
            self._meant[one.meaning].remove(one)
        self.catalogue.names.subtract(_names_of(fields))

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
        takes_whole = not asked.form.kinds.isdisjoint(_WHOLE)
        seen: set[int] = set()
        for key in self._keys(asked):
            for (server, is_whole), meanings in self._found.get(key, {}).items():
                if (server == asked.server) == home and (takes_whole or not is_whole):
                    for meaning in meanings:
                        if id(meaning) not in seen:
                            seen.add(id(meaning))
                            yield meaning, self._meant[meaning]

    def _read(self) -> None:
        """Read the fields of new tools."""
        if len(self._fields) == len(self._tools):
            return
        with without_collection():
            for tool in [one for one in self._tools if one not in self._fields]:
                fields = self._fields[tool] = tuple(returned_by(self._tools[tool]))
                for one in fields:
                    known = self._meant.get(one.meaning)
                    if known is None:
                        known = self._meant[one.meaning] = []
                        group = one.meaning.server, one.meaning.form.kinds <= _WHOLE
                        for key in _keys_of(one.meaning):
                            self._found.setdefault(key, {}).setdefault(group, []).append(one.meaning)
                    known.append(one)
                self.catalogue.names.update(_names_of(fields))
        self._sorted = None

    def _keys(self, asked: Asked) -> set[_Key]:
        """Return what the fields that may fill a slot are found by."""
        found: set[_Key] = {("of", one.thing[-1], one.attribute) for one in asked.described if one.thing}
        found |= {("declared", thing) for thing in asked.consumes}
        if asked.form.format == "email":
            found.add(("format", "email"))
        for one in asked.identities:
            name = one.thing if one.attribute else one.words
            things = {name[-1], "".join(name), *self._related(name[-1])} if name else set()
            found |= {("of", thing, one.attribute) for thing in things}
            if one.attribute or self.catalogue.is_thing(asked.server, name):
                found |= {("to", thing) for thing in things}
            elif self.catalogue.name_weight(name) >= COMPANION:
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
            if self._is_short_form(word, self._sorted[at]):
                yield self._sorted[at]
            at += 1
        starts = (word[:size] for size in range(_SHORTEST, len(word)))
        yield from (one for one in starts if self._is_short_form(one, word))
        if word in PERSONS:
            yield from PERSONS | ROLES
        elif word in ROLES:
            yield from PERSONS

    def _is_short_form(self, short: str, long: str) -> bool:
        """Return whether a word is short for another, and not a part of it: `org`, but not the user of a `usergroup`."""
        rest = long.removeprefix(short)
        is_compound = ("of", rest, "") in self._found or ("to", rest) in self._found
        return not is_compound and doubts((short,), (long,)) is not None


@contextmanager
def without_collection() -> Iterator[None]:
    """Pause garbage collection: all objects made here stay, and scanning them takes as long as making them."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def _names_of(fields: Sequence[Returned]) -> set[Words]:
    """Return the names of a tool's plain values."""
    return {key[1:] for one in fields for key in _keys_of(one.meaning) if key[0] == "name"}


@lru_cache(maxsize=1 << 16)
def _keys_of(meaning: Meaning) -> frozenset[_Key]:
    """Return what a field is found by; secrets only by lineage."""
    found: set[_Key] = {("declared", thing) for thing in meaning.produces}
    for own in meaning.identities:
        if is_secret(own.words):
            return frozenset()
        if own.attribute:
            found.add(("as", own.attribute))
            for thing in own.thing[-1:]:
                # What names no attribute asks for any.
                found |= {("of", thing, own.attribute), ("of", thing, "")}
        elif own.words:
            found |= {("name", *own.words), ("to", own.words[-1])}
    return frozenset(found | ({("format", "email")} if meaning.form.format == "email" else set()))
