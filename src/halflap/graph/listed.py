"""The lists of a result: which there are, and which of them a tool is asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from halflap.graph.subject import subject_of
from halflap.graph.vocabulary import CONTAINERS
from halflap.graph.words import words_of

if TYPE_CHECKING:
    from halflap.graph.edge import Path, Ports

__all__ = ["lists_all", "main_list", "only_list", "outer_arrays"]


_LISTS = frozenset({"list", "all", "every", "each"})


def lists_all(ports: Ports) -> bool:
    """Say whether a tool's name promises all that there are: of what is searched for, the best will do."""
    return not _LISTS.isdisjoint(words_of(ports.original_name or ports.tool))


def main_list(ports: Ports) -> Path | None:
    """Give the list that a tool is asked for: the only one, or the one that is called as its things are, or only holds them.

    Beside it there may be warnings, say, or facets.
    """
    arrays = outer_arrays(ports)
    if len(arrays) < 2:  # noqa: PLR2004 -- nothing to choose from
        return arrays[0] if arrays else None
    thing = subject_of(ports.original_name or ports.tool, ports.server).thing
    called = [one for one in arrays if thing and words_of(one[-1].key) in (thing, thing[-1:])]
    called = called or [one for one in arrays if CONTAINERS.issuperset(words_of(one[-1].key))]
    return called[0] if len(called) == 1 else None


def only_list(ports: Ports) -> Path | None:
    """Give the one list that a tool returns, or that its result is."""
    arrays = outer_arrays(ports)
    if arrays:
        return arrays[0] if len(arrays) == 1 else None
    is_root = any(one.path for one in ports.places) and all(
        one.path[0].kind == "each" for one in ports.places if one.path
    )
    return () if is_root else None


def outer_arrays(ports: Ports) -> tuple[Path, ...]:
    """Give the outermost arrays of what a tool returns."""
    found: dict[Path, None] = {}
    for place in ports.places:
        first = next((at for at, step in enumerate(place.path) if step.kind != "key"), None)
        if first and place.path[first].kind == "each":
            found[place.path[:first]] = None
    return tuple(found)
