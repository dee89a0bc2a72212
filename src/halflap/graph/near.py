"""What comes near to something that nobody supplies, and why that will not do."""

from __future__ import annotations

import heapq
import re
from itertools import islice
from typing import TYPE_CHECKING, Any

from rapidfuzz.distance import OSA
from rapidfuzz.process import extract

from halflap.graph.declared import mentions_of
from halflap.graph.edge import path_text
from halflap.graph.fit import conflict, form_of
from halflap.graph.subject import subject_of
from halflap.graph.vocabulary import IDENTIFYING, is_secret, telling
from halflap.graph.words import Words, phrase, words_of
from halflap.schema import compact

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

    from halflap.graph.edge import Path, Place, Ports, Slot
    from halflap.graph.terms import Flows

__all__ = ["MISSPELT", "MOST", "near_field", "near_slot", "places_called", "tools_called_like", "unknown"]

MOST = 5
MISSPELT = "the name is spelt nearly the same"
_SPELT_LIKE = 0.6
"""Two letters of five may be others, or one exchanged with the next."""
_CALLED_LIKE = 0.8
"""A tool's name is longer: one letter of five."""
_SAYS_LITTLE = 0.6
_LONGEST_SAID = 4_000
_SHORTEST = 4
_NAMED = r"(?<![A-Za-z0-9_-]){}(?![A-Za-z0-9_]|-[A-Za-z0-9])"
"""Around a name in a text may be letters of a script that has no spaces."""
_PLAIN = frozenset({"string", "number", "integer", "boolean", "null", "object", "array"})

Told = dict[str, Any]


def near_slot(
    graph: Flows, target: Ports, slot: Slot, known: Collection[str], changes: Callable[[Ports], bool]
) -> list[Told]:
    """Tell of the tools that have something like what a slot takes: by what is said of it, by their own names, by their places."""
    siblings = [
        one
        for one in graph.tools.values()
        if one.server == target.server and one.tool != target.tool and one.tool not in known
    ]
    told: dict[str, Told] = {}
    for made in (
        _mentioned(siblings, target, slot),
        _silent(siblings, target, slot, changes),
        _of_thing(siblings, target, slot),
    ):
        for one in made:
            told.setdefault(one["tool"], one)
    found = {*known, *told}
    wanted = frozenset(words_of(_last_key(slot.path)))
    return [*told.values(), *_sharing(graph, wanted, found, (target, slot))][:MOST]


def unknown(ports: Ports) -> str:
    """Say why it is not known what a tool returns, and what would help."""
    if not ports.seen:
        return "what it returns is neither declared nor learned: call it a few times"
    seen = "1 result" if ports.seen == 1 else f"{ports.seen} results"
    if not ports.needed:
        return f"what it returned, in {seen}, tells nothing"
    again = "once more" if ports.needed == 1 else f"{ports.needed} more times"
    return f"what it returns was learned from {seen}, which is not sure enough yet: call it {again}"


def near_field(graph: Flows, wanted: str, known: Collection[str]) -> list[Told]:
    """Tell of the tools that return something like a field that is wanted: spelt like it, then of the same words."""
    spelt = _spelt_like(graph, wanted)
    found = {*known, *(one["tool"] for one in spelt)}
    return [*spelt, *_sharing(graph, frozenset(words_of(wanted)), found)][:MOST]


def tools_called_like(graph: Flows, wanted: str) -> list[Told]:
    """Tell of the tools whose names are spelt like one, the most alike first."""
    names = {tool: (one.original_name or tool).casefold() for tool, one in graph.tools.items()}
    like = extract(
        wanted.casefold(), names, scorer=OSA.normalized_similarity, score_cutoff=_CALLED_LIKE, limit=MOST
    )
    return [{"tool": tool, "why": MISSPELT} for _, _, tool in like]


def places_called(graph: Flows, slot: Slot, may_be: Callable[[Ports], bool]) -> Iterator[tuple[Ports, Place]]:
    """Give the places of these tools that have the very name of a slot, if that says something, and a type that fits."""
    wanted = words_of(_last_key(slot.path))
    if telling(wanted) < _SAYS_LITTLE:
        return
    asked = form_of(slot.type)
    # The first word is seldom `id`.
    for name, tools in graph.named.sharing(wanted[:1]):
        for tool in sorted(tools) if words_of(name) == wanted else ():
            ports = graph.tools.get(tool)
            if ports is not None and may_be(ports):
                fitting = (one for one in _places(ports, {name}) if not conflict(form_of(one.type), asked))
                yield from ((ports, place) for place in islice(fitting, 1))


def _mentioned(siblings: Sequence[Ports], target: Ports, slot: Slot) -> Iterator[Told]:
    """Give the tools of the same server that the description of a slot names."""
    said = slot.description[:_LONGEST_SAID]
    families = [one for one in mentions_of(target) if one.slot == slot.path and one.name.endswith("*")]
    for ports in siblings:
        name = ports.original_name
        in_text = len(name) >= _SHORTEST and name in said and re.search(_NAMED.format(re.escape(name)), said)
        if in_text or any(one.means(name) for one in families):
            why = "what is said of the parameter names it, but " + (
                "not which of its fields" if ports.places else unknown(ports)
            )
            yield {"tool": ports.tool, "why": why}


def _silent(
    siblings: Sequence[Ports], target: Ports, slot: Slot, changes: Callable[[Ports], bool]
) -> Iterator[Told]:
    """Give the tools that are called like what is wanted, or like the things that it names, and of whose results nothing is known."""
    said = words_of(_last_key(slot.path))
    things = _things(target, said)
    ranked: list[tuple[int, str]] = []
    for ports in siblings:
        name = {*words_of(ports.original_name or ports.tool)}
        if ports.places or not (name >= {*said} or (things and name >= {*things})):
            continue
        # Who has to be told it does not tell it; nor is anything changed to get to know it.
        if any(words_of(one) == said for one in ports.required):
            continue
        if name >= {*said}:
            ranked.append((0, ports.tool))
        elif not changes(ports):
            ranked.append((1 if subject_of(ports.original_name, ports.server).is_many else 2, ports.tool))
    by_name = {one.tool: one for one in siblings}
    for _, tool in sorted(ranked)[:MOST]:
        yield {"tool": tool, "why": f"by its name it may return it, but {unknown(by_name[tool])}"}


def _of_thing(siblings: Sequence[Ports], target: Ports, slot: Slot) -> Iterator[Told]:
    """Give the places that name such a thing by their own name and that of what they are in, and do not fit."""
    said = words_of(_last_key(slot.path))
    things = _things(target, said)
    for ports in siblings if things and len(said) > 1 else ():
        for place in ports.places:
            keys = [words_of(step.key) for step in place.path if step.kind == "key"]
            if not keys or keys[-1] != said[-1:]:
                continue
            of = keys[-2] if len(keys) > 1 else subject_of(ports.original_name, ports.server).thing
            unfit = _unfit((target, slot), place) if of == things else ""
            if unfit:
                yield {"tool": ports.tool, "path": path_text(place.path), "why": unfit}
                break


def _things(target: Ports, said: Words) -> Words:
    """Give what a slot names one of: what its own name says, or else its tool's."""
    things = said[:-1] if said[-1:] and said[-1] in IDENTIFYING else ()
    if said and said[-1] in IDENTIFYING and not things:
        return subject_of(target.original_name, target.server).thing
    return things


def _spelt_like(graph: Flows, wanted: str) -> list[Told]:
    """Tell of the tools whose places have a name that is spelt like another, and is not that."""
    said = {phrase(words_of(wanted)), phrase(words_of(wanted.rpartition(".")[2]))} - {""}
    ranked: dict[str, float] = {}
    for text in said:
        for name in graph.named.all:
            like = OSA.normalized_similarity(text, phrase(words_of(name)), score_cutoff=_SPELT_LIKE)
            if _SPELT_LIKE <= like < 1:
                # What is like all that was said is more than what is like its last word.
                ranked[name] = max(ranked.get(name, 0.0), like * len(text))
    told: dict[str, Told] = {}
    for name in sorted(ranked, key=lambda one: (-ranked[one], one)):
        for tool in heapq.nsmallest(MOST, (one for one in graph.named.tools(name) if one in graph.tools)):
            path = min(path_text(one.path) for one in _places(graph.tools[tool], {name}))
            told.setdefault(tool, {"tool": tool, "path": path, "why": MISSPELT})
        if len(told) >= MOST:
            break
    return list(told.values())[:MOST]


def _sharing(
    graph: Flows,
    wanted: frozenset[str],
    known: Collection[str],
    asked: tuple[Ports, Slot] | None = None,
) -> list[Told]:
    """Tell of the tools whose places have names that share the most words with a name, one place of each.

    Of those that share as many, the tools of the same server come first.
    """
    home = "" if asked is None else asked[0].server
    alike: dict[tuple[int, int], list[str]] = {}
    for name, _ in graph.named.sharing(wanted):
        own = set(words_of(name))
        alike.setdefault((len(wanted - own), len(own - wanted)), []).append(name)
    told: dict[str, Told] = {}
    for rank, names in sorted(alike.items()):
        having = {tool for name in names for tool in graph.named.tools(name)}
        fitting = (tool for tool in having if tool in graph.tools and tool not in known and tool not in told)
        for tool in heapq.nsmallest(
            MOST - len(told), fitting, key=lambda tool: (graph.tools[tool].server != home, tool)
        ):
            ports = graph.tools[tool]
            place = min(_places(ports, names), key=lambda one: path_text(one.path))
            why = _part(asked, place) if rank != (0, 0) else _same(asked, ports, place)
            told[tool] = {"tool": tool, "path": path_text(place.path), "why": why}
        if len(told) == MOST:
            break
    return list(told.values())


def _places(ports: Ports, names: Collection[str]) -> Iterable[Place]:
    return (one for one in ports.places if _last_key(one.path) in names)


def _last_key(path: Path) -> str:
    return next((step.key for step in reversed(path) if step.kind == "key"), "")


def _part(asked: tuple[Ports, Slot] | None, place: Place) -> str:
    return _unfit(asked, place) or "only a part of the name is the same"


def _unfit(asked: tuple[Ports, Slot] | None, place: Place) -> str:
    """Say why a place's type does not fit."""
    if asked is None:
        return ""
    kind = asked[1].type
    if {kind.kind, place.type.kind} <= _PLAIN and kind.kind != place.type.kind:
        return f"it is {compact(place.type)[:80]}, and {compact(kind)[:80]} is needed"
    return conflict(form_of(place.type), form_of(kind))


def _same(asked: tuple[Ports, Slot] | None, ports: Ports, place: Place) -> str:
    """Say why a place of the same name is not what is taken."""
    unfit = _unfit(asked, place)
    if unfit or asked is None:
        return unfit or "the name is the same"
    words = words_of(_last_key(place.path))
    target = asked[0]
    if is_secret(words):
        return "a secret is taken from no result, unless values were seen to go there"
    if telling(words) < _SAYS_LITTLE:
        return "the name is the same, but says too little"
    if ports.server != target.server:
        return "the name is the same, but what another server calls so may be another's"
    subject = subject_of(target.original_name or target.tool, target.server)
    if subject.creates or subject.updates:
        return "the name is the same, but here it is what is to be made or changed"
    return "the name is the same, but many tools have it"
