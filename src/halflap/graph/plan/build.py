"""From a plan that was found to a workflow: steps in order, their loops, filters and pages."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from halflap.graph.effects import may_change
from halflap.graph.naming import place_identities
from halflap.graph.paging import main_list, more_of, pages_of, takes_page
from halflap.graph.paths import EACH, items_of, key, keys_of, many, slot_text
from halflap.graph.plan.have import Have, as_taken
from halflap.graph.plan.search import GOAL, Found, Node, Search
from halflap.graph.workflow import Axis, Given, Match, Task, Wanted, Workflow, axes_of

if TYPE_CHECKING:
    from halflap.graph.ports import Ports

__all__ = ["workflow_of"]


def workflow_of(search: Search, found: Found) -> Workflow:
    order = _ordered(found.choices)
    ids = {node.tool: f"s{at}" for at, node in enumerate(order, 1)}
    tasks: dict[str, Task] = {}
    for task in (_task(search, found, node, ids) for node in order):
        tasks[task.id] = replace(task, axes=_axes(task, tasks))
    wanted = _wanted(search, found, ids)
    tasks, wanted = _filtered(search.have, tasks, wanted)
    tasks = _with_pages(tasks, wanted)
    workflow = Workflow(tuple(tasks.values()), wanted, found.cost)
    return replace(workflow, unused=search.have.unused(workflow))


def _ordered(choices: Mapping[Node, Mapping[Node, object]]) -> list[Node]:
    """Put each tool after those that supply it; of those that are free, the first by name."""
    order: list[Node] = []
    left = {node: {one.tool for one in sources} for node, sources in choices.items() if node != GOAL}
    while left:
        names = {node.tool for node in left}
        free = sorted(node for node, sources in left.items() if not sources & names)
        order += free
        for node in free:
            del left[node]
    return order


def _task(search: Search, found: Found, node: Node, ids: Mapping[str, str]) -> Task:
    need = search.need(node)
    arguments = list(need.given)
    for source, units in found.choices[node].items():
        made = search.offered(node, source.tool)
        for at in units:
            arguments += [replace(one, step=ids[one.step]) if one.step else one for one in made[at].given]
    for at in found.missing.get(node, ()):
        unit = need.open[at]
        arguments.append(Given(unit.path[:-1] if unit.is_array else unit.path, "missing"))
    places = {one.path: at for at, one in enumerate(need.ports.slots)}
    arguments.sort(key=lambda one: (places.get(one.slot, len(places)), slot_text(one.slot)))
    return Task(ids[node.tool], need.ports, tuple(arguments))


def _axes(task: Task, tasks: Mapping[str, Task]) -> tuple[Axis, ...]:
    """Return the loops that a step is in: those of its sources, then those over what they return."""
    axes: dict[Axis, None] = {}
    # An array takes in one value of each call of a step that was in loops, and is outside them itself.
    inside = {one.step for one in task.arguments if one.origin == "step" and many(one.source) >= one.holds}
    for step in sorted(inside, key=list(tasks).index):
        axes |= dict.fromkeys(tasks[step].axes)
    for one in task.arguments:
        axes |= dict.fromkeys(Axis(one.step, path) for path in axes_of(one.source, one.fan_out))
        axes |= {Axis.of_have(one.have): None} if one.each else {}
    return tuple(axes)


def _wanted(search: Search, found: Found, ids: Mapping[str, str]) -> tuple[Wanted, ...]:
    made: dict[int, Wanted] = {}
    for source, units in found.choices[GOAL].items():
        offered = search.offered(GOAL, source.tool)
        for at in units:
            given = offered[at].given
            path, fit = (given[0].source, given[0].confidence) if given else ((), 1.0)
            made[at] = Wanted(search.want[at], ids[source.tool], path, fit)
    return tuple(made[at] for at in sorted(made))


# Filters ---------------------------------------------------------------------------------------------


def _filtered(
    have: Have, tasks: dict[str, Task], wanted: tuple[Wanted, ...]
) -> tuple[dict[str, Task], tuple[Wanted, ...]]:
    """Keep only those items of loops that hold a value from `have` which no parameter takes, or takes in that loop."""
    used = {one.have for task in tasks.values() for one in task.arguments if one.origin == "have"}
    left = [name for name in have.values if name not in used and not takes_page((key(name),))]
    made = {}
    for at, task in tasks.items():
        inner = {one.have for one in task.arguments if one.origin == "have" and not one.each}
        own = [
            axis
            for axis in task.axes
            if axis.step and not any(axis in tasks[step].axes for step in task.sources)
        ]
        own += [
            Axis(one.step, items_of(one.source)) for one in task.arguments if one.step and many(one.source)
        ]
        matches = [one for axis in dict.fromkeys(own) for one in _matches(have, [*left, *inner], axis, tasks)]
        made[at] = replace(task, matches=tuple(matches))
    ends = []
    for one in wanted:
        axes = [Axis(one.step, items_of(one.path))] if many(one.path) else _listed(tasks[one.step].ports, one)
        matches = [match for axis in axes for match in _matches(have, left, axis, tasks)]
        ends.append(replace(one, matches=tuple(matches)))
    return made, tuple(ends)


def _listed(ports: Ports, wanted: Wanted) -> list[Axis]:
    """Return the loop over the list that a wanted tool returns; what a change returns stays whole."""
    items = None if may_change(ports) or wanted.path else main_list(ports)
    return [] if items is None else [Axis(wanted.step, (*items, EACH))]


def _matches(have: Have, names: Iterable[str], axis: Axis, tasks: Mapping[str, Task]) -> Iterator[Match]:
    """Yield the filters of a loop: for each value the outermost field of its items that holds such values."""
    ports = tasks[axis.step].ports
    size = len(axis.path)
    inside = [one for one in ports.places if one.path[:size] == axis.path and len(one.path) > size]
    for name in dict.fromkeys(names):
        fitting = [
            place
            for place in inside
            if all(step.kind == "key" for step in place.path[size:])
            for own in place_identities(keys_of(place.path), ports.subject)
            if have.matching(name, own, place.type)
        ]
        if fitting:
            best = min(fitting, key=lambda place: len(place.path))
            value = have.values[name]
            values = value if isinstance(value, list) else [value]
            taken = [one if one is None else as_taken(best.type, one) for one in values]
            is_list = isinstance(value, list)
            given = Given((key(name),), "have", have=name, value=taken if is_list else taken[0], each=is_list)
            yield Match(given, axis, best.path)


# Pages -----------------------------------------------------------------------------------------------


def _with_pages(tasks: dict[str, Task], wanted: tuple[Wanted, ...]) -> dict[str, Task]:
    """Ask for all pages where a list is gone through or printed; where that is not possible, report that there is more."""
    looped = {one.step for task in tasks.values() for one in task.arguments if many(one.source)}
    looped |= {one.step for one in wanted if many(one.path)}
    looped |= {match.axis.step for one in tasks.values() for match in one.matches}
    looped |= {match.axis.step for one in wanted for match in one.matches}
    whole = {one.step for one in wanted if one.target.kind == "tool"}
    made = {}
    for at, task in tasks.items():
        pages = pages_of(task.ports) if at in looped | whole and not may_change(task.ports) else None
        given = {one.slot for one in task.arguments if one.origin != "default"}
        is_part = any(one.origin == "have" and takes_page(one.slot) for one in task.arguments)
        if pages is not None and pages.target not in given:
            made[at] = replace(task, paginates=pages)
        elif at in looped and not is_part:
            # A result that is printed whole says itself that there is more.
            made[at] = replace(task, more=more_of(task.ports))
        else:
            made[at] = task
    return made
