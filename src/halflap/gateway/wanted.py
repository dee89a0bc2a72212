"""Workflows for what is wanted by its name, with a goal beside it that may say that it is done to all, or to all of which."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from halflap.graph.asking import Asked, asked
from halflap.graph.every import SAYS_ALL
from halflap.graph.lack import TO_ALL
from halflap.graph.plan import Planned, plan
from halflap.graph.speech import QUANTIFIERS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from halflap.graph.clauses import Said
    from halflap.graph.terms import Flows
    from halflap.graph.workflow import Target, Workflow

__all__ = ["plan_for_want"]

_NO_COMMAND = "the goal does not plainly tell to do what this tool does"
_OF_WHICH = "{!r} says to which, and nothing at hand does"
_CHOOSES_NOTHING = "{!r} says to which of them, and nothing that is found on the way has it"


def plan_for_want(said: Said, flows: Flows, want: Target, have: Mapping[str, Any], limit: int) -> Planned:
    """Plan for what is wanted: for all that are found where the goal says so, and of these for those that it names.

    What says to which has to choose on the way: else it would be done to more than was told.
    """
    ports = flows.tools.get(want.name)
    way = asked(said, ports) if ports is not None else Asked(is_meant=False)
    if not (way.is_meant and (way.every or way.by)):
        return _told(plan(flows, want=[want], have=have, limit=limit), said, _why_not(way))
    found = plan(flows, want=[want], have=have, limit=limit, every=True)
    kept = tuple(one for one in found.suggestions if _chooses(one, way.by))
    if kept or not way.by:
        return replace(found, suggestions=kept)
    why = _CHOOSES_NOTHING.format(way.by[0])
    return _told(plan(flows, want=[want], have=have, limit=limit), said, why)


def _chooses(workflow: Workflow, names: tuple[str, ...]) -> bool:
    """Say whether all of what is at hand under some names goes into a step, or chooses among the items of one."""
    return {name for name, _ in workflow.unused}.isdisjoint(names)


def _why_not(way: Asked) -> str:
    if way.but:
        return _OF_WHICH.format(way.but)
    return f"{way.doubt!r}: {way.why}" if way.doubt and not way.is_meant else _NO_COMMAND


def _told(found: Planned, said: Said, why: str) -> Planned:
    """Say why a goal that says `all` does not count as one, where it would be what is missing."""
    word = next((one for one in said.words if one in QUANTIFIERS or one in SAYS_ALL), "")
    if not word:
        return found
    note = f"It would be done to all that are found. The goal says {word!r}, which does not count here: {why}. Say to which in `have`."
    missing = tuple(replace(one, note=one.note.replace(TO_ALL, note)) for one in found.missing)
    return replace(found, missing=missing)
