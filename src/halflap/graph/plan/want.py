"""What is wanted: a tool by its name, or a field that tools return."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from halflap.graph.naming import words_of
from halflap.graph.paths import many
from halflap.graph.workflow import Target

if TYPE_CHECKING:
    from halflap.graph.edges import Graph
    from halflap.graph.edges.evidence import Returned

__all__ = ["field_places", "target_of"]

_SAME, _BARE, _TAIL = 1.0, 0.9, 0.6
"""How well a field fits: the whole name, one word that many things may have, or only the last word of its name."""
_OPTIONAL = 0.8


def target_of(graph: Graph, text: str) -> Target:
    """Read what is wanted: a tool by any name that only it has, otherwise a field."""
    if text in graph.tools:
        return Target("tool", text)
    named = [one.tool for one in graph.tools.values() if one.original_name == text]
    return Target("tool", named[0]) if len(named) == 1 else Target("field", text)


def field_places(graph: Graph, text: str) -> Iterator[tuple[Returned, float]]:
    """Yield for each tool that returns a field its best place, and how well the name fits."""
    wanted = words_of(text)
    best: dict[str, tuple[float, int, int, Returned]] = {}
    for given in graph.index.every() if wanted else ():
        if not any(own.words[-1:] == wanted[-1:] for own in given.identities):
            continue
        fit = _fit(wanted, given)
        if fit and given.place.is_optional:
            fit *= _OPTIONAL
        path = given.place.path
        rank = (fit, -many(path), -len(path))
        if fit and (given.tool not in best or rank > best[given.tool][:3]):
            best[given.tool] = (*rank, given)
    yield from ((given, fit) for fit, _, _, given in best.values())


def _fit(wanted: tuple[str, ...], given: Returned) -> float:
    keys = words_of(" ".join(step.key for step in given.place.path if step.kind == "key"))
    for own in given.identities:
        if own.words == wanted:
            return _SAME if len(wanted) > 1 else _BARE
        if len(wanted) > 1 and (
            (*own.thing, *own.words[-1:])[-len(wanted) :] == wanted or keys[-len(wanted) :] == wanted
        ):
            return _SAME
    return _TAIL if len(wanted) == 1 else 0.0
