"""Which steps in a loop may be called with the same arguments more than once: the rooms of seven artifacts may be three."""

from __future__ import annotations

from typing import TYPE_CHECKING

from halflap.graph.effects import seems_to_change
from halflap.graph.subject import subject_of
from halflap.graph.words import words_of
from halflap.graph.workflow import many
from halflap.graph.written import IDS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from halflap.graph.edge import Path, Ports
    from halflap.graph.workflow import Given, Task

__all__ = ["may_repeat"]


def may_repeat(task: Task, tasks: Mapping[str, Task]) -> bool:
    """Say whether a step that only reads may be called twice for the same: what changes something is done as often as it is told."""
    if not task.axes or seems_to_change(task.ports):
        return False
    return not any(one.each or (one.origin == "step" and _is_of_one(one, tasks)) for one in task.arguments)


def _is_of_one(given: Given, tasks: Mapping[str, Task]) -> bool:
    """Say whether each of what a loop goes through has a value of its own there."""
    source = tasks[given.step]
    if not many(given.source):
        return not source.axes or (_names_it(source.ports, given.source) and not may_repeat(source, tasks))
    if given.source[-1].kind != "key":
        # A list of ids has each once; those of many things may have the same.
        return many(given.source) == 1 and not source.axes
    return _names_it(source.ports, given.source)


def _names_it(ports: Ports, path: Path) -> bool:
    """Say whether a place names the very thing that it is in: the item of a list, or what the tool tells of."""
    ends = [at for at, step in enumerate(path) if step.kind != "key"]
    rest = path[ends[-1] + 1 :] if ends else path
    said = words_of(rest[-1].key) if rest else ()
    if not said or said[-1] not in IDS:
        return False
    around = [words_of(step.key) for step in path[:-1] if step.kind == "key"]
    own = subject_of(ports.original_name or ports.tool, ports.server).thing
    inside = around[-1] if around else own
    if len(rest) > 1:
        # `patient.id` of a sample is no sample's.
        return False
    return said[:-1] in ((), inside, inside[-1:], own, own[-1:])
