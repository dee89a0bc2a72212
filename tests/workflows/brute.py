"""Nets as the oracle of the acceptance tests sees them, and their traces by enumeration."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hypothesis import reject

from acceptance.figures_oracle import BEGIN, DONE, Behaviour, TooLargeError, behaviour

if TYPE_CHECKING:
    from acceptance.figures_oracle import Marking
    from halflap.workflows.model.net import Net

Word = tuple[str, ...]


def behaviour_of(net: Net) -> Behaviour:
    """Return the behaviour of a net, whose or-gates have to be those of `block_net`; a large one is no example."""
    found = {
        "tasks": [
            {"id": task.id, "label": task.label, "join": task.join, "split": task.split}
            for task in net.tasks.values()
        ],
        "conditions": [{"id": name} for name in net.conditions],
        "flows": [{"from": flow.source, "to": flow.target} for flow in net.flows],
    }
    try:
        return behaviour(found)
    except TooLargeError:
        reject()


def traces(found: Behaviour, longest: int) -> set[Word]:
    """Return all complete traces up to a length."""
    start: tuple[Word, Marking] = ((), BEGIN)
    seen = {start} if BEGIN in found.steps else set()
    waiting = list(seen)
    for word, here in waiting:
        for label, after in found.steps[here]:
            new = (word if label is None else (*word, label), after)
            if len(new[0]) <= longest and new not in seen:
                seen.add(new)
                waiting.append(new)
    return {word for word, here in seen if here == DONE}
