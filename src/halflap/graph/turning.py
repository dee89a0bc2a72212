"""Pages that are counted: a result says how much there is, and the call takes where to begin, or the number of a page."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from halflap.graph.edge import Evidence, Link
from halflap.graph.ports import is_boolean
from halflap.graph.words import phrase, words_of

if TYPE_CHECKING:
    from halflap.graph.edge import Path, Place, Ports, Slot

__all__ = ["Turning", "counted_pages", "outer_arrays", "turning_of"]

_SURE = 0.8
"""Less than a cursor: where there is one, it is what leads on."""
_NUMERIC = frozenset({"integer", "number"})
_OFFSETS = frozenset({"offset", "skip"})
_NUMBERS = frozenset({"page", "page number"})
_TOTALS = frozenset(
    {
        "total", "total count", "total result", "total item", "total record", "total hit", "total number", "total size",
        "total element", "total entry", "count total", "result total",
    }
)  # fmt: skip
_PAGES = frozenset({"total page", "page count", "page total", "number page", "total page count"})
_MORE = frozenset(
    {"has more", "has next", "has next page", "more", "has more page", "has more result", "more available"}
)


@dataclass(frozen=True, slots=True)
class Turning:
    """How one gets from a page to the next."""

    by: Literal["items", "pages"]
    """Whether the call takes how many items, or the number of the page."""
    tells: Literal["items", "pages", "more"]
    """Whether a page tells how many items there are, how many pages, or only that there are more."""
    first: int = 0
    """The number of the first page."""


def counted_pages(ports: Ports) -> list[Link]:
    """Give the links from what says how much there is to what says which part is asked for; one list has to be meant."""
    if len(outer_arrays(ports)) != 1:
        return []
    return [
        Link(place.path, slot.path, _SURE, (Evidence("words", _SURE, _detail(place, slot)),))
        for slot in ports.slots
        for place in ports.places
        if turning_of(ports, place.path, slot.path) is not None
    ][:1]


def turning_of(ports: Ports, source: Path, target: Path) -> Turning | None:  # noqa: PLR0911 -- one for each reason
    """Say how pages are turned by a place and a slot, if they are counted."""
    slot = next((one for one in ports.slots if one.path == target), None)
    place = next((one for one in ports.places if one.path == source), None)
    if slot is None or place is None or len(target) != 1 or slot.parameter in ports.required:
        return None
    if slot.type.kind not in _NUMERIC or not source or any(step.kind != "key" for step in source):
        return None
    asked, told = _name(target), _name(source)
    by: Literal["items", "pages"] | None = (
        "items" if asked in _OFFSETS else "pages" if asked in _NUMBERS else None
    )
    if by is None:
        return None
    first = slot.default if type(slot.default) is int and slot.default in {0, 1} else 1
    if told in _MORE and is_boolean(place.type):
        return Turning(by, "more", first)
    if place.type.kind not in _NUMERIC:
        return None
    if told in _TOTALS:
        return Turning(by, "items", first)
    return Turning(by, "pages", first) if told in _PAGES else None


def outer_arrays(ports: Ports) -> tuple[Path, ...]:
    """Give the outermost arrays of what a tool returns."""
    found: dict[Path, None] = {}
    for place in ports.places:
        first = next((at for at, step in enumerate(place.path) if step.kind != "key"), None)
        if first and place.path[first].kind == "each":
            found[place.path[:first]] = None
    return tuple(found)


def _detail(place: Place, slot: Slot) -> str:
    return f"the {_name(place.path)} says whether there is more to ask for by {_name(slot.path)}"


def _name(path: Path) -> str:
    return phrase(words_of(path[-1].key))
