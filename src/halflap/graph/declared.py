"""Relations that a server itself tells of: "from A or C" at a parameter, "use with B" at a field, lists of tools.

Schemas can say it outright, as those of the contract for servers do: that a field produces what a parameter consumes.
Either way, a description speaks for its own server alone. A name is read as a tool's only where it is that of a tool of the same
server, so that no text can reach another's; which tools there are is looked up when it is asked, not when it is read.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal, NamedTuple

from halflap.graph.words import Words, phrase, words_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from halflap.graph.edge import Path, Ports
    from halflap.schema import Type

__all__ = ["RELATED", "Mention", "Relation", "mentions_of", "related_keys", "related_to", "relations"]

RELATED = "@"
"""Before the key of a thing that a field produces and a parameter consumes, within one server."""

_LONGEST = 4_000
_MOST = 200
_LONGEST_SHOWN = 200
_AHEAD = 80
_TOKEN = re.compile(r"(?P<quote>[`'\"]?)(?P<name>\w[\w./:-]*\*?)(?P<end>[`'\"]?)")
_SENTENCE_END = re.compile(r"(?<=[.!?;])\s+|\n\s*\n|\n(?!\s*(?:[-*•]|\d+[.)]))")
"""A list goes on where its sentence does."""
_COMPOUND = re.compile(r"[^\W_][_./:-]+[^\W_]|[a-z0-9][A-Z]|[_-]\*$")
_ANY_NAME = re.compile(r"[^\W_][_./:-]+[^\W_]|[a-z0-9][A-Z]|[_-]\*|[`'\"]|\(\)|[Tt]ool")
"""What a text has that names a tool; most have none."""
_FROM = frozenset(
    (
        "after", "by", "fetched", "first", "found", "from", "given", "listed", "obtained", "output", "produced",
        "provided", "requires", "result", "retrieved", "returned", "using", "via",
    )
)  # fmt: skip
_TO = frozenset(("feed", "feeds", "followed", "into", "pass", "passed", "then", "with"))
_NEVER = frozenset(
    (
        "avoid", "deprecated", "differ", "different", "differs", "doesn't", "doesnt", "don't", "dont", "except", "instead", "never", "not", "rather",
        "replaces", "unlike", "without",
    )
)  # fmt: skip
_USING = frozenset(("call", "invoke", "run", "use"))
_TO_GET = re.compile(
    r"\W*(?:tool\s+)?(?:first\b|to (?:get|find|obtain|look|discover|list|see|retrieve|fetch|resolve|search))",
    re.IGNORECASE,
)
_WHICH = frozenset(("that", "what", "which"))
_GIVES = re.compile(
    r"\W*(?:tool\s+)?(?:gave|gives|lists|outputs|produces|provides|returned|returns|yields)\b", re.IGNORECASE
)
_TOOL_FOLLOWS = re.compile(r"\s+tools?\b", re.IGNORECASE)

Direction = Literal["from", "to"]


class Mention(NamedTuple):
    """A name that may be a tool's, in a description, and which way values go between the two."""

    name: str
    """As it is written; it may end in `*`, and then stands for all that begin so."""
    direction: Direction
    place: Path | None = None
    """The place at which it is said."""
    slot: Path | None = None
    """The slot at which it is said."""
    names: frozenset[Words] = frozenset()
    """Other names in the same sentence, such as that of the field that is meant."""
    text: str = ""
    is_told: bool = True
    """Whether words say which way, rather than where it stands."""

    def means(self, name: str) -> bool:
        """Say whether this is the name of that tool."""
        return name.startswith(self.name[:-1]) if self.name.endswith("*") else name == self.name


class Relation(NamedTuple):
    """That a description says that one tool's result goes into another."""

    place: Path | None
    slot: Path | None
    names: frozenset[Words]
    text: str
    is_told: bool = True
    """Whether its words say that something goes this way, rather than only name the tool."""


def related_keys(server: str, kind: Type, direction: Literal["produces", "consumes"]) -> Sequence[str]:
    """Give the keys of the things that a schema says outright that it produces, or that it consumes."""
    if not kind.relations and not kind.members:
        return ()
    said = dict.fromkeys(one for part in (kind, *kind.members) for one in part.relations)
    return [
        f"{RELATED}{server}\0{phrase(words_of(thing)) or thing}" for way, thing in said if way == direction
    ]


def related_to(key: str) -> str:
    """Say what such a key stands for."""
    return f"the server says that one produces and the other consumes: {key.rpartition(chr(0))[2]}"


def mentions_of(ports: Ports) -> tuple[Mention, ...]:
    """Read all of a tool's descriptions."""
    found = list(_read(ports.description, None))
    for place in ports.places:
        if place.description:
            found += [one._replace(place=place.path) for one in _read(place.description, "to")]
    for slot in ports.slots:
        if slot.description:
            told = _read(slot.description, "from")
            found += [one._replace(slot=slot.path) for one in told if one.direction == "from"]
    return tuple(dict.fromkeys(found[:_MOST]))


def relations(
    mentions_of_source: Collection[Mention], source: str, mentions_of_target: Collection[Mention], target: str
) -> Iterator[Relation]:
    """Give what the two tools' descriptions say of values that go from the one to the other."""
    for one in mentions_of_source:
        if one.direction == "to" and one.means(target):
            yield Relation(one.place, None, one.names, one.text, one.is_told)
    for one in mentions_of_target:
        if one.direction == "from" and one.means(source):
            yield Relation(None, one.slot, one.names, one.text, one.is_told)


def _read(text: str, default: Direction | None) -> Iterator[Mention]:
    text = text[:_LONGEST]
    if not _ANY_NAME.search(text):
        return
    for sentence in _SENTENCE_END.split(text):
        found = list(_named(sentence, default))
        if not found or not _NEVER.isdisjoint(re.findall(r"[\w']+", sentence.casefold())):
            continue
        said = " ".join(sentence.split())[:_LONGEST_SHOWN]
        names = {words_of(name) for name, _, _ in found}
        for name, direction, is_told in found:
            if direction is not None:
                rest = frozenset(names - {words_of(name)})
                yield Mention(name, direction, names=rest, text=said, is_told=is_told)


def _named(sentence: str, default: Direction | None) -> Iterator[tuple[str, Direction | None, bool]]:
    """Give the names in a sentence that may be tools', each with the way that the words around it tell, and whether they do."""
    direction, is_told, before = default, False, ""
    for token in _TOKEN.finditer(sentence):
        word = token["name"].rstrip("./:-")
        low = word.casefold()
        if low in _FROM or low in _TO:
            direction, is_told = "from" if low in _FROM else "to", True
        rest = sentence[token.end() : token.end() + _AHEAD]
        quoted = bool(token["quote"] and token["end"]) or rest.startswith("()")
        if quoted or _COMPOUND.search(word):
            first = before in _USING and default != "to" and _TO_GET.match(rest)
            if first or (before in _WHICH and default != "to" and _GIVES.match(rest)):
                yield word, "from", True
                continue
            yield word, direction, is_told
            tool, dot, field = word.partition(".")
            if dot:
                # `scan_bay.ref`: a field of what a tool returns.
                yield tool, direction, is_told
                yield field.rpartition(".")[2], None, False
        elif _TOOL_FOLLOWS.match(rest):
            yield word, direction, is_told
        before = low
