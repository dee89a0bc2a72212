"""What is wanted: which tools give it, and at which place of what they return."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from halflap.graph.edge import key
from halflap.graph.supply import FAN_OUT, Offer
from halflap.graph.words import words_of
from halflap.graph.workflow import Given, Target, many

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from halflap.graph.edge import Path, Place, Ports
    from halflap.graph.terms import Flows

__all__ = ["field_places", "goal_of", "target_of"]

_SAME, _OF_TOOL, _BARE, _TAIL = 1.0, 0.85, 0.9, 0.6


def target_of(graph: Flows, text: str) -> Target:
    """Read what somebody wants: a tool by any name that is its alone, else a field."""
    if text in graph.tools:
        return Target("tool", text)
    named = [one.tool for one in graph.tools.values() if one.original_name == text]
    return Target("tool", named[0]) if len(named) == 1 else Target("field", text)


def goal_of(graph: Flows, want: Sequence[Target]) -> dict[str, list[tuple[int, Offer]]]:
    """Give all tools that supply something of what is wanted, each with what it supplies."""
    goal: dict[str, list[tuple[int, Offer]]] = {}
    for at, target in enumerate(want):
        if target.kind == "tool":
            if target.name in graph.tools:
                goal.setdefault(target.name, []).append((at, Offer(0.0, ())))
            continue
        slot = (key(target.name),)
        for ports, place, fit in field_places(graph, target.name):
            given = Given(slot, "step", step=ports.tool, source=place.path, confidence=fit)
            cost = -math.log(fit) + (FAN_OUT if many(place.path) else 0.0)
            goal.setdefault(ports.tool, []).append((at, Offer(cost, (given,))))
    return goal


def field_places(graph: Flows, text: str) -> Iterator[tuple[Ports, Place, float]]:
    """Give the tools that return a field, each with its best place, and how well the name fits."""
    wanted = words_of(text)
    if not wanted:
        return
    # Whatever fits has the last word in its last name.
    having = {tool for _, tools in graph.named.sharing(wanted[-1:]) for tool in tools}
    for ports in (graph.tools[tool] for tool in sorted(having) if tool in graph.tools):
        best: tuple[float, int, str, Place] | None = None
        for place in ports.places:
            name = _own_name(place.path)
            if name is None or wanted[-1] not in words_of(name):
                continue
            fit = _fit(wanted, place.path, ports)
            rank = (-fit, many(place.path), repr(place.path))
            if fit and (best is None or rank < (-best[0], best[1], best[2])):
                best = (fit, rank[1], rank[2], place)
        if best is not None:
            yield ports, best[3], best[0] * (1.0 if best[3].presence >= 1 else max(0.3, best[3].presence))


def _own_name(path: Path) -> str | None:
    return next((step.key for step in reversed(path) if step.kind == "key"), None)


def _fit(wanted: tuple[str, ...], path: Path, ports: Ports) -> float:
    keys = [step.key for step in path if step.kind == "key"]
    own = words_of(keys[-1])
    if own == wanted:
        return _SAME if len(wanted) > 1 else _BARE
    whole = words_of(" ".join(keys))
    if len(wanted) > 1 and whole[-len(wanted) :] == wanted:
        return _SAME
    if len(wanted) > 1 and own == wanted[-len(own) :]:
        # `customer.email`: the rest of the words is what the tool is about.
        about = {*whole, *words_of(ports.original_name or ports.tool)}
        return _OF_TOOL if set(wanted) <= about else 0.0
    return _TAIL if len(wanted) == 1 and own[-1:] == wanted else 0.0
