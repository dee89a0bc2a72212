"""Which places of one tool can supply which slots of another, why, and how sure that is."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple, Protocol

from halflap.graph.declared import relation
from halflap.graph.edge import Edge, Evidence, Link, path_text
from halflap.graph.fit import conflict, same_choice
from halflap.graph.vocabulary import COMMON_THINGS, IDENTIFYING, KINDS, telling
from halflap.graph.words import phrase

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from halflap.graph.declared import Relation
    from halflap.graph.edge import Coverage, EvidenceKind, Ports
    from halflap.graph.node import Node

__all__ = [
    "OPTIONAL_LEAST",
    "REQUIRED_LEAST",
    "Candidate",
    "Observed",
    "candidates",
    "edge_between",
    "may_lead",
]

REQUIRED_LEAST = 0.5
"""How sure a link has to be, to make an edge; a required parameter has to come from somewhere."""
OPTIONAL_LEAST = 0.6
"""An optional one is a filter that somebody may as well leave out."""
_COMPANION = 0.3
"""How sure a link has to be, where another makes the edge."""
_NAME = 0.88
_DECLARED = 0.8
_DECLARED_ALONE = 0.75
_SHAPE = 0.55
_MENTIONED = 0.62
_SAME_CHOICE = 0.45
_FREE_FOR_CHOICE = 0.85
_FORMATS = {"email": 0.3, "uri": 0.25, "ipv4": 0.3, "ipv6": 0.3, "date": 0.2, "date-time": 0.15, "uuid": 0.1}
_FORMAT_ALONE = {"email": 0.6, "ipv4": 0.6, "ipv6": 0.6, "uri": 0.42}
_FEW_SEEN = 0.75
_PER_SLOT = 3
_NEAR = 0.75
_MOST_LINEAGE = 0.99
_PAGED = 0.9

_NEXT = frozenset({"next", "end", "continuation"})
_CURSORS = frozenset(
    ["cursor", "next cursor", "end cursor", "page token", "next page token", "next token", "continuation token", "page cursor", "next page cursor", "marker", "next marker", "next page id", "scroll id", "next start cursor"]
)
_CURSOR_SLOTS = frozenset(
    ["cursor", "after", "page token", "next token", "next page token", "next cursor", "continuation token", "continue", "page cursor", "marker", "start cursor", "scroll id", "starting after"]
)


class Observed(Protocol):
    """Which values were seen to go where: what the matching asks of a lineage."""

    def between(self, source: str, target: str) -> Sequence[tuple[str, str, int]]:
        """Give the paths from which and to which values went, and how often."""
        ...


class Candidate(NamedTuple):
    """A place and a slot that have something in common."""

    place: int
    slot: int
    evidence: tuple[Evidence, ...]
    conflict: str = ""
    """Why the types do not fit."""
    common: bool = False
    """Whether the name would do, if fewer tools had it."""

    @property
    def strength(self) -> float:
        """How sure all evidence together makes."""
        doubt = 1.0
        for one in self.evidence:
            doubt *= 1 - one.weight
        return 1 - doubt


@lru_cache(maxsize=1 << 16)
def _worth(key: str, same_server: bool) -> float:
    """Say what it is worth that two have this name, before it is asked how common it is."""
    words = tuple(key.split())
    worth = _NAME * telling(words)
    if same_server:
        return worth
    if words[-1] in KINDS:
        return worth * 0.95
    if words[-1] in IDENTIFYING:
        # Each server has its own users, and numbers them itself.
        return worth * (0.3 if set(words[:-1]) <= COMMON_THINGS else 0.72)
    return worth * (0.5 if set(words) <= COMMON_THINGS else 0.8)


def may_lead(key: str, weight: float, *, same_server: bool = True) -> bool:
    """Say whether a key that both have can make an edge by itself, weighing so much here."""
    if key[0] == "{" or "\0" in key:
        return True
    if key[0] == "=":
        return _FORMAT_ALONE.get(key[1:], 0) * weight >= REQUIRED_LEAST
    return _worth(key, same_server) * weight >= REQUIRED_LEAST


def candidates(
    source: Node, target: Node, weigh: Callable[[str], float], seen: Observed | None
) -> list[Candidate]:
    """Give all places and slots that have something in common, be it enough or not."""
    same_server = source.server == target.server
    named: dict[tuple[int, int], tuple[float, Evidence, bool]] = {}
    others: dict[tuple[int, int], list[Evidence]] = {}
    for key in source.gives.keys() & target.takes.keys():
        if key[0] == "{":
            _shapes(source, target, key, others)
        elif key[0] == "=":
            _formats(source, target, key, weigh(key), others)
        elif "\0" in key:
            _mentioned(source, target, key, others)
        else:
            worth = _worth(key, same_server)
            weight = weigh(key)
            for give in source.gives[key]:
                for take in target.takes[key]:
                    whole = worth * give.weight * take.weight
                    sure = whole * weight
                    at = (give.at, take.at)
                    known = named.get(at)
                    if known is None or known[0] < sure:
                        kind = _kind(source, target, at) if give.own and take.own else "entity"
                        named[at] = (sure, Evidence(kind, sure, key), whole >= REQUIRED_LEAST > sure)
    if same_server:
        said = list(relation(source.mentions, source.name, target.mentions, target.name))
        if said:
            _declared(source, target, said, named, others)
    for start, end, times in seen.between(source.tool, target.tool) if seen is not None else ():
        at_place, at_slot = source.place_at.get(start), target.slot_at.get(end)
        if at_place is not None and at_slot is not None and times > 0:
            sure = min(_MOST_LINEAGE, 1 - 0.5 ** (1 + times / 2))
            others.setdefault((at_place, at_slot), []).append(
                Evidence("lineage", sure, f"seen {times} times")
            )
    return [
        _candidate(source, target, at, named.get(at), others.get(at, []), same_server)
        for at in dict.fromkeys([*named, *others])
    ]


def _candidate(
    source: Node,
    target: Node,
    at: tuple[int, int],
    named: tuple[float, Evidence, bool] | None,
    others: list[Evidence],
    same_server: bool,
) -> Candidate:
    given, asked = source.place_forms[at[0]], target.slot_forms[at[1]]
    problem = conflict(given, asked)
    evidence = list(others)
    common = False
    if named is not None:
        one = named[1]
        common = named[2]
        if asked.values is not None and given.values is None:
            # It can be one of the values; it can be anything else, too.
            one = Evidence(one.kind, one.weight * _FREE_FOR_CHOICE, one.detail)
        evidence.insert(0, one)
        if not problem:
            if same_server and same_choice(given, asked):
                evidence.append(Evidence("format", _SAME_CHOICE, "the same few values"))
            elif (
                given.format is not None
                and given.format == asked.format
                and not any(e.kind == "format" for e in others)
            ):
                weight = _FORMATS.get(given.format, 0.1)
                evidence.append(Evidence("format", weight, given.format))
    return Candidate(at[0], at[1], tuple(evidence), problem, common)


def _kind(source: Node, target: Node, at: tuple[int, int]) -> EvidenceKind:
    place, slot = source.ports.places[at[0]].path, target.ports.slots[at[1]].path
    same = _last_name(place) == _last_name(slot)
    return "name" if same else "words"


def _last_name(path: Sequence[object]) -> str:
    return next((step.key for step in reversed(path) if step.kind == "key"), "")  # type: ignore[attr-defined]


def _shapes(source: Node, target: Node, key: str, others: dict[tuple[int, int], list[Evidence]]) -> None:
    """Look whether an object has all that a slot's objects need."""
    for take in target.takes[key]:
        asked = target.slot_forms[take.at]
        required = {name for name, needed, _ in asked.fields if needed}
        if len(required) < 2:  # noqa: PLR2004 -- one field is a name, not a shape
            continue
        told = 1.0
        for name in required:
            told *= 1 - 0.6 * telling(_name_words(name))
        for give in source.gives[key]:
            given = source.place_forms[give.at]
            if required <= {name for name, _, _ in given.fields}:
                weight = _SHAPE + (1 - _SHAPE) * 0.6 * (1 - told)
                detail = ", ".join(sorted(required))
                if telling_all(required) < REQUIRED_LEAST:
                    weight = _COMPANION
                others.setdefault((give.at, take.at), []).append(Evidence("shape", weight, detail))


def _name_words(name: str) -> tuple[str, ...]:
    from halflap.graph.words import words_of  # noqa: PLC0415

    return words_of(name)


def telling_all(names: set[str]) -> float:
    """Say how much the names of an object's fields tell together."""
    silent = 1.0
    for name in names:
        silent *= 1 - 0.6 * telling(_name_words(name))
    return 1 - silent


def _formats(
    source: Node, target: Node, key: str, weight: float, others: dict[tuple[int, int], list[Evidence]]
) -> None:
    sure = _FORMAT_ALONE.get(key[1:], 0) * weight
    for give in source.gives[key]:
        for take in target.takes[key]:
            others.setdefault((give.at, take.at), []).append(Evidence("format", sure, key[1:]))


def _mentioned(source: Node, target: Node, key: str, others: dict[tuple[int, int], list[Evidence]]) -> None:
    """Look whether the one tool tells of the things that the other one takes by a name that says little."""
    thing = target.subject.thing
    if not thing or target.subject.creates or thing[-1] not in source.texts:
        return
    for give in source.gives[key]:
        path = source.ports.places[give.at].path
        if sum(step.kind == "key" for step in path) > 2:  # noqa: PLR2004 -- what is deeper is of other things
            continue
        for take in target.takes[key]:
            if target.slot_names[take.at] != source.place_names[give.at]:
                continue
            detail = f"its description tells of {thing[-1]}"
            others.setdefault((give.at, take.at), []).append(Evidence("entity", _MENTIONED, detail))


def _declared(
    source: Node,
    target: Node,
    said: list[Relation],
    named: dict[tuple[int, int], tuple[float, Evidence, bool]],
    others: dict[tuple[int, int], list[Evidence]],
) -> None:
    """Find which places and slots the descriptions mean."""
    for one in said:
        pairs = [at for at in _pairs(source, target, one) if at in named]
        best = max((named[at][0] for at in pairs), default=0.0)
        weight = _DECLARED
        chosen = [at for at in pairs if named[at][0] >= best * _NEAR]
        if not pairs or best < 0.15:  # noqa: PLR2004 -- a name that both have and that says nothing at all
            chosen = [at for at in _pairs(source, target, one) if _akin(source, target, at)]
            weight = _DECLARED_ALONE
        for at in chosen:
            known = others.setdefault(at, [])
            if not any(evidence.kind == "declared" for evidence in known):
                known.append(Evidence("declared", weight, one.text))


def _pairs(source: Node, target: Node, one: Relation) -> Iterator[tuple[int, int]]:
    fields = [at for at, name in enumerate(source.place_names) if name and name in one.names]
    for at, place in enumerate(source.ports.places):
        if (one.place is not None and not _within(place.path, one.place)) or (fields and at not in fields):
            continue
        for to, slot in enumerate(target.ports.slots):
            if one.slot is None or slot.path[: len(one.slot)] == one.slot:
                yield at, to


def _within(path: Sequence[object], whole: Sequence[object]) -> bool:
    return path[: len(whole)] == whole


def _akin(source: Node, target: Node, at: tuple[int, int]) -> bool:
    """Say whether a place may be what a description means, though its name is another."""
    mine, theirs = source.place_names[at[0]], target.slot_names[at[1]]
    path = source.ports.places[at[0]].path
    if "object" in source.place_forms[at[0]].kinds or "boolean" in source.place_forms[at[0]].kinds:
        return False
    if not path or path[-1].kind != "key":
        return True
    return (
        bool(mine)
        and bool(theirs)
        and mine[-1] == theirs[-1]
        and (mine[-1] in IDENTIFYING or mine[-1] in KINDS)
    )


def edge_between(
    source: Node, target: Node, weigh: Callable[[str], float], seen: Observed | None
) -> Edge | None:
    """Give the edge from one tool to another, if there is one."""
    if source is target:
        return _pagination(source)
    required = target.ports.required
    strong = False
    kept: dict[int, list[tuple[float, Candidate]]] = {}
    for one in candidates(source, target, weigh, seen):
        if one.conflict:
            continue
        strength = one.strength
        if strength < _COMPANION:
            continue
        slot = target.ports.slots[one.slot]
        least = REQUIRED_LEAST if slot.required and slot.parameter in required else OPTIONAL_LEAST
        strong = strong or strength >= least
        kept.setdefault(one.slot, []).append((strength, one))
    if not strong:
        return None
    links = []
    for found in kept.values():
        found.sort(key=lambda pair: (-pair[0], len(source.ports.places[pair[1].place].path), pair[1].place))
        best = found[0][0]
        links += [_link(source, target, one, sure) for sure, one in found[:_PER_SLOT] if sure >= best * _NEAR]
    links.sort(key=lambda link: (-link.confidence, path_text(link.target), path_text(link.source)))
    return Edge(
        source.tool,
        target.tool,
        _coverage(target.ports, links),
        max(link.confidence for link in links),
        tuple(links),
    )


def _link(source: Node, target: Node, one: Candidate, strength: float) -> Link:
    place = source.ports.places[one.place]
    sure = strength if place.declared else strength * (_FEW_SEEN + (1 - _FEW_SEEN) * place.confidence)
    return Link(place.path, target.ports.slots[one.slot].path, sure, one.evidence)


def _coverage(target: Ports, links: list[Link]) -> Coverage:
    paths = {link.target for link in links}
    supplied = {name for name in target.required if _is_supplied(target, name, paths)}
    touched = {path[0].key for path in paths}
    if not target.required & touched:
        return "optional"
    return "strict" if supplied == target.required else "partial"


def _is_supplied(target: Ports, name: str, paths: set[tuple[object, ...]]) -> bool:
    """Say whether a parameter is supplied: as a whole, or all inside of it that has to be there."""
    inside = [slot for slot in target.slots if slot.parameter == name]
    # A parameter itself, or each item of it, as a whole.
    if any(slot.path in paths and all(step.kind != "key" for step in slot.path[1:]) for slot in inside):
        return True
    needed = [
        slot.path
        for slot in inside
        if slot.required
        and any(step.kind == "key" for step in slot.path[1:])
        and not _has_inner(inside, slot.path)
    ]
    return bool(needed) and all(_is_given(path, paths) for path in needed)


def _is_given(path: tuple[object, ...], paths: set[tuple[object, ...]]) -> bool:
    return any(path[:length] in paths for length in range(1, len(path) + 1))


def _has_inner(slots: list[object], path: tuple[object, ...]) -> bool:
    return any(
        len(slot.path) > len(path) and slot.path[: len(path)] == path and slot.required for slot in slots
    )  # type: ignore[attr-defined]


def _pagination(node: Node) -> Edge | None:
    """Look whether a tool's result has what the call for the next page takes."""
    links = []
    for to, slot in enumerate(node.ports.slots):
        asked = phrase(node.slot_names[to])
        for at, place in enumerate(node.ports.places):
            if any(step.kind != "key" for step in place.path) or not place.path:
                continue
            given = node.place_names[at]
            if not _turns(given, asked) or conflict(node.place_forms[at], node.slot_forms[to]):
                continue
            detail = f"the {phrase(given)} of one page is the {asked} of the next call"
            links.append(Link(place.path, slot.path, _PAGED, (Evidence("words", _PAGED, detail),)))
            break
    if not links:
        return None
    return Edge(node.tool, node.tool, _coverage(node.ports, links), _PAGED, tuple(links), is_pagination=True)


def _turns(given: tuple[str, ...], asked: str) -> bool:
    name = phrase(given)
    if name in _CURSORS and asked in _CURSOR_SLOTS:
        return True
    rest = given[1:] if given and given[0] in _NEXT else ()
    return (
        bool(rest)
        and rest[-1] in {"cursor", "token", "page", "offset", "marker", "start", "index", "key", "id"}
        and (
            phrase(rest) == asked
            or asked == name
            or (rest == ("page",) and asked == "page number")
            or (rest == ("offset",) and asked in {"start", "start index", "skip"})
        )
    )
