"""What is missing for a workflow: who could provide it, and who comes near and why not."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from halflap.core.text import clean
from halflap.graph.edge import path_text
from halflap.graph.effects import seems_to_change
from halflap.graph.near import MISSPELT, MOST, near_field, near_slot, places_called, tools_called_like
from halflap.graph.terms import MOST_OPEN
from halflap.graph.want import field_places
from halflap.graph.words import words_of
from halflap.graph.workflow import many, slot_text
from halflap.schema import compact

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from halflap.graph.edge import Edge, Path, Ports
    from halflap.graph.need import Need, Unit
    from halflap.graph.terms import Flows, Terms
    from halflap.graph.workflow import Target

__all__ = ["NOBODY", "REFUSED", "TO_ALL", "Lack", "lack_of", "lack_of_target"]

_LAST = 100.0
TO_ALL = "It would be done to all that are found. Say to which in `have`; `want` with a goal that says `all` means all of them."
_IN_DOUBT = "It is not done to all: nothing tells whether {!r} says which are meant, or is what they get. Say to which in `have`."
NOBODY = "No tool is known to return it."
REFUSED = (
    "It is returned only by tools that are not called for it: `could_provide` says by which, and why not."
)
_NEW = "It is the new value: what is there now is not written back. Say it in `have`."
_SEEMS = "it seems to change something (say otherwise under `tools.read_only`)"
_CHANGES = f"{_SEEMS}, and is not what is wanted"
_LACKS_MUCH = f"it lacks more than {MOST_OPEN} values itself"
_LONGEST_TEXT = 300
_LONGEST_TYPE = 200
"""Descriptions are as long as their writers like: who wants the whole inspects the tool."""
_MOST_NAMED = 10


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
        told |= {"type": clean(self.type, _LONGEST_TYPE)} if self.type else {}
        told |= {"description": clean(self.description, _LONGEST_TEXT)} if self.description else {}
        told |= {"could_provide": list(self.could), "near": list(self.near)}
        return told | ({"note": self.note} if self.note else {})


def lack_of(terms: Terms, need: Need, at: int) -> Lack:
    """Say what is known of a parameter that nothing supplies."""
    tool, unit, have = need.ports.tool, need.open[at], terms.have
    path = unit.path[:-1] if unit.is_array else unit.path
    could = list(_could(terms, need, at))
    known = {tool, *(one["tool"] for one in could)}
    near = [
        one
        for slot in unit.slots
        if have.slot(slot) is None
        for one in near_slot(terms.graph, need.ports, slot, known, seems_to_change)
    ]
    refused = [(found, slot) for slot in unit.slots if (found := have.refused(slot))]
    notes = [
        f"{name!r} is at hand, but {clean(compact(slot.type), _LONGEST_TYPE)} is needed."
        for name, slot in refused
    ]
    if at in terms.to_choose(tool):
        doubt = terms.undecided.get(tool)
        notes.append(TO_ALL if doubt is None else _IN_DOUBT.format(doubt))
    if not refused and _is_old(terms, need, unit):
        # What has the name has what is to be replaced.
        near = []
        notes.append(_NEW)
    return Lack(
        tool,
        slot_text(path),
        _type(unit),
        # Of an array, what it is itself, and not what its first field is.
        next(
            (one.description for one in need.ports.slots if one.path == unit.path), unit.slots[0].description
        ),
        tuple(could[:MOST]),
        tuple(near[:MOST]),
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
    if target.kind == "tool":
        return _lack_of_tool(graph, target)
    paths = {ports.tool: path_text(place.path) for ports, place, _ in field_places(graph, target.name)}
    could = tuple(
        {"tool": one, "path": paths.get(one, ""), "why": _why_refused(graph.tools[one])}
        for one in refused
        if one in graph.tools
    )
    meant = tools_called_like(graph, target.name)
    near = near_field(graph, target.name, {*refused, *(one["tool"] for one in meant)})
    near = [*meant, *([] if could else near)][:MOST]
    best = next((one for one in near if one["why"] == MISSPELT and not could), None)
    note = REFUSED if could else NOBODY
    if best is not None:
        path = f"{best['path']} of " if best.get("path") else ""
        note += f" Did you mean {path}{best['tool']}?"
    return Lack("", target.name, could=could[:MOST], near=tuple(near), note=note)


def _why_refused(ports: Ports) -> str:
    if seems_to_change(ports):
        return f"{_SEEMS}: want the tool itself to have it called"
    return _LACKS_MUCH


def _lack_of_tool(graph: Flows, target: Target) -> Lack:
    """Say why a tool is in no plan though it is wanted: there is none of that name, or it takes too much."""
    ports = graph.tools.get(target.name)
    if ports is not None:
        return Lack("", target.name, note=_too_much(ports))
    wanted = set(words_of(target.name))
    ranked = sorted(
        (-len(wanted & set(words_of(name))), name) for name in graph.tools if wanted & set(words_of(name))
    )
    near = tuple({"tool": name, "why": "a similar name"} for _, name in ranked[:MOST])
    return Lack("", target.name, near=near, note="There is no such tool.")


def _too_much(ports: Ports) -> str:
    names = sorted(ports.required)
    more = f", and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
    return (
        f"It needs {len(names)} values, and nothing is planned for a tool that lacks more than {MOST_OPEN}. "
        f"Give them in `have`: {', '.join(clean(one, 40) for one in names[:_MOST_NAMED])}{more}."
    )


def _could(terms: Terms, need: Need, at: int) -> Iterator[dict[str, Any]]:
    """Give those who would supply it, the surest first, with what each lacks itself; then those that may not, and why."""
    tool, unit = need.ports.tool, need.open[at]
    ranked: dict[str, tuple[float, str, dict[str, Any]]] = {}
    for source, made in terms.all_offers(tool).items():
        offer = next((offer for one, offer in made if one == at), None)
        inner = terms.need(source)
        if offer is not None and inner is not None:
            paths = [path_text(one.source) for one in offer.given if one.origin == "step"]
            needs = [slot_text(one.path[:-1] if one.is_array else one.path) for one in inner.open]
            told = {"tool": source, "path": ", ".join(paths), "needs": needs[:_MOST_NAMED]}
            ranked[source] = (offer.cost + len(inner.open), source, told)
    slots = {slot.path for slot in unit.slots}
    for edge in terms.graph.into(tool):
        link = next((one for one in edge.links if one.target in slots), None)
        if link is not None and edge.source not in ranked and edge.source != tool:
            why = _why_not(terms, need, edge, unit)
            told = {"tool": edge.source, "path": path_text(link.source), "why": why}
            ranked[edge.source] = (_LAST, edge.source, told)
    for slot in unit.slots:
        # What it names is gone when it returns it, so there is no edge: and yet it is what is asked for.
        for ports, place in places_called(terms.graph, slot, lambda one: _is_refused(terms, one)):
            if ports.tool not in ranked and ports.tool != tool:
                told = {"tool": ports.tool, "path": path_text(place.path), "why": _CHANGES}
                ranked[ports.tool] = (_LAST, ports.tool, told)
    yield from (told for _, _, told in sorted(ranked.values(), key=lambda one: one[:2]))


def _is_refused(terms: Terms, ports: Ports) -> bool:
    return ports.tool not in terms.wanted and ports.tool not in terms.asked and seems_to_change(ports)


def _why_not(terms: Terms, need: Need, edge: Edge, unit: Unit) -> str:
    """Say why what a tool has for a parameter is not taken."""
    source = terms.graph.tools[edge.source]
    links = [(slot, link) for slot in unit.slots for link in edge.links if link.target == slot.path]
    if _is_refused(terms, source) or terms.need(edge.source) is None:
        return _CHANGES if _is_refused(terms, source) else _LACKS_MUCH
    if unit.is_held:
        return "something is at hand for it, which does not fit: nothing else is put in its place"
    if links and all(need.written.is_inside(slot, source) for slot, _ in links):
        return "what it gives is in there already"
    if links and all(need.written.is_old(slot, source, link.source) for slot, link in links):
        return "it is what is there now, which is to be replaced"
    if any(many(slot.path) > 1 for slot in unit.slots):
        return (
            "what is needed are lists within lists, and those are not put together: give the whole in `have`"
        )
    part, twice = (
        "it has only a part of what is needed",
        "the same value goes into another parameter of the call",
    )
    return part if unit.is_array else twice


def _type(unit: Unit) -> str:
    if not unit.is_array:
        return compact(unit.slots[0].type)
    size = len(unit.path)
    inner = [_field(one.path[size:], compact(one.type)) for one in unit.slots if len(one.path) > size]
    return f"[{{{', '.join(inner)}}}]" if inner else f"[{compact(unit.slots[0].type)}]"


def _field(path: Path, kind: str) -> str:
    while path[-1].kind == "each" and len(path) > 1:
        path, kind = path[:-1], f"[{kind}]"
    return f"{slot_text(path)}: {kind}"
