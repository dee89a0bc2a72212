"""From a goal to workflows: what is wanted, what is at hand, and the cheapest ways from one to the other."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from halflap.graph.edge import path_text
from halflap.graph.effects import seems_to_change, seems_to_destroy
from halflap.graph.emit import program
from halflap.graph.have import Have
from halflap.graph.knuth import GOAL
from halflap.graph.lack import Lack, lack_of, lack_of_target
from halflap.graph.matching import chosen, got, matches, undecided
from halflap.graph.picture import workflow_mermaid
from halflap.graph.remaining import asks_for_a_part, more_of
from halflap.graph.search import Search
from halflap.graph.supply import repeats
from halflap.graph.terms import Terms
from halflap.graph.turning import collected, turning_of
from halflap.graph.want import goal_of
from halflap.graph.workflow import (
    Axis,
    Given,
    Target,
    Task,
    Wanted,
    Workflow,
    axes_of,
    many,
    slot_text,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from halflap.graph.edge import Edge, Link, Path
    from halflap.graph.knuth import Found
    from halflap.graph.need import Unit
    from halflap.graph.terms import Flows, Shared

__all__ = ["Planned", "plan", "workflow_json"]


@dataclass(frozen=True, slots=True)
class Planned:
    """What was found: workflows, the best first, and what the best of them still lacks."""

    suggestions: tuple[Workflow, ...]
    missing: tuple[Lack, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Give it as it is shown."""
        return {
            "suggestions": [workflow_json(one) for one in self.suggestions],
            "missing": [one.to_json() for one in self.missing],
        }


def plan(
    graph: Flows,
    *,
    want: Sequence[Target],
    have: Mapping[str, Any],
    limit: int = 3,
    every: bool = False,
    asked: frozenset[str] = frozenset(),
    closed: frozenset[str] = frozenset(),
    shared: Shared | None = None,
) -> Planned:
    """Find the cheapest workflows that get what is wanted from what is at hand; see `search` for what is minimised.

    No two of them use the same tools: each does without some tool of each before it. Where nothing gets all the way,
    they are those that lack the fewest parameters, and what is missing is said. What changes something is done to
    all that is found only with `every`, and on the way to something else only if it is `asked` for; what is `closed` is
    told by no other tool to what. `shared` is for questions that differ in what is wanted alone, and none with `every`.
    """
    if not want:
        return Planned(())
    wanted = frozenset(one.name for one in want if one.kind == "tool")
    terms = Terms(graph, Have(have), wanted, asked=asked, closed=closed, every=every, shared=shared)
    search, found = _found(terms, want, limit, partial=False)
    if found:
        return Planned(tuple(made for _, made in found))
    search, found = _found(terms, want, limit, partial=True)
    lacks = _lacks(search, want, found[0][0] if found else None)
    return Planned(tuple(made for _, made in found), tuple(lacks))


def _found(
    terms: Terms, want: Sequence[Target], limit: int, *, partial: bool
) -> tuple[Search, list[tuple[Found, Workflow]]]:
    """Search until nothing that changes something is in a loop, which a step far before it may have begun."""
    goal = goal_of(terms.graph, want)
    while True:
        search = Search(terms, goal, len(want), partial=partial)
        made = [(one, _workflow(search, want, one)) for one in search.best(limit) if one.tools]
        if _is_undecided(terms, (workflow for _, workflow in made)):
            continue
        kept = [(one, workflow) for one, workflow in made if not _in_loops(terms, workflow)]
        if kept or not made:
            return search, kept
        # Each round bars at least one more, so that there is a last one; and all of the same kind, so that it is soon.
        barred = set().union(*(_in_loops(terms, workflow) for _, workflow in made))
        terms.barred |= barred
        looped = search.in_loops()
        for tool in {tool for tool, _ in barred}:
            alike = (source for source in search.offers[tool] if source in looped)
            terms.barred.update((tool, source) for source in alike if _is_looped_by(search, tool, source))


def _is_undecided(terms: Terms, workflows: Iterable[Workflow]) -> bool:
    """Note the tools that would change many, and of which it cannot be told which: say whether there are more of them."""
    known = len(terms.undecided)
    for workflow in workflows if terms.every else ():
        for task in workflow.tasks:
            if not task.axes or not terms.is_guarded(task.ports.tool):
                continue
            names = undecided(task, terms.graph.into(task.ports.tool), workflow.order)
            names += sorted(_asked_with(terms, workflow, task))
            if names:
                terms.undecided.setdefault(task.ports.tool, names[0])
    return len(terms.undecided) > known


def _asked_with(terms: Terms, workflow: Workflow, task: Task) -> set[str]:
    """Give what each of many is to get, and who finds them cannot do without: then it says which they are, as well."""
    names = got(task, terms.graph.into(task.ports.tool), workflow.order)
    before = _before(task, workflow.order)
    return {one.have for step in before for one in workflow.order[step].arguments if one.have in names}


def _before(task: Task, tasks: Mapping[str, Task]) -> set[str]:
    """Give all steps that one needs, and those that these need."""
    found: set[str] = set()
    left = [*task.sources]
    while left:
        step = left.pop()
        if step not in found:
            found.add(step)
            left += tasks[step].sources
    return found


def _in_loops(terms: Terms, workflow: Workflow) -> set[tuple[str, str]]:
    """Give the tools that change something for each of many, each with those that they take that from."""
    return {
        (task.ports.tool, workflow.order[step].ports.tool)
        for task in workflow.tasks
        if not terms.may_be_all(task.ports.tool) and (task.axes or seems_to_destroy(task.ports))
        for step in task.sources
        if workflow.order[step].axes
    }


def _is_looped_by(search: Search, tool: str, source: str) -> bool:
    """Say whether a tool would do to each of many what it is to do to one, if it took something from one in a loop."""
    return seems_to_destroy(search.terms.graph.tools[tool]) or any(
        repeats(offer, is_looped=True) for _, offer in search.offers[tool][source]
    )


def workflow_json(workflow: Workflow) -> dict[str, Any]:
    """Give a workflow as it is shown, with its picture and its program."""
    return {
        "tools": [one.ports.tool for one in workflow.tasks],
        "confidence": round(workflow.confidence, 3),
        "cost": round(workflow.cost, 3),
        "steps": [_task_json(workflow, one) for one in workflow.tasks],
        "missing": [
            {"step": step, "tool": workflow.order[step].ports.tool, "parameter": slot_text(slot)}
            for step, slot in workflow.missing
        ],
        "unused": [{"name": name, "why": why} for name, why in workflow.unused],
        "notes": list(workflow.notes),
        "mermaid": workflow_mermaid(workflow),
        "program": program(workflow),
    }


def _task_json(workflow: Workflow, task: Task) -> dict[str, Any]:
    cursor = task.paginates
    return {
        "id": task.id,
        "tool": task.ports.tool,
        "server": task.ports.server,
        "may_change_something": seems_to_change(task.ports),
        "arguments": {slot_text(one.slot): one.to_json() for one in task.arguments},
        "fan_out": [one.to_json() for one in task.axes] or None,
        "paginates": None
        if cursor is None
        else {"from": path_text(cursor.source), "to": slot_text(cursor.target)},
        "only_where": [one.to_json() for one in workflow.choosing(task.id)],
        "crosses_servers": workflow.crossings(task),
    }


def _workflow(search: Search, want: Sequence[Target], found: Found) -> Workflow:
    order = _ordered(found.choices)
    ids = {tool: f"s{at}" for at, tool in enumerate(order, 1)}
    wanted = _wanted(search, want, found, ids)
    tasks: dict[str, Task] = {}
    for task in _told_apart(_task(search, found, tool, ids) for tool in order):
        tasks[task.id] = replace(task, axes=_axes(task, tasks))
    graph = search.terms.graph
    tasks = _untold(tasks, graph)
    missing = [
        (task.id, one.slot) for task in tasks.values() for one in task.arguments if one.origin == "missing"
    ]
    for at, task in tasks.items():
        tasks[at] = replace(task, matches=tuple(matches(task, graph.into(task.ports.tool), tasks)))
    tasks, wanted = chosen(search.terms.have, tasks, wanted)
    looped = {(one.step, bool(many(one.source))) for task in tasks.values() for one in task.arguments}
    looped |= {(one.step, bool(many(one.path))) for one in wanted}
    choosing = [one for task in tasks.values() for one in task.matches]
    choosing += [match for one in wanted for match in one.matches]
    looped |= {(one.axis.step, bool(many(one.path))) for one in choosing}
    whole = {one.step for one in wanted if one.target.kind == "tool"}
    for at, task in tasks.items():
        cursor = _cursor(task, search.terms.graph.into(task.ports.tool))
        is_used = (at, True) in looped
        collects = collected(task.ports, cursor) if (is_used or at in whole) and cursor is not None else ()
        if cursor is not None and collects:
            more = more_of(task.ports, cursor)
            tasks[at] = replace(task, paginates=cursor, collects=collects, more=more)
        elif is_used and not _is_part(task):
            # A result that is printed as it came says so itself.
            tasks[at] = replace(task, more=more_of(task.ports, None))
    workflow = Workflow(tuple(tasks.values()), wanted, found.cost, tuple(missing))
    return replace(workflow, unused=tuple(search.terms.have.unused(workflow)))


def _untold(tasks: dict[str, Task], graph: Flows) -> dict[str, Task]:
    """Have nobody asked for those alone that have already what they are to get: it is left out where it may be."""
    made = dict(tasks)
    for task in tasks.values():
        names = got(task, graph.into(task.ports.tool), tasks)
        for at in _before(task, tasks) if names else ():
            ports = made[at].ports
            kept = tuple(
                one
                for one in made[at].arguments
                if one.origin != "have" or one.have not in names or one.slot[0].key in ports.required
            )
            made[at] = replace(made[at], arguments=kept)
    return made


def _told_apart(tasks: Iterable[Task]) -> list[Task]:
    """Give what is a number to one step and text to another two names, as programs have a variable for each name."""
    values: dict[str, Any] = {}
    made: list[Task] = []
    for task in tasks:
        arguments = [
            replace(one, have=f"{one.have}_as_{type(one.value[0] if one.each else one.value).__name__}")
            if one.origin == "have" and not _is_same(values.setdefault(one.have, one.value), one.value)
            else one
            for one in task.arguments
        ]
        made.append(replace(task, arguments=tuple(arguments)))
    return made


def _is_same(one: Any, other: Any) -> bool:
    return one is other or (type(one) is type(other) and bool(one == other))


def _ordered(choices: Mapping[str, Mapping[str, object]]) -> list[str]:
    """Put tools in an order in which each comes after those that supply it; of those that can, the first by name."""
    order: list[str] = []
    left = {tool: set(sources) for tool, sources in choices.items() if tool != GOAL}
    while left:
        free = sorted(tool for tool, sources in left.items() if not sources & left.keys())
        order += free
        for tool in free:
            del left[tool]
    return order


def _task(search: Search, found: Found, tool: str, ids: Mapping[str, str]) -> Task:
    need = search.terms.need(tool)
    assert need is not None, "a tool that may not be called is on no way"
    arguments = list(need.given)
    for source, units in found.choices[tool].items():
        made = dict(search.offers[tool][source])
        for at in units:
            arguments += [
                replace(one, step=ids[one.step]) if one.origin == "step" else one for one in made[at].given
            ]
    arguments += [Given(_unit_path(need.open[at]), "missing") for at in found.missing.get(tool, ())]
    places = {one.path: at for at, one in enumerate(need.ports.slots)}
    arguments.sort(key=lambda one: (places.get(one.slot, len(places)), slot_text(one.slot)))
    return Task(ids[tool], need.ports, tuple(arguments))


def _unit_path(unit: Unit) -> Path:
    return unit.path[:-1] if unit.is_array else unit.path


def _wanted(
    search: Search, want: Sequence[Target], found: Found, ids: Mapping[str, str]
) -> tuple[Wanted, ...]:
    made: dict[int, Wanted] = {}
    for source, units in found.choices[GOAL].items():
        offered = dict(search.offers[GOAL][source])
        for at in units:
            given = offered[at].given
            path, sure = (given[0].source, given[0].confidence) if given else ((), 1.0)
            made[at] = Wanted(want[at], ids[source], path, sure)
    return tuple(made[at] for at in sorted(made))


def _axes(task: Task, tasks: Mapping[str, Task]) -> tuple[Axis, ...]:
    """Give the loops that a step is in: those that its sources are in, then those over what they return."""
    axes: dict[Axis, None] = {}
    # An array takes one value of each call of a step that was in loops: it stands outside of them.
    inside = {one.step for one in task.arguments if one.origin == "step" and many(one.source) >= one.holds}
    for step in sorted(inside, key=list(tasks).index):
        axes |= dict.fromkeys(tasks[step].axes)
    for one in task.arguments:
        axes |= dict.fromkeys(Axis(one.step, path) for path in axes_of(one.source, one.fan_out))
        axes |= {Axis.at_hand(one.have): None} if one.each else {}
    return tuple(axes)


def _is_part(task: Task) -> bool:
    """Say whether it is at hand which part of a list is meant, or how many."""
    return any(one.origin == "have" and asks_for_a_part(one.slot[0].key) for one in task.arguments)


def _cursor(task: Task, edges: Sequence[Edge]) -> Link | None:
    """Give how a tool is asked for its next page; where the number of one is given, that is the one that is meant."""
    given = {one.slot for one in task.arguments if one.origin != "default"}
    links = [
        link
        for edge in edges
        if edge.is_pagination and edge.source == edge.target
        for link in edge.links
        if not many(link.target) and not many(link.source)
        if (turning := turning_of(task.ports, link.source, link.target)) is None
        or (link.target not in given and not (turning.tells == "nothing" and _is_part(task)))
    ]
    return max(links, key=lambda one: (one.confidence, path_text(one.source)), default=None)


def _lacks(search: Search, want: Sequence[Target], found: Found | None) -> list[Lack]:
    lacks: list[Lack] = []
    terms = search.terms
    missing = {GOAL: tuple(range(len(want)))} if found is None else found.missing
    for tool, units in sorted(missing.items()):
        need = terms.need(tool) if tool != GOAL else None
        if need is not None:
            lacks += [lack_of(terms, need, at) for at in units]
        else:
            refused = sorted(one for one in search.offers[GOAL] if terms.need(one) is None)
            lacks += [lack_of_target(terms.graph, want[at], refused) for at in units]
    return lacks
