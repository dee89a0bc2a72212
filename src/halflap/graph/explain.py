"""Why there is an edge between two tools, or what comes nearest to one and why that is none."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from halflap.graph.between import LEAST_OPTIONAL
from halflap.graph.declared import relations
from halflap.graph.edge import path_text
from halflap.graph.evidence import LEAST, candidates
from halflap.graph.fit import conflict
from halflap.graph.near import unknown
from halflap.graph.vocabulary import is_secret
from halflap.graph.words import phrase

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator

    from halflap.graph.edge import Edge, Evidence, Path
    from halflap.graph.evidence import Candidate, Flows
    from halflap.graph.node import Node

__all__ = ["Explanation", "Near", "Reason", "explain"]

Reason = Literal[
    "type conflict", "says nothing", "too common", "other server", "optional", "unsure", "unclear", "secret",
    "unknown tool", "no output", "no input", "nothing alike",
]  # fmt: skip
_MOST = 8
_SAID = 0.5


@dataclass(frozen=True, slots=True)
class Near:
    """A place and a slot that might belong together, and why they make no edge."""

    source: Path | None
    target: Path | None
    reason: Reason
    detail: str
    strength: float = 0.0
    evidence: tuple[Evidence, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Give it as it is shown."""
        return {
            "from": None if self.source is None else path_text(self.source),
            "to": None if self.target is None else path_text(self.target),
            "reason": self.reason,
            "detail": self.detail,
            "strength": round(self.strength, 3),
        }


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why two tools are joined, or why they are not."""

    source: str
    target: str
    edge: Edge | None
    near: tuple[Near, ...] = ()
    """Where there is no edge: what comes nearest, the nearest first."""

    def to_json(self) -> dict[str, Any]:
        """Give it as it is shown."""
        return {
            "from": self.source,
            "to": self.target,
            "edge": None if self.edge is None else self.edge.to_json(),
            "near": [one.to_json() for one in self.near],
        }


def explain(
    source: Node | None,
    target: Node | None,
    edge: Edge | None,
    weigh: Callable[[str], float],
    seen: Flows | None,
    *,
    names: tuple[str, str],
) -> Explanation:
    """Explain one pair of tools."""
    if edge is not None:
        return Explanation(*names, edge)
    if source is None or target is None:
        missing = names[0] if source is None else names[1]
        return Explanation(*names, None, (Near(None, None, "unknown tool", f"there is no tool {missing}"),))
    near = list(_near(source, target, weigh, seen))
    near.sort(key=lambda one: (-one.strength, one.reason))
    return Explanation(*names, None, tuple(near[:_MOST]) or (_nothing(source, target),))


def _near(source: Node, target: Node, weigh: Callable[[str], float], seen: Flows | None) -> Iterator[Near]:
    if source.server != target.server:
        yield from _claims(source, target)
    if source is target:
        yield Near(
            None, None, "nothing alike", "a tool feeds itself by pagination alone, and has no cursor for it"
        )
        return
    found = candidates(source, target, weigh, seen)
    for one in found:
        yield _why(source, target, one)
    if source.server == target.server:
        known = {proof.detail for one in found for proof in one.evidence if proof.kind == "declared"}
        yield from _unclear(source, target, known)
    yield from _bare_names(source, target)


def _claims(source: Node, target: Node) -> Iterator[Near]:
    """Give what descriptions say of a tool of that name on another server."""
    for mention in target.mentions:
        if mention.direction == "from" and mention.means(source.name):
            yield Near(
                None,
                mention.slot,
                "other server",
                f"only its own server's descriptions count: {mention.text!r}",
                0.5,
            )
    for mention in source.mentions:
        if mention.direction == "to" and mention.means(target.name):
            yield Near(
                mention.place,
                None,
                "other server",
                f"only its own server's descriptions count: {mention.text!r}",
                0.5,
            )


def _unclear(source: Node, target: Node, known: Collection[str]) -> Iterator[Near]:
    """Give what descriptions say of the two without saying which field is meant."""
    for one in relations(source.mentions, source.name, target.mentions, target.name):
        slots = [at for at, slot in enumerate(target.ports.slots) if _is_in(slot.path, one.slot)]
        if one.text in known or all(is_secret(target.slot_names[at]) for at in slots):
            continue
        places = [at for at, place in enumerate(source.ports.places) if _is_in(place.path, one.place)]
        fitting = any(
            not conflict(source.place_forms[at], target.slot_forms[to]) for at in places for to in slots
        )
        what = "the parameter" if one.place else "the field" if one.slot else "the field and the parameter"
        detail = f"{one.text!r} says so, but {what} can be several"
        if not fitting:
            detail = f"{one.text!r} says so, but no field is of a type that is taken"
        elif not one.is_told:
            detail = f"{one.text!r} names it, but not as where something comes from"
        yield Near(one.place, one.slot, "unclear", detail, _SAID)


def _is_in(path: Path, outer: Path | None) -> bool:
    return outer is None or path[: len(outer)] == outer


def _why(source: Node, target: Node, one: Candidate) -> Near:
    place, slot = source.ports.places[one.place].path, target.ports.slots[one.slot]
    strength = one.strength
    reason: Reason = "unsure"
    detail = f"{strength:.2f} is less than {LEAST}"
    if one.conflict:
        reason, detail = "type conflict", one.conflict
    elif strength >= LEAST:
        reason, detail = (
            "optional",
            f"for a parameter that may be left out, {strength:.2f} is less than {LEAST_OPTIONAL}",
        )
    elif one.is_common:
        reason, detail = "too common", f"many tools have {one.evidence[0].detail!r}"
    elif source.server != target.server:
        reason, detail = "other server", f"{one.evidence[0].detail!r} of another server may be another's"
    elif len(source.place_names[one.place]) <= 1:
        reason, detail = "says nothing", f"{one.evidence[0].detail!r} may be that of anything"
    return Near(place, slot.path, reason, detail, strength, one.evidence)


def _bare_names(source: Node, target: Node) -> Iterator[Near]:
    """Give names that both have and that are not even compared: cursors, booleans, secrets."""
    compared = {held.at for found in target.takes.values() for held in found}
    for to, slot in enumerate(target.ports.slots):
        name = target.slot_names[to]
        if not name or to in compared:
            continue
        reason: Reason = "secret" if is_secret(name) else "says nothing"
        detail = f"{phrase(name)!r} is each call's own"
        if reason == "secret":
            detail = f"{phrase(name)!r} is taken from no result, unless values were seen to go there"
        for at, place in enumerate(source.ports.places):
            if source.place_names[at] == name:
                yield Near(place.path, slot.path, reason, detail)


def _nothing(source: Node, target: Node) -> Near:
    if not source.ports.places:
        told = unknown(source.ports).removeprefix("what it ").removesuffix(": call it a few times")
        return Near(None, None, "no output", f"what {source.tool} {told}")
    if not target.ports.slots:
        return Near(None, None, "no input", f"{target.tool} takes nothing")
    return Near(None, None, "nothing alike", "no field of the one is like a parameter of the other")
