"""Why a place may supply a slot: all that speaks for it, each apart, and whether the types allow it at all."""

from __future__ import annotations

from functools import lru_cache
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple, Protocol

from halflap.graph.declared import RELATED, related_to, relations
from halflap.graph.edge import Evidence, path_text
from halflap.graph.fit import conflict
from halflap.graph.meant import DECLARED, At, meant
from halflap.graph.vocabulary import CHOSEN, COMMON_THINGS, IDENTIFYING, KINDS, telling
from halflap.graph.words import words_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from halflap.graph.declared import Relation
    from halflap.graph.edge import EvidenceKind
    from halflap.graph.node import Held, Node

__all__ = ["LEAST", "Candidate", "Flows", "candidates", "may_lead", "together"]

LEAST = 0.5
"""How sure it has to be that a place supplies a slot, to make an edge."""
_LEADING_NAME = 0.37
_LEADING_OPTIONAL = 0.5
_LEADING_FORMAT = 0.35
"""Less than these cannot come to be enough, whatever else two places have in common by themselves."""
_MARKS = "{=#!+" + RELATED
"""What keys begin with that are no names."""
_MOST_SAID = 8
_NAME = 0.88
_SHAPE = 0.55
_TOLD = 0.62
_ONE_OF_FEW = Evidence("format", 0.5, "one of the same few values")
_FREE = 0.85
"""What is left of a name's evidence where a text may be one of the values that are asked for, or not."""
_FORMATS = {"date": 0.2, "date-time": 0.15}
_ANY_FORMAT = 0.1
_FORMAT_ALONE = {"email": 0.6, "ipv4": 0.6, "ipv6": 0.6, "uri": 0.42}
_MOST_LINEAGE = 0.99
_ANYWHERE = 0.95
_OTHERS_OWN = 0.3
_OTHERS = 0.72
_OTHERS_WORD = 0.8
_GUESSED_OF_OTHERS = 0.78
_ITS_OWN = 0.4
_CHANGED = 0.5
_LEFT_OVER = 0.6
_COMPANION = 0.3
_FIELD = 0.6


class Flows(Protocol):
    """Which values were seen to go where: what the graph asks of a lineage."""

    @property
    def counts(self) -> Iterable[tuple[str, str, str, str]]:
        """The ways that values went: tool and path, tool and path."""
        ...

    def between(self, source: str, target: str) -> Sequence[tuple[str, str, int]]:
        """Give the paths from which and to which values went, and how often."""
        ...


class Candidate(NamedTuple):
    """A place and a slot that have something in common, be it enough or not."""

    place: int
    slot: int
    evidence: tuple[Evidence, ...]
    conflict: str = ""
    """Why the types do not fit; nothing if they do."""
    is_common: bool = False
    """Whether the name would do, if fewer tools had it."""

    @property
    def strength(self) -> float:
        """How sure all evidence together makes."""
        if len(self.evidence) == 1:
            return self.evidence[0].weight
        return together(one.weight for one in self.evidence)


class _Named(NamedTuple):
    """The best that two names say."""

    weight: float
    key: str
    is_own: bool
    is_common: bool


def together(weights: Iterable[float]) -> float:
    """Combine reasons that do not depend on each other: each takes its share of the doubt that is left."""
    doubt = 1.0
    for weight in weights:
        doubt *= 1 - weight
    return 1 - doubt


class _Worth(NamedTuple):
    """What it is worth that two have a name, commonness aside."""

    here: float
    """Within one server."""
    elsewhere: float
    """Between two servers, where it is the name of both."""
    guessed: float
    """Between two servers, where it is only what one of them may mean."""
    last: str
    thing: str
    """The word before the last."""


@lru_cache(maxsize=1 << 16)
def _worth(key: str) -> _Worth:
    words = key.split()
    last, things = words[-1], set(words[:-1])
    worth = elsewhere = _NAME * telling(tuple(words))
    if (last in KINDS and last not in IDENTIFYING) or (
        last == "code" and words[-2:-1] and words[-2] in KINDS
    ):
        # As an address is, so is the code of a country: the same wherever it is found.
        elsewhere *= _ANYWHERE
        guessed = elsewhere
    else:
        if last in IDENTIFYING:
            # Each server has its own users, and numbers them itself.
            owned = bool(things) and things <= COMMON_THINGS and last not in KINDS
            elsewhere *= _OTHERS_OWN if owned else _OTHERS
        else:
            elsewhere *= _OTHERS_OWN if {*words} <= COMMON_THINGS else _OTHERS_WORD
        guessed = elsewhere * _GUESSED_OF_OTHERS
    return _Worth(worth, elsewhere, guessed, last, words[-2] if things else "")


def may_lead(key: str, held: Iterable[Held], weight: float) -> tuple[bool, bool]:
    """Say whether a key that both have can make an edge by itself: within one server, and between two.

    `held` is where one of the two has it, `weight` what the key weighs here.
    """
    if key[0] in "#+!" or key[0] == RELATED:
        return True, False
    if key[0] == "{":
        return True, True
    if key[0] == "=":
        leads = _FORMAT_ALONE.get(key[1:], 0) * weight >= _LEADING_FORMAT
        return leads, leads
    worth = _worth(key)
    here = elsewhere = False
    for one in held:
        least = (_LEADING_OPTIONAL if one.optional else _LEADING_NAME) / weight
        here = here or one.weight * worth.here >= least
        elsewhere = elsewhere or one.weight * (worth.elsewhere if one.own else worth.guessed) >= least
    return here, elsewhere


def candidates(
    source: Node, target: Node, weigh: Callable[[str], float], seen: Flows | None, least: float = 0.0
) -> list[Candidate]:
    """Give all places and slots that have something in common; names that say less than `least` alone are left out."""
    named: dict[At, _Named] = {}
    others: dict[At, list[Evidence]] = {}
    for key in source.gives.keys() & target.takes.keys():
        if key[0] in _MARKS:
            _marked(source, target, key, weigh, others)
            continue
        weight = weigh(key)
        if weight * _worth(key).here >= least:
            _names(source, target, key, weight, named)
    if source.server == target.server:
        _told(source, target, others)
        if source.mentions or target.mentions:
            said = relations(source.mentions, source.name, target.mentions, target.name)
            for one in islice(said, _MOST_SAID):
                _declared(source, target, one, named, others)
    if seen is not None:
        _seen(source, target, seen, others)
    if not others:
        # So it is with nearly all of them.
        return [_candidate(source, target, at, one, ()) for at, one in named.items() if one.weight >= least]
    return [
        _candidate(source, target, at, named.get(at), others.get(at, ()))
        for at in {**named, **others}
        if at in others or named[at].weight >= least
    ]


def _marked(
    source: Node, target: Node, key: str, weigh: Callable[[str], float], others: dict[At, list[Evidence]]
) -> None:
    """Note what two have in common that is no name."""
    if key[0] == "{":
        _shapes(source, target, key, others)
    elif key[0] == "=":
        _formats(source, target, key, weigh(key), others)
    elif key[0] != "+" and source.server == target.server:
        _same(source, target, key, others)


def _names(source: Node, target: Node, key: str, weight: float, named: dict[At, _Named]) -> None:
    worth = _worth(key)
    same_server = source.server == target.server
    damped = _damping(source, target, worth) if source.subject.deletes or target.subject.creates else 1.0
    again = target.subject.creates and source.subject.thing[-1:] == target.subject.thing[-1:] != ()
    updates = target.subject.updates or (again and same_server)
    for place, give_weight, give_own, _ in source.gives[key]:
        for slot, take_weight, take_own, _ in target.takes[key]:
            is_own = give_own and take_own
            whole = worth.here if same_server else worth.elsewhere if is_own else worth.guessed
            whole *= give_weight * take_weight * damped
            if give_weight < 1 > take_weight and not worth.thing:
                # What is left of two names where each has lost a word: a hiring date is no end date.
                whole *= _LEFT_OVER
            if updates and _is_changed(target, slot, worth.last):
                whole *= _CHANGED
            sure = whole * weight
            known = named.get((place, slot))
            if known is None or sure > known.weight or (sure == known.weight and key > known.key):
                named[place, slot] = _Named(sure, key, is_own, whole >= LEAST > sure)


def _damping(source: Node, target: Node, worth: _Worth) -> float:
    """Say how much less a name is worth between tools that end or begin the life of what it names."""
    mine, theirs = source.subject.thing[-1:], target.subject.thing[-1:]
    if source.subject.deletes and worth.last in IDENTIFYING and (worth.thing,) == mine:
        # What names a thing that is gone is of no use.
        return _ITS_OWN
    if target.subject.creates and mine == theirs and source.server == target.server:
        # What one of them is known by, a new one is not.
        chosen = worth.last in KINDS or (worth.last in CHOSEN and (worth.thing,) == theirs)
        return _ITS_OWN if chosen else 1.0
    return 1.0


def _is_changed(target: Node, at: int, last: str) -> bool:
    """Say whether a slot is what is to be changed or made, rather than what says which one."""
    slot = target.ports.slots[at]
    needed = slot.required and slot.parameter in target.ports.required
    return not needed and (last not in IDENTIFYING or last in CHOSEN)


def _shapes(source: Node, target: Node, key: str, others: dict[At, list[Evidence]]) -> None:
    """Look which objects have all that a slot's objects need."""
    for take in target.takes[key]:
        asked = target.slot_forms[take.at]
        required = {name for name, needed, _ in asked.fields if needed}
        told = together(_FIELD * telling(words_of(name)) for name in required)
        weight = _SHAPE + (1 - _SHAPE) * _FIELD * told if told >= LEAST else _COMPANION
        for give in source.gives[key]:
            if required <= {name for name, _, _ in source.place_forms[give.at].fields}:
                detail = ", ".join(sorted(required))
                others.setdefault((give.at, take.at), []).append(Evidence("shape", weight, detail))


def _formats(source: Node, target: Node, key: str, weight: float, others: dict[At, list[Evidence]]) -> None:
    sure = _FORMAT_ALONE.get(key[1:], 0) * weight
    for give in source.gives[key]:
        for take in target.takes[key]:
            changed = target.subject.updates and _is_changed(target, take.at, key)
            evidence = Evidence("format", sure * (_CHANGED if changed else 1), key[1:])
            others.setdefault((give.at, take.at), []).append(evidence)


def _same(source: Node, target: Node, key: str, others: dict[At, list[Evidence]]) -> None:
    """Note what is the same within one server: the few values that are possible, or what a tool is for."""
    if key[0] == RELATED:
        evidence = Evidence("declared", DECLARED, related_to(key))
    else:
        what = f"both are about it: {key[1:]}" if " " in key else f"{source.name} is there to tell it"
        told = Evidence("entity", _TOLD, what)
        evidence = _ONE_OF_FEW if key[0] == "#" else told
    for give in source.gives[key]:
        for take in target.takes[key]:
            others.setdefault((give.at, take.at), []).append(evidence)


def _told(source: Node, target: Node, others: dict[At, list[Evidence]]) -> None:
    """Look whether one tool tells of the things of which the other takes an id, a name or a path."""
    for (name, thing), slots in target.asked.items():
        if not thing:
            _told_of(source, target, name, slots, others)
            continue
        if name not in source.vague or thing not in source.texts or source.subject.deletes:
            continue
        if target.subject.creates and source.subject.thing == target.subject.thing:
            continue
        evidence = Evidence("entity", _TOLD, f"its description tells of {thing!r}")
        for place in source.vague[name]:
            for slot in slots:
                others.setdefault((place, slot), []).append(evidence)


def _told_of(
    source: Node, target: Node, name: str, slots: list[int], others: dict[At, list[Evidence]]
) -> None:
    """Look whether a tool whose name says nothing tells of the things of which the other gives an id or a key."""
    if source.subject.deletes:
        return
    for place, thing in source.offered.get(name, ()):
        if thing in target.texts:
            evidence = Evidence("entity", _TOLD, f"{target.name} tells of {thing!r}")
            for slot in slots:
                others.setdefault((place, slot), []).append(evidence)


def _seen(source: Node, target: Node, seen: Flows, others: dict[At, list[Evidence]]) -> None:
    flows = seen.between(source.tool, target.tool)
    if not flows:
        return
    places = {path_text(place.path): at for at, place in enumerate(source.ports.places)}
    slots = {path_text(slot.path): at for at, slot in enumerate(target.ports.slots)}
    for start, end, times in flows:
        if start in places and end in slots and times > 0:
            sure = min(_MOST_LINEAGE, 1 - 0.5 ** (1 + times / 2))
            evidence = Evidence("lineage", sure, f"seen {times} times")
            others.setdefault((places[start], slots[end]), []).append(evidence)


def _declared(
    source: Node, target: Node, one: Relation, named: Mapping[At, _Named], others: dict[At, list[Evidence]]
) -> None:
    """Note what a description says, for the places and slots that it means."""
    chosen, weight = meant(source, target, one, {at: name.weight for at, name in named.items()})
    for at in chosen:
        known = others.setdefault(at, [])
        if not any(evidence.kind == "declared" for evidence in known):
            known.append(Evidence("declared", weight, one.text))


@lru_cache(maxsize=1 << 14)
def _of_name(kind: EvidenceKind, weight: float, key: str) -> tuple[Evidence, ...]:
    # The same name says the same of thousands of pairs.
    return (Evidence(kind, weight, key),)


def _candidate(
    source: Node, target: Node, at: At, named: _Named | None, others: Sequence[Evidence]
) -> Candidate:
    given, asked = source.place_forms[at[0]], target.slot_forms[at[1]]
    # Most are the very same: a text where a text is asked for.
    problem = "" if given is asked and given.kinds else conflict(given, asked)
    if named is None:
        return Candidate(*at, tuple(others), problem)
    weight = named.weight
    if asked.values is not None and given.values is None:
        weight *= _FREE
    if not named.is_own:
        name = _of_name("entity", weight, named.key)
    else:
        same = source.place_keys[at[0]] == target.slot_keys[at[1]]
        name = _of_name("name" if same else "words", weight, named.key)
    evidence = [*name, *others]
    if (
        given.format is not None
        and given.format == asked.format
        and not any(one.kind == "format" for one in others)
    ):
        evidence.append(Evidence("format", _FORMATS.get(given.format, _ANY_FORMAT), given.format))
    return Candidate(*at, tuple(evidence), problem, named.is_common)
