"""What a reader should know of a net that came from a specification: what was kept, and what is not as it has to be."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from halflap.core.errors import WorkflowError
from halflap.workflows.checking import remarks, structure_problems
from halflap.workflows.predicates import BeyondError, from_xpath, write
from halflap.workflows.specification import made_of
from halflap.workflows.yawl.extended import (
    OF_CONDITIONS,
    OF_FLOWS,
    OF_NETS,
    OF_SPECIFICATIONS,
    OF_TASKS,
    not_read,
    of_set,
)
from halflap.workflows.yawl.keeping import flow_key, noted
from halflap.workflows.yawl.xml import Element, nodes_of

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Sequence

    from halflap.workflows.net import Kept, Net

__all__ = ["finished", "merged_notes", "notes_of", "specification_notes", "told", "unlike"]

_MOST_SHOWN = 80


def told(xpath: str, root: str) -> str | None:
    """Give XPath in our language, if it is within it; `root` is the net that it stands in."""
    try:
        return write(from_xpath(xpath, root))
    except BeyondError:
        return None


def finished(net: Net, nets: Collection[str], own: Sequence[str] = ()) -> Net:
    """Add the notes to a net that was read: those that the file has, then what was kept, and what is not as it has to be."""
    return replace(net, notes=merged_notes(own, notes_of(net, nets)))


def merged_notes(own: Sequence[str], found: Sequence[str]) -> tuple[str, ...]:
    """Put notes that a file has before those that follow from the rest of it; none is there twice for that."""
    return (*own, *(note for note in found if note not in own))


def unlike(notes: Sequence[str], found: Sequence[str]) -> list[str]:
    """Give the notes that have to be written, so that with those that follow from the rest they come back as they are."""
    own = [note for note in notes if note not in found]
    if list(notes) == list(found):
        return []
    return own if merged_notes(own, found) == tuple(notes) else list(notes)


def notes_of(net: Net, nets: Collection[str]) -> list[str]:
    """Say what was kept of a net, what it means, and what is not as it has to be; `nets` are those of the specification."""
    broken, rest = _extended(
        net.kept,
        lambda at: _known(net, at),
        lambda at: repr(at) if at else f"the net {net.id!r}",
        {*net.tasks, *net.conditions},
    )
    notes = noted(rest, made_of(net, nets))
    notes += broken
    flows = {flow_key(flow.source, flow.target): flow for flow in net.flows}
    for one in net.kept:
        flow = flows.get(one.at)
        if one.name != "predicate" or flow is None or flow.predicate is not None:
            continue
        task = net.tasks.get(flow.source)
        why = "nothing is chosen there" if task is None or task.split == "and" else _why(one.text, net.id)
        notes.append(f"Kept as text, and not evaluated: the predicate of {one.at!r}, {one.text}; {why}.")
    notes += remarks(net)
    notes += [f"Not as it has to be: {problem}" for problem in structure_problems(net)]
    return notes


def specification_notes(kept: Iterable[Kept], *, plain: bool | None = None) -> list[str]:
    """Say what was kept of a specification beside its nets; `plain` is of a `specificationSet`, whether nobody else has written it."""
    known = OF_SPECIFICATIONS if plain is None else of_set(plain=plain)
    broken, rest = _extended(kept, lambda _: known, lambda _: "the specification")
    return [*noted(rest), *broken]


def _why(text: str, root: str) -> str:
    for one in _elements(text):
        try:
            from_xpath(one.text, root)
        except BeyondError as error:
            return str(error)
    return "it is empty"


def _elements(text: str) -> list[Element]:
    """Give the elements of what was kept; what was broken since is told when it is to be put back."""
    try:
        return [one for one in nodes_of(text) if isinstance(one, Element)]
    except WorkflowError:
        return []


def _extended(
    kept: Iterable[Kept],
    known: Callable[[str], Collection[str]],
    called: Callable[[str], str],
    nodes: Collection[str] = (),
) -> tuple[list[str], list[Kept]]:
    """Say which extended attributes look like ours and are not; and give all that was kept but those."""
    notes: list[str] = []
    rest: list[Kept] = []
    for one in kept:
        if one.name != "extendedAttributes":
            rest.append(one)
            continue
        for element in _elements(one.text):
            found, more = not_read(element, known(one.at), nodes)
            for key, value, why in found:
                shown = value if len(value) <= _MOST_SHOWN else f"{value[:_MOST_SHOWN]}…"
                notes.append(
                    f"Kept, and not read: the extended attribute {key!r} of {called(one.at)}, {shown!r}. {why}"
                )
            rest += [one] if more else []
    return notes, rest


def _known(net: Net, at: str) -> tuple[str, ...]:
    if not at:
        return OF_NETS
    if at in net.tasks:
        return OF_TASKS
    return OF_CONDITIONS if at in net.conditions else OF_FLOWS
