"""From a goal in words to workflows: which of those for the tools that may be meant does what was asked."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from halflap.gateway.fitting import (
    adds_nothing,
    fit_of,
    shares,
    subject_said,
    tells,
    undone,
    unheard,
    unspoken,
)
from halflap.gateway.wording import (
    asked_words,
    finds_nothing,
    gives_only_what_is_around,
    returned,
    said_by,
)
from halflap.graph.asking import Asked, asked
from halflap.graph.effects import seems_to_change, seems_to_destroy, verbs_of
from halflap.graph.lack import Lack
from halflap.graph.plan import Planned, plan
from halflap.graph.terms import Shared
from halflap.graph.verbs import CHANGING, ORDINARY
from halflap.graph.words import words_of
from halflap.graph.workflow import Target

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from halflap.gateway.fitting import Subject
    from halflap.graph.clauses import Said
    from halflap.graph.edge import Ports
    from halflap.graph.terms import Flows
    from halflap.graph.workflow import Workflow

__all__ = ["Meant", "asked_for", "best", "plans_for", "told"]

_UNSAID = 6.0
"""What it costs that nothing in a workflow has to do with any word of the goal."""
_ELSE = 3.0
"""What it costs that the tool that it ends with fits the goal not at all."""
_UNDONE = 9.0
"""What it costs only to read, where the goal tells to change something."""
_UNASKED = 5.0
"""What it costs to speak of nothing that is asked for, where something else does."""
_MORE = 0.01
_LACK = 2.0
_UNUSED = 6.0
"""What it costs that nothing of what is at hand is used: whoever says it means that."""
_LOOKED_UP = 0.25
_EFFORT = 0.3
_MISSING = 1_000.0
_MOST_TOLD = 3
_MOST_LOOKED_AT = 24
"""So many tools are looked at for all that may be meant together, so that the answer comes as soon as for one that is named."""
_DESTROYS = "It may destroy something, which no goal in words leads to"
_UNKNOWN = "It is not known whether {!r} changes something, so no goal in words leads to it"
_NOT_EVERYDAY = "It changes something that may not be had back, which no goal in words leads to"
_IS_NAMED = "it is named, which is no command"
_NOT_AT_HAND = "of the goal is not at hand, so no step takes it: if a parameter does, say it in `have`"
_UNDONE_BY_ALL = "of the goal is done by no step"
_NOT_SPOKEN_OF = "of the goal is nothing that these tools speak of: it is left out"
_NOTHING_FITS = "No tool was found that does what the goal says. `near` has those that come nearest; search_tools finds others."
_HAS_WORDS = "it has words of the goal, or such as are spelt like them, but it is not what the goal asks for"
_NOBODY = "No tool fits these words. Other words may; search_tools finds tools by what they do."


class Meant(NamedTuple):
    """A tool that may be meant, and how well it fits the goal, from 0 to 1, 1 being the best of them."""

    tool: str
    fit: float


def asked_for(said: Said, tools: Iterable[Ports], named: Collection[str] = ()) -> dict[str, Asked]:
    """Say of each tool what a goal says of it: those that only read may all be meant, the others if it tells to do that.

    What destroys, or is done by a verb that may, is never meant by words alone, however plain they are; nor is what changes
    something, where the goal has the very name of another tool.
    """
    return {one.tool: _way(said, one, named) for one in tools}


def _way(said: Said, ports: Ports, named: Collection[str]) -> Asked:
    way = asked(said, ports)
    if not seems_to_change(ports):
        return way
    if named and ports.tool not in named:
        return Asked(is_meant=False)
    if named and not way.is_meant:
        way = Asked(is_meant=False, doubt=ports.original_name or ports.tool, why=_IS_NAMED)
    if not seems_to_destroy(ports) and verbs_of(ports) <= ORDINARY:
        return way
    danger = _danger(ports)
    return Asked(is_meant=False, danger=danger) if way.is_meant else replace(way, danger=way.doubt and danger)


def _danger(ports: Ports) -> str:
    """Say why no words lead to a tool, however plain they are."""
    if seems_to_destroy(ports):
        return _DESTROYS
    verbs = verbs_of(ports)
    # What its server says is known, whatever it is called.
    is_known = ports.changes is not None or not verbs or not verbs.isdisjoint(CHANGING)
    return _NOT_EVERYDAY if is_known else _UNKNOWN.format(min(verbs))


def plans_for(
    targets: Sequence[Meant],
    flows: Flows,
    have: Mapping[str, Any],
    limit: int,
    asking: Mapping[str, Asked],
) -> list[tuple[Meant, Planned]]:
    """Plan for each tool that a goal means, and change on the way only what it asks for, too; nothing more than once.

    A list at hand is called for each of its items, whatever that does.
    """
    changing = {name: way for name, way in asking.items() if way.is_meant and _changes_by(flows, name)}
    closed = frozenset(name for name, way in changing.items() if not way.is_open)
    asked, shared = frozenset(changing), Shared(_MOST_LOOKED_AT)
    planned = []
    for one in targets:
        want = [Target("tool", one.tool)]
        found = plan(flows, want=want, have=have, limit=limit, asked=asked, closed=closed, shared=shared)
        missing = tuple(_with_doubt(lack, changing) for lack in found.missing)
        planned.append((one, replace(found, missing=missing)))
    return planned


def _changes_by(flows: Flows, name: str) -> bool:
    return name in flows.tools and seems_to_change(flows.tools[name])


def _with_doubt(lack: Lack, changing: Mapping[str, Asked]) -> Lack:
    """Say with what is missing which word of the goal left it open."""
    way = changing.get(lack.tool)
    if way is None or not way.doubt:
        return lack
    return replace(lack, note=f"{way.why[:1].upper()}{way.why[1:]}.")


def told(asking: Mapping[str, Asked], near: Sequence[str]) -> tuple[Lack, ...]:
    """Say which tools that change something come near to a goal, and why they are not planned."""
    found = [name for name in near if asking[name].doubt or asking[name].danger]
    # What is plainly told comes first.
    found = sorted(
        (name for name in found if not asking[name].is_meant), key=lambda name: asking[name].doubt != ""
    )
    return tuple(Lack("", name, note=_why_not(name, asking[name])) for name in found[:_MOST_TOLD])


def _why_not(name: str, way: Asked) -> str:
    does = way.danger or "It seems to change something"
    why = f", and the goal does not plainly tell to do that: {way.doubt!r}: {way.why}" if way.doubt else ""
    return f'{does}{why}. If it is what you mean, `want="{name}"` plans it, with the values in `have`.'


def best(
    said: Said, goal: str, planned: Sequence[tuple[Meant, Planned]], limit: int, near: Sequence[str] = ()
) -> Planned:
    """Put together what was found for each tool that may be meant; `near` are those that come nearest if none is.

    What counts is how well the tool fits, whether what is called on the way says the goal's other words (`the orders of
    the top customers` are two tools), and how much it takes.
    """
    if not planned:
        told = tuple({"tool": one, "why": _HAS_WORDS} for one in near[:_MOST_TOLD])
        return Planned((), (Lack("", goal, near=told, note=_NOTHING_FITS if told else _NOBODY),))
    asked = asked_words(said, goal)
    does = any(_changes(one) for _, found in planned for one in found.suggestions)
    spoken = [[said_by(one) for one in found.suggestions] for _, found in planned]
    # What nobody speaks of tells none of them from the others.
    known = {
        word: weight for word, weight in asked.items() if any(word in one for made in spoken for one in made)
    }
    subject = subject_said(said, goal)
    made = [one for _, found in planned for one in found.suggestions]
    is_told = [tells(subject, one) for one in made]
    ranked: list[tuple[float, int, Workflow]] = []
    for at, (meant, found) in enumerate(planned):
        for workflow, words in zip(found.suggestions, spoken[at], strict=True):
            cost = _ELSE * (1 - meant.fit) + _UNSAID * _unsaid(known, words) + _takes(workflow)
            cost += _UNUSED * _unused(workflow) + _ELSE * (1 - fit_of(subject, workflow))
            cost += _UNDONE if does and not _changes(workflow) else 0.0
            cost += _ELSE if _is_beside(said, workflow) else 0.0
            cost += _UNASKED if any(is_told) and not is_told[len(ranked)] else 0.0
            ranked.append((cost, at, workflow))
    ranked = _needed_first(said, subject, ranked)
    ranked.sort(key=lambda one: one[:2])
    if not ranked:
        return Planned((), planned[0][1].missing)
    ranked = [one for one in ranked if shares(subject, one[2])]
    if not ranked:
        return Planned((), (_unfit(goal, subject, [one.tool for one, _ in planned]),))
    chosen: list[Workflow] = []
    for _, _, workflow in ranked:
        is_new = workflow.tools not in {one.tools for one in chosen}
        if len(chosen) < limit and is_new:
            notes = [f"{one!r} {_NOT_AT_HAND}" for one in unheard(said)[:_MOST_TOLD]]
            notes += [f"{one!r} {_UNDONE_BY_ALL}" for one in undone(said, workflow)]
            notes += [f"{one!r} {_NOT_SPOKEN_OF}" for one in unspoken(subject, workflow)[:_MOST_TOLD]]
            chosen.append(replace(workflow, fit=fit_of(subject, workflow), notes=tuple(notes)))
    return Planned(tuple(chosen), planned[ranked[0][1]][1].missing)


def _is_beside(said: Said, workflow: Workflow) -> bool:
    return gives_only_what_is_around(said, workflow) or finds_nothing(said, workflow)


def _needed_first(
    said: Said, subject: Subject, ranked: Sequence[tuple[float, int, Workflow]]
) -> list[tuple[float, int, Workflow]]:
    """Let a workflow cost more than one that does less and leaves nothing out that is asked for."""
    found = []
    for cost, at, workflow in ranked:
        enough = [
            other
            for other, _, less in ranked
            if len(less.tasks) < len(workflow.tasks)
            and not _changes(workflow)
            and not _is_beside(said, less)
            and adds_nothing(subject, workflow, less)
        ]
        found.append((max([cost, *(one + _MORE for one in enough)]), at, workflow))
    return found


def _unfit(goal: str, subject: Subject, near: Sequence[str]) -> Lack:
    """Say that no tool is about what a goal is about, with those that come nearest."""
    told = subject.told or {}
    things = sorted({told[one] for one in subject.things if one in told})
    said = " or ".join(repr(one) for one in things[:_MOST_TOLD]) or "what the goal asks for"
    why = f"it has words of the goal, but does not speak of {said}"
    return Lack(
        "", goal, near=tuple({"tool": one, "why": why} for one in near[:_MOST_TOLD]), note=_NOTHING_FITS
    )


def _changes(workflow: Workflow) -> bool:
    """Say whether what is wanted changes something; only what the goal asks for is planned for."""
    ends = (workflow.order[one.step].ports for one in workflow.wanted)
    return any(seems_to_change(one) for one in ends)


def _unsaid(asked: Mapping[str, float], words: Mapping[str, float]) -> float:
    """Say how much of what was asked nothing in a workflow says."""
    if not asked:
        return 1.0
    told = sum(weight * words.get(word, 0.0) for word, weight in asked.items())
    return 1 - told / sum(asked.values())


def _unused(workflow: Workflow) -> float:
    """Say how much of what is at hand no step uses."""
    used = set(workflow.at_hand())
    # What stands in the result can be looked up there, though nothing chooses by it.
    shown = {words for one in workflow.wanted for words in returned(workflow.order[one.step].ports)}
    unused = sum(_LOOKED_UP if words_of(name) in shown else 1.0 for name, _ in workflow.unused)
    return unused / (len(workflow.unused) + len(used)) if unused else 0.0


def _takes(workflow: Workflow) -> float:
    calls = math.fmod(workflow.cost, _MISSING) if workflow.missing else workflow.cost
    return _EFFORT * calls + _LACK * len(workflow.missing)
