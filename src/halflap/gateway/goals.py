"""From a goal in words to workflows: which of those for the tools that may be meant does what was asked."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, NamedTuple

from halflap.catalog.words import terms
from halflap.graph.asking import is_asked_for
from halflap.graph.effects import name_words, seems_to_change, seems_to_destroy, verbs_of
from halflap.graph.lack import Lack
from halflap.graph.plan import Planned
from halflap.graph.verbs import READING, THINGS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from halflap.graph.edge import Ports
    from halflap.graph.workflow import Workflow

__all__ = ["Meant", "asked_for", "best", "means_all"]

_UNSAID = 6.0
"""What it costs that nothing in a workflow has to do with any word of the goal."""
_ELSE = 3.0
"""What it costs that the tool that it ends with fits the goal not at all."""
_UNDONE = 3.0
"""What it costs only to read, where the goal says the verb of a tool that changes something."""
_LACK = 2.0
_UNUSED = 6.0
"""What it costs that nothing of what is at hand is used: whoever says it means that."""
_EFFORT = 0.3
_MISSING = 1_000.0
_IN_DESCRIPTION = 0.3
_ALL = re.compile(r"(?i)\b(?:all|every|everything|each|alle[srn]?|tous|toutes|todos|todas)\b").search
_CLAUSE = re.compile(r"(?i)\s*[,;.!?](?:\s+|$)(?=.)|\s+(?:and|then)\s+")
_FIRST = re.compile(r"(?i)^\W*(?:please\s+|(?:can|could|would)\s+you\s+)*")
_THEM = re.compile(r"(?i)\b(?:them|those|these)\b").search
_SAYS_ALL = frozenset({"all", "every", "everything", "everyone", "everybody"})
_NOBODY = "No tool fits these words. Other words may; search_tools finds tools by what they do."


class Meant(NamedTuple):
    """A tool that may be meant, and how well it fits the goal, from 0 to 1, 1 being the best of them."""

    tool: str
    fit: float


def means_all(goal: str) -> bool:
    """Say whether a goal says that something is to be done to all that are found.

    Who lists all orders and cancels the last cancels one; who finds all that are late and cancels them means all.
    """
    clauses = _CLAUSE.split(goal)
    said = [one for one in clauses if _ALL(one)]
    if _THEM(goal) or len(said) == len(clauses):
        return bool(said)
    return any(_FIRST.sub("", one).casefold().partition(" ")[0] not in READING for one in said)


def asked_for(goal: str, tools: Sequence[Ports]) -> set[str]:
    """Give the tools that a goal may mean: those that only read, and of the others those whose verb it says.

    Where it also says what one of these does that to, it does not mean those that do it to something else. What does it
    to all is meant only if all are said, or just that tool is: `clear the cart`.
    """
    said = set(terms(goal))
    found = [one for one in tools if is_asked_for(goal, one)]
    changing = {one.tool: said & _objects(one) for one in found if seems_to_change(one)}
    named = any(changing.values())
    every = means_all(goal)
    return {
        one.tool
        for one in found
        if one.tool not in changing
        or ((changing[one.tool] or not named) and (every or not _does_all(goal, one)))
    }


def _does_all(goal: str, ports: Ports) -> bool:
    """Say whether a tool changes all that there is, and a goal does not say its very name: `cancel my order`."""
    if not seems_to_change(ports):
        return False
    words = name_words(ports)
    if not _SAYS_ALL.isdisjoint(words):
        return True
    first = re.split(r"[.\n]", ports.description.strip(), maxsplit=1)[0]
    if ports.required or not (seems_to_destroy(ports) or means_all(first)):
        return False
    clauses = (set(re.findall(r"[^\W_]+", one)) for one in _CLAUSE.split(goal.casefold()))
    return not any(set(words) <= said for said in clauses)


def _objects(ports: Ports) -> set[str]:
    """Give the words of a tool's name that are not what it does."""
    name = ports.original_name or ports.tool.rpartition("__")[2]
    verbs = verbs_of(ports)
    # `purge_archive` purges one.
    return set(terms(name)) - {word for verb in verbs - THINGS or verbs for word in terms(verb)}


def best(goal: str, planned: Sequence[tuple[Meant, Planned]], limit: int) -> Planned:
    """Put together what was found for each tool that may be meant.

    What counts is how well the tool fits, whether what is called on the way says the goal's other words (`the orders of
    the top customers` are two tools), and how much it takes.
    """
    if not planned:
        return Planned((), (Lack("", goal, note=_NOBODY),))
    asked = set(terms(goal))
    does = any(_changes(one) for _, found in planned for one in found.suggestions)
    ranked = []
    for at, (meant, found) in enumerate(planned):
        for workflow in found.suggestions:
            cost = _ELSE * (1 - meant.fit) + _UNSAID * _unsaid(asked, workflow) + _takes(workflow)
            cost += _UNUSED * _unused(workflow)
            cost += _UNDONE if does and not _changes(workflow) else 0.0
            ranked.append((cost, at, workflow))
    ranked.sort(key=lambda one: one[:2])
    if not ranked:
        return Planned((), planned[0][1].missing)
    chosen: list[Workflow] = []
    for _, _, workflow in ranked:
        is_new = workflow.tools not in {one.tools for one in chosen}
        if len(chosen) < limit and is_new:
            chosen.append(workflow)
    return Planned(tuple(chosen), planned[ranked[0][1]][1].missing)


def _changes(workflow: Workflow) -> bool:
    """Say whether what is wanted changes something; only what the goal asks for is planned for."""
    ends = (workflow.order[one.step].ports for one in workflow.wanted)
    return any(seems_to_change(one) for one in ends)


def _unsaid(asked: set[str], workflow: Workflow) -> float:
    """Say how much of what was asked nothing in a workflow says."""
    if not asked:
        return 0.0
    named: set[str] = set()
    described: set[str] = set()
    for task in workflow.tasks:
        named.update(terms(task.ports.original_name or task.ports.tool))
        described.update(terms(task.ports.description))
    said = sum(1.0 if word in named else _IN_DESCRIPTION if word in described else 0.0 for word in asked)
    return 1 - said / len(asked)


def _unused(workflow: Workflow) -> float:
    """Say how much of what is at hand no step uses."""
    used = {one.have for task in workflow.tasks for one in task.arguments if one.origin == "have"}
    unused = len(workflow.unused)
    return unused / (unused + len(used)) if unused else 0.0


def _takes(workflow: Workflow) -> float:
    calls = math.fmod(workflow.cost, _MISSING) if workflow.missing else workflow.cost
    return _EFFORT * calls + _LACK * len(workflow.missing)
