"""From a plan that was found to a workflow: steps in order, their loops, filters and pages."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from halflap.graph.effects import may_change
from halflap.graph.naming import place_identities
from halflap.graph.paging import more_of, pages_of, takes_page, takes_pages
from halflap.graph.paths import EACH, items_of, key, keys_of, many, slot_text
from halflap.graph.plan.need import Have, as_taken
from halflap.graph.plan.search import GOAL, Found, Node, Search
from halflap.graph.types import conversion
from halflap.graph.workflow import Axis, Given, Match, Task, Wanted, Workflow, axes_of


def workflow_of(search: Search, found: Found) -> Workflow:
    order = _ordered(found.choices)
    ids = {node.tool: f"s{at}" for at, node in enumerate(order, 1)}
    tasks = _nested([_task(search, found, node, ids) for node in order])
    tasks = {at: replace(one, matches=_filters(search.have, tasks, one)) for at, one in tasks.items()}
    wanted = tuple(_filtered(search.have, tasks, one) for one in _wanted(search, found, ids))
    workflow = Workflow(tuple(_with_pages(tasks, wanted)), wanted, found.cost)
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
    slots = {one.path: one for one in need.ports.slots}
    for source, units in found.choices[node].items():
        made = search.offered(node, source.tool)
        forms = {one.path: one.form for one in search.graph.tools[source.tool].places}
        for one in (one for at in units for one in made[at].given):
            convert = conversion(forms[one.source], slots[one.slot].form) if one.step else None
            arguments.append(replace(one, step=ids[one.step], convert=convert) if one.step else one)
    for at in found.missing.get(node, ()):
        unit = need.open[at]
        arguments.append(Given(unit.path[:-1] if unit.is_array else unit.path, "missing"))
    places = {path: at for at, path in enumerate(slots)}
    arguments.sort(key=lambda one: (places.get(one.slot, len(places)), slot_text(one.slot)))
    return Task(ids[node.tool], need.ports, tuple(arguments))


def _nested(order: Sequence[Task]) -> dict[str, Task]:
    """Put each step in its loops: those of its sources, then those over what they return.

    Loops are nested: all that a step takes comes from the loops that it is in, or from outside of these. So of two
    unrelated loops, one is put inside the other.
    """
    axes: dict[str, dict[Axis, None]] = {}
    every: dict[Axis, None] = {}
    for task in order:
        own = axes[task.id] = dict.fromkeys(axis for step in _singly(task) for axis in axes[step])
        for one in task.arguments:
            own |= dict.fromkeys(Axis(one.step, path) for path in axes_of(one.source, one.fan_out))
            own |= {Axis.of_have(one.have): None} if one.each else {}
        every |= own
    is_done = False
    while not is_done:
        is_done = True
        for task in order:
            for step in _singly(task):
                axes[task.id] |= axes[step]
                around = [axis for axis in every if axis in axes[task.id]]
                while around and around[-1] not in axes[step]:
                    around.pop()
                is_done = is_done and len(around) == len(axes[step])
                axes[step] |= dict.fromkeys(around)
    return {one.id: replace(one, axes=tuple(axis for axis in every if axis in axes[one.id])) for one in order}


def _singly(task: Task) -> list[str]:
    """Return the steps of which a step takes one result at a time.

    An array takes in one value of each call of a step that is in loops, and is outside them itself.
    """
    given = (one for one in task.arguments if one.origin == "step" and many(one.source) >= one.holds)
    return list(dict.fromkeys(one.step for one in given))


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


def _filters(have: Have, tasks: Mapping[str, Task], task: Task) -> tuple[Match, ...]:
    """Return the filters of the loops that a step begins, by values in `have` that fill no parameter."""
    own = [
        axis for axis in task.axes if axis.step and not any(axis in tasks[one].axes for one in task.sources)
    ]
    own += [Axis(one.step, items_of(one.source)) for one in task.arguments if one.step and many(one.source)]
    return tuple(match for axis in dict.fromkeys(own) for match in _matches(have, axis, tasks))


def _filtered(have: Have, tasks: Mapping[str, Task], wanted: Wanted) -> Wanted:
    """Filter what is printed: a list in it, or the list that a wanted tool returns; what a change returns stays whole."""
    ports = tasks[wanted.step].ports
    items = items_of(wanted.path)
    main = None if wanted.path or may_change(ports) else ports.main_list
    if main is not None:
        items = (*main, EACH)
    matches = tuple(_matches(have, Axis(wanted.step, items), tasks)) if items else ()
    return replace(wanted, path=wanted.path or items, matches=matches) if matches else wanted


def _matches(have: Have, axis: Axis, tasks: Mapping[str, Task]) -> Iterator[Match]:
    """Yield the filters of a loop: for each value the outermost field of its items that holds such values."""
    ports = tasks[axis.step].ports
    used = {one.have for task in tasks.values() for one in task.arguments if one.origin == "have"}
    names = [name for name in have.values if name not in used and not takes_page((key(name),))]
    size = len(axis.path)
    inside = [one for one in ports.places if one.path[:size] == axis.path and len(one.path) > size]
    for name in names:
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


def _with_pages(tasks: Mapping[str, Task], wanted: Sequence[Wanted]) -> Iterator[Task]:
    """Request all pages of lists that are looped over or printed; where that is impossible, report incomplete results."""
    looped = {one.step for task in tasks.values() for one in task.arguments if many(one.source)}
    looped |= {one.step for one in wanted if many(one.path)}
    whole = {one.step for one in wanted if one.target.kind == "tool"}
    for at, task in tasks.items():
        pages = pages_of(task.ports) if at in looped | whole and not may_change(task.ports) else None
        given = {one.slot for one in task.arguments if one.origin != "default"}
        if pages is not None and pages.target not in given:
            yield replace(task, paginates=pages)
        elif any(one.origin == "have" and takes_page(one.slot) for one in task.arguments):
            yield task
        else:
            more = more_of(task.ports)
            may_be_part = at in looped | whole and not more and takes_pages(task.ports)
            # A result that is printed whole shows that it is incomplete.
            yield replace(task, more=more if at in looped else (), may_be_part=may_be_part)
