"""What is missing for a workflow: who could provide it, and who comes near and why not."""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rapidfuzz.distance import OSA

from halflap.graph.edge import path_text
from halflap.graph.words import phrase, words_of
from halflap.graph.workflow import slot_text
from halflap.schema import compact

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from halflap.graph.edge import Path, Slot
    from halflap.graph.supply import Need, Unit
    from halflap.graph.terms import Flows, Terms
    from halflap.graph.workflow import Target
    from halflap.schema import Type

__all__ = ["Lack", "lack_of", "lack_of_target"]

_MOST = 5
_LAST = 100.0
_TO_ALL = "It would be done to all that are found. Say to which one in `have`; a goal that says `all` means all of them."
_NOBODY = "No tool is known to return it."
_MISSPELT = "the name is spelt nearly the same"
_SPELT_LIKE = 0.6
"""Two letters of five may be others, or one exchanged with the next."""
_NEW = "It is the new value: what is there now is not written back. Say it in `have`."
_PLAIN = frozenset({"string", "number", "integer", "boolean", "null", "object", "array"})


@dataclass(frozen=True, slots=True)
class Lack:
    """A parameter that nothing supplies, or something wanted that no tool gives."""

    tool: str
    """The tool that needs it; none where it is itself what is wanted."""
    name: str
    type: str = ""
    description: str = ""
    could: tuple[dict[str, Any], ...] = ()
    """Who would provide it if something else were at hand or allowed."""
    near: tuple[dict[str, Any], ...] = ()
    """Who has something of a similar name, and why that does not do."""
    note: str = ""

    def to_json(self) -> dict[str, Any]:
        """Give it as it is shown."""
        told: dict[str, Any] = {"tool": self.tool or None, "parameter": self.name}
        told |= {"type": self.type} if self.type else {}
        told |= {"description": self.description} if self.description else {}
        told |= {"could_provide": list(self.could), "near": list(self.near)}
        return told | ({"note": self.note} if self.note else {})


def lack_of(terms: Terms, need: Need, at: int) -> Lack:
    """Say what is known of a parameter that nothing supplies."""
    tool, unit, have = need.ports.tool, need.open[at], terms.have
    path = unit.path[:-1] if unit.is_array else unit.path
    could = list(_could(terms, tool, at, unit))
    known = {tool, *(one["tool"] for one in could)}
    near = [one for slot in unit.slots if have.slot(slot) is None for one in _near(terms, slot, known)]
    refused = [(found, slot) for slot in unit.slots if (found := have.refused(slot))]
    notes = [f"{name!r} is at hand, but {compact(slot.type)} is needed." for name, slot in refused]
    if at in terms.to_choose(tool):
        notes.append(_TO_ALL)
    if not refused and _is_old(terms, need, unit):
        # What has the name has what is to be replaced.
        near = []
        notes.append(_NEW)
    return Lack(
        tool,
        slot_text(path),
        _type(unit),
        unit.slots[0].description,
        tuple(could[:_MOST]),
        tuple(near[:_MOST]),
        " ".join(notes),
    )


def _is_old(terms: Terms, need: Need, unit: Unit) -> bool:
    """Say whether somebody has what a change is to replace."""
    return any(
        link.target == slot.path and need.written.is_old(slot, terms.graph.tools[edge.source], link.source)
        for slot in unit.slots
        if slot.parameter in need.written.parameters
        for edge in terms.graph.into(need.ports.tool)
        for link in edge.links
    )


def lack_of_target(graph: Flows, target: Target, refused: Sequence[str]) -> Lack:
    """Say what is known of something wanted that no tool gives."""
    could = tuple(
        {"tool": one, "why": "it changes something: want the tool itself to have it called"}
        for one in refused
    )
    if target.kind == "tool":
        wanted = set(words_of(target.name))
        ranked = sorted(
            (
                (len(wanted & set(words_of(name))), name)
                for name in graph.tools
                if wanted & set(words_of(name))
            ),
            key=lambda one: (-one[0], one[1]),
        )
        near = tuple({"tool": name, "why": "a similar name"} for _, name in ranked[:_MOST])
        return Lack("", target.name, near=near, note="There is no such tool.")
    spelt = [] if could else _spelt_like(graph, target.name)
    known = {*refused, *(one["tool"] for one in spelt)}
    near = (*spelt, *_told(graph, frozenset(words_of(target.name)), known))[:_MOST]
    meant = f" Is {spelt[0]['path']} of {spelt[0]['tool']} meant?" if spelt else ""
    return Lack("", target.name, could=could[:_MOST], near=near, note=f"{_NOBODY}{meant}")


def _spelt_like(graph: Flows, wanted: str) -> list[dict[str, Any]]:
    """Tell of the tools whose places have a name that is spelt like another, and is not that."""
    said = {phrase(words_of(wanted)), phrase(words_of(wanted.rpartition(".")[2]))} - {""}
    ranked: dict[str, float] = {}
    for text in said:
        for name in graph.named.all:
            like = OSA.normalized_similarity(text, phrase(words_of(name)), score_cutoff=_SPELT_LIKE)
            if _SPELT_LIKE <= like < 1:
                # What is like all that was said is more than what is like its last word.
                ranked[name] = max(ranked.get(name, 0.0), like * len(text))
    told: dict[str, dict[str, Any]] = {}
    for name in sorted(ranked, key=lambda one: (-ranked[one], one)):
        for tool in heapq.nsmallest(_MOST, (one for one in graph.named.tools(name) if one in graph.tools)):
            places = (one for one in graph.tools[tool].places if _last_key(one.path) == name)
            path = min(path_text(one.path) for one in places)
            told.setdefault(tool, {"tool": tool, "path": path, "why": _MISSPELT})
        if len(told) >= _MOST:
            break
    return list(told.values())[:_MOST]


def _could(terms: Terms, tool: str, at: int, unit: Unit) -> Iterator[dict[str, Any]]:
    """Give those who would supply it, the surest first, with what each lacks itself."""
    ranked: list[tuple[float, str, dict[str, Any]]] = []
    for source, made in terms.all_offers(tool).items():
        offer = next((offer for one, offer in made if one == at), None)
        inner = terms.need(source)
        if offer is not None and inner is not None:
            paths = [path_text(one.source) for one in offer.given if one.origin == "step"]
            needs = [slot_text(one.path[:-1] if one.is_array else one.path) for one in inner.open]
            told = {"tool": source, "path": ", ".join(paths), "needs": needs}
            ranked.append((offer.cost + len(inner.open), source, told))
    slots = {slot.path for slot in unit.slots}
    for edge in terms.graph.into(tool):
        link = next((one for one in edge.links if one.target in slots), None)
        if link is not None and terms.need(edge.source) is None:
            why = "it changes something, and is not what is wanted"
            told = {"tool": edge.source, "path": path_text(link.source), "why": why}
            ranked.append((_LAST, edge.source, told))
    yield from (told for _, _, told in sorted(ranked, key=lambda one: one[:2]))


def _type(unit: Unit) -> str:
    if not unit.is_array:
        return compact(unit.slots[0].type)
    size = len(unit.path)
    inner = [
        f"{slot_text(one.path[size:])}: {compact(one.type)}" for one in unit.slots if len(one.path) > size
    ]
    return f"[{{{', '.join(inner)}}}]" if inner else f"[{compact(unit.slots[0].type)}]"


def _near(terms: Terms, slot: Slot, known: set[str]) -> list[dict[str, Any]]:
    keys = [step.key for step in slot.path if step.kind == "key"]
    return _told(terms.graph, frozenset(words_of(keys[-1])), known, slot.type)


def _told(
    graph: Flows, wanted: frozenset[str], known: set[str], kind: Type | None = None
) -> list[dict[str, Any]]:
    """Tell of the tools whose places have names that share the most words with a name, one place of each."""
    alike: dict[tuple[int, int], list[str]] = {}
    for name, _ in graph.named.sharing(wanted):
        own = set(words_of(name))
        alike.setdefault((len(wanted - own), len(own - wanted)), []).append(name)
    told: dict[str, dict[str, Any]] = {}
    for rank, names in sorted(alike.items()):
        having = {tool for name in names for tool in graph.named.tools(name)}
        fitting = (tool for tool in having if tool in graph.tools and tool not in known | told.keys())
        for tool in heapq.nsmallest(_MOST - len(told), fitting):
            places = (one for one in graph.tools[tool].places if _last_key(one.path) in names)
            place = min(places, key=lambda one: path_text(one.path))
            why = _why(rank == (0, 0), kind, place.type)
            told[tool] = {"tool": tool, "path": path_text(place.path), "why": why}
        if len(told) == _MOST:
            break
    return list(told.values())


def _last_key(path: Path) -> str:
    return next((step.key for step in reversed(path) if step.kind == "key"), "")


def _why(same: bool, kind: Type | None, found: Type) -> str:
    if kind is not None and {kind.kind, found.kind} <= _PLAIN and kind.kind != found.kind:
        return f"it is {compact(found)[:80]}, and {compact(kind)[:80]} is needed"
    return "the name is the same, but says too little" if same else "only a part of the name is the same"
