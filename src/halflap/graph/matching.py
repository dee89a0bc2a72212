"""Which of the items that a step goes through are meant: those that have what is at hand, where they have such a field."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from halflap.graph.bearing import bearing_of
from halflap.graph.edge import EACH
from halflap.graph.effects import seems_to_change
from halflap.graph.listed import only_list
from halflap.graph.remaining import asks_for_a_part
from halflap.graph.subject import subject_of
from halflap.graph.supply import names_a_thing
from halflap.graph.words import words_of
from halflap.graph.workflow import Axis, Match

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from halflap.graph.bearing import Bearing
    from halflap.graph.edge import Edge, Path, Ports
    from halflap.graph.have import Have
    from halflap.graph.workflow import Given, Task, Wanted

__all__ = ["chosen", "got", "matches", "undecided"]


def matches(task: Task, edges: Sequence[Edge], tasks: Mapping[str, Task]) -> Iterator[Match]:
    """Give what says of the items that a step is called for whether they go with what is at hand for it.

    Where it goes from one place to two parameters, as to `from_id` and `to_id`, the one is not the other. What something
    is to get says nothing of which has it now.
    """
    for given, step, best in _candidates(task, edges, tasks):
        if best is None:
            continue
        is_other = any(
            (one.step, one.source) == (step, best.path)
            and words_of(one.slot[-1].key) != words_of(given.slot[-1].key)
            for one in task.arguments
        )
        if is_other:
            yield replace(best, is_other=True)
        elif not given.each and _bearing(task, given, tasks[step], best.path) == "which":
            yield best
    yield from _matches_inside(task, edges, tasks)


def _candidates(
    task: Task, edges: Sequence[Edge], tasks: Mapping[str, Task]
) -> Iterator[tuple[Given, str, Match | None]]:
    """Give what is at hand for a step, with each other whose items it is called for, and where those have such a value."""
    at_hand = [one for one in task.arguments if one.origin == "have"]
    for step in dict.fromkeys(axis.step for axis in task.axes if axis.step in tasks) if at_hand else ():
        links = [link for edge in edges if edge.source == tasks[step].ports.tool for link in edge.links]
        for given in at_hand:
            found = [
                (link.confidence, len(axis.path), Match(given, axis, link.source))
                for link in links
                if link.target == given.slot
                for axis in task.axes
                if axis.step == step and link.source[: len(axis.path)] == axis.path
            ]
            # The surest; of the loops that lead there, the innermost.
            yield given, step, max(found, key=lambda one: one[:2])[2] if found else None


def _bearing(task: Task, given: Given, source: Task, path: Path) -> Bearing:
    taken = {one.source for one in task.arguments if one.step == source.id}
    return bearing_of(task.ports, given.slot[0].key, source.ports, path, taken)


def undecided(task: Task, edges: Sequence[Edge], tasks: Mapping[str, Task]) -> list[str]:
    """Give what is at hand for a change to many of which nobody can tell whether it says which, or is what they get."""
    return [
        given.have
        for given, step, best in _candidates(task, edges, tasks)
        if not given.each
        if (best is not None or _takes(tasks[step], given.have))
        and _bearing(task, given, tasks[step], () if best is None else best.path) == "open"
    ]


def got(task: Task, edges: Sequence[Edge], tasks: Mapping[str, Task]) -> set[str]:
    """Give what is at hand that each of many is to get by a change: who finds them is not told it."""
    if not task.axes or not seems_to_change(task.ports):
        return set()
    return {
        given.have
        for given, step, best in _candidates(task, edges, tasks)
        if not given.each and _bearing(task, given, tasks[step], () if best is None else best.path) == "new"
    }


def _takes(task: Task, name: str) -> bool:
    return any(one.origin == "have" and one.have == name for one in task.arguments)


def _matches_inside(task: Task, edges: Sequence[Edge], tasks: Mapping[str, Task]) -> Iterator[Match]:
    """Give what says of the results of a step in a loop whether they go with what is at hand: something in them has it."""
    gone_through = {axis.step for axis in task.axes}
    steps = [one for one in task.sources if tasks[one].axes and one not in gone_through]
    for step in steps:
        links = [link for edge in edges if edge.source == tasks[step].ports.tool for link in edge.links]
        used = {one.source for one in task.arguments if one.step == step}
        for given in task.arguments:
            if given.origin != "have" or given.each or not names_a_thing(given.slot):
                continue
            fitting = [one for one in links if one.target == given.slot and one.source not in used]
            if fitting:
                path = max(fitting, key=lambda one: one.confidence).source
                yield Match(given, (_loops(step, path) or [Axis(step, ())])[-1], path)


def chosen(
    have: Have, tasks: Mapping[str, Task], wanted: Sequence[Wanted]
) -> tuple[dict[str, Task], tuple[Wanted, ...]]:
    """Have only those items taken that have what is at hand and no parameter takes."""
    used = {one.have for task in tasks.values() for one in task.arguments if one.origin == "have"}
    by_step: dict[str, list[Match]] = {}
    targets: list[list[Match]] = [[] for _ in wanted]
    for name in have.left(used):
        if asks_for_a_part(name):
            continue
        at_steps = {
            at: list(_found(have, name, _own_loops(task, tasks), tasks)) for at, task in tasks.items()
        }
        at_ends = [
            list(
                _found(have, name, _loops(one.step, one.path), tasks)
                if one.path
                else _listed(have, name, tasks[one.step])
            )
            for one in wanted
        ]
        steps = [one.axis.step for made in [*at_steps.values(), *at_ends] for one in made]
        if len(words_of(name)) == 1:
            # Many things have a `name`: that of what was found last is the nearest to what is wanted.
            steps = sorted(steps, key=list(tasks).index)[-1:]
        for at, made in at_steps.items():
            by_step.setdefault(at, []).extend(one for one in made if one.axis.step in steps)
        for kept, made in zip(targets, at_ends, strict=True):
            kept += [one for one in made if one.axis.step in steps]
    return (
        {at: replace(task, matches=(*task.matches, *by_step.get(at, ()))) for at, task in tasks.items()},
        tuple(replace(one, matches=tuple(made)) for one, made in zip(wanted, targets, strict=True)),
    )


def _listed(have: Have, name: str, task: Task) -> Iterator[Match]:
    """Give where the items of what a tool lists have what is at hand themselves: then only those are wanted.

    What is told of one thing with a list stays whole, and what changed something tells all that it did.
    """
    ports = task.ports
    items = only_list(ports)
    is_many = subject_of(ports.original_name or ports.tool, ports.server).is_many
    if items is None or not is_many or seems_to_change(ports):
        return
    axis = Axis(task.id, (*items, EACH))
    found = [
        Match(given, axis, path)
        for path, given in _places(have, name, axis, ports)
        if all(step.kind == "key" for step in path[len(axis.path) :])
    ]
    yield from sorted(found, key=lambda one: len(one.path))[:1]


def _own_loops(task: Task, tasks: Mapping[str, Task]) -> list[Axis]:
    """Give the loops that begin with a step: around its call, and within its arguments."""
    begun = {axis for step in task.sources for axis in tasks[step].axes}
    found = [axis for axis in task.axes if axis.step and axis not in begun]
    for one in task.arguments:
        if one.origin == "step":
            found += [axis for axis in _loops(one.step, one.source) if axis not in begun]
    return list(dict.fromkeys(found))


def _loops(step: str, path: Path) -> list[Axis]:
    return [Axis(step, path[: at + 1]) for at, one in enumerate(path) if one.kind != "key"]


def _found(have: Have, name: str, loops: Sequence[Axis], tasks: Mapping[str, Task]) -> Iterator[Match]:
    """Give, for each step that is gone through, where its items have what is at hand; the innermost loop chooses."""
    for step in dict.fromkeys(axis.step for axis in loops):
        axes = [axis for axis in loops if axis.step == step]
        found = [
            (len(axis.path), -len(path), Match(given, axis, path))
            for axis in axes
            for path, given in _places(have, name, axis, tasks[step].ports)
        ]
        if found:
            yield max(found, key=lambda one: one[:2])[2]


def _places(have: Have, name: str, axis: Axis, ports: Ports) -> Iterator[tuple[Path, Given]]:
    said = words_of(name)
    for place in ports.places:
        keys = [step.key for step in place.path if step.kind == "key"]
        if place.path[: len(axis.path)] != axis.path or not keys:
            continue
        # `school_name` is the `name` of one of the `schools`, too.
        if said in (words_of(keys[-1]), words_of(" ".join(keys[-2:]))):
            given = have.to_compare(name, place.type)
            if given is not None:
                yield place.path, given
