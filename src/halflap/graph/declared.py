"""Relations that a server's own descriptions tell of: "from A or C" at a parameter, "use with B" at a field, lists in a tool's.

A description speaks for its own server alone. A name is read as a tool's only where it is that of a tool of the same
server, so that no text can reach another's; which tools there are is looked up when it is asked, not when it is read.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal, NamedTuple

from halflap.graph.words import Words, words_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from halflap.graph.edge import Path, Ports

__all__ = ["Mention", "Relation", "mentions_of", "relations"]

_LONGEST = 4_000
_MOST = 200
_TOKEN = re.compile(
    r"(?P<quote>[`'\"“‘]?)(?P<name>\w[\w./:-]*\*?)(?P<end>[`'\"”’]?)(?P<after>\(\))?|(?P<stop>[.!?;](?=\s|$)|\n)"
)
_COMPOUND = re.compile(r"[^\W_][_./:-]+[^\W_]|[a-z0-9][A-Z]|_\*$|-\*$")
_ANY_NAME = re.compile(
    r"[^\W_][_./:-]+[^\W_]|(?-i:[a-z0-9][A-Z])|[_-]\*|[`'\"]|\(\)|\btools?\b", re.IGNORECASE
)
"""What a text has that names a tool; most have none."""
_FROM = frozenset(
    [
        "from",
        "by",
        "obtained",
        "returned",
        "via",
        "output",
        "result",
        "given",
        "provided",
        "found",
        "retrieved",
        "fetched",
        "produced",
        "using",
        "after",
        "first",
        "requires",
        "listed",
    ]
)
_TO = frozenset(["with", "pass", "passed", "feed", "feeds", "into", "followed", "then"])
_NEVER = frozenset(
    [
        "not",
        "never",
        "instead",
        "unlike",
        "rather",
        "don't",
        "dont",
        "doesn't",
        "doesnt",
        "except",
        "avoid",
        "deprecated",
        "replaces",
        "without",
    ]
)
_USING = frozenset(["use", "call", "run", "invoke"])
_TO_GET = re.compile(
    r"^\W*(?:tool\s+)?(?:first\b|to (?:get|find|obtain|look|discover|list|see|retrieve|fetch|resolve|search))",
    re.IGNORECASE,
)
_TOOL_FOLLOWS = re.compile(r"^\W*(?:,?\s*[\w./:-]+\W+){0,4}?tools?\b", re.IGNORECASE)

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

    def means(self, name: str) -> bool:
        """Say whether this is the name of that tool."""
        return name.startswith(self.name[:-1]) if self.name.endswith("*") else name == self.name


class Relation(NamedTuple):
    """That a description says that one tool's result goes into another."""

    place: Path | None
    slot: Path | None
    names: frozenset[Words]
    text: str


def mentions_of(ports: Ports) -> tuple[Mention, ...]:
    """Read all of a tool's descriptions."""
    found: list[Mention] = []
    for one in _read(ports.description, None):
        found.append(one)
    for place in ports.places:
        if place.description:
            found += [one._replace(place=place.path) for one in _read(place.description, "to")]
    for slot in ports.slots:
        if slot.description:
            found += [
                one._replace(slot=slot.path)
                for one in _read(slot.description, "from")
                if one.direction == "from"
            ]
    return tuple(dict.fromkeys(found[:_MOST]))


def relations(
    mentions_of_source: Collection[Mention], source: str, mentions_of_target: Collection[Mention], target: str
) -> Iterator[Relation]:
    """Give what the two tools' descriptions say of values that go from the one to the other."""
    for one in mentions_of_source:
        if one.direction == "to" and one.means(target):
            yield Relation(one.place, None, one.names, one.text)
    for one in mentions_of_target:
        if one.direction == "from" and one.means(source):
            yield Relation(None, one.slot, one.names, one.text)


def _read(text: str, default: Direction | None) -> Iterator[Mention]:
    text = text[:_LONGEST]
    if not _ANY_NAME.search(text):
        return
    direction = default
    denied = False
    using = False
    sentence: list[tuple[str, Direction]] = []
    names: set[Words] = set()
    start = 0
    for token in [*_TOKEN.finditer(text), None]:
        if token is None or token["stop"]:
            end = len(text) if token is None else token.end()
            if not denied:
                said = " ".join(text[start:end].split())[:200]
                for name, way in sentence:
                    others = frozenset(names - {words_of(name)})
                    yield Mention(name, way, names=others, text=said)
            if token is not None and token["stop"] == "\n" and sentence and not denied:
                # A list goes on where its sentence does.
                start = end
                sentence = []
                continue
            direction, denied, using, sentence, names, start = default, False, False, [], set(), end
            continue
        word = token["name"].rstrip("./:-")
        low = word.casefold()
        if low in _NEVER:
            denied = True
        elif low in _FROM:
            direction = "from"
        elif low in _TO:
            direction = "to"
        if low in _USING:
            using = True
            continue
        quoted = bool(token["quote"] and token["end"]) or bool(token["after"])
        if quoted or _COMPOUND.search(word):
            rest = text[token.end() : token.end() + 80]
            way = "from" if using and default is None and _TO_GET.match(rest) else direction
            names.add(words_of(word))
            if way is not None:
                sentence.append((word, way))
        elif _TOOL_FOLLOWS.match(text[token.end() : token.end() + 12]) and direction is not None:
            sentence.append((word, direction))
        using = False
