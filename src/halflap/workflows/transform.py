"""The changes that there are to a workflow, by name: what each does, and whether the traces stay the same."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from halflap.workflows.constraints import Constraints
from halflap.workflows.pieces.putting import net_of
from halflap.workflows.pieces.taking import layout_of
from halflap.workflows.transforming.arranging import parallelise, serialise
from halflap.workflows.transforming.filtering import filter_first
from halflap.workflows.transforming.ground import Ground
from halflap.workflows.transforming.merging import merge_identical
from halflap.workflows.transforming.repeating import drop_duplicates
from halflap.workflows.transforming.tidying import flatten, remove_dead, remove_silent

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from halflap.workflows.net import Net
    from halflap.workflows.pieces.piece import Layout
    from halflap.workflows.transforming.ground import Changed

__all__ = ["TRANSFORMATIONS", "Transformation", "transformed"]


@dataclass(frozen=True, slots=True)
class Transformation:
    """A change that can be made; made, it gives each workflow that it can make of one, and leaves that as it was."""

    name: str
    keeps_traces: bool
    changes: Callable[[Ground, Layout], Iterator[Changed]]


TRANSFORMATIONS: Mapping[str, Transformation] = {
    one.name: one
    for one in (
        Transformation("remove_dead", True, remove_dead),
        Transformation("remove_silent", True, remove_silent),
        Transformation("flatten", True, flatten),
        Transformation("merge_identical", True, merge_identical),
        Transformation("drop_duplicates", False, drop_duplicates),
        Transformation("filter_first", False, filter_first),
        Transformation("parallelise", False, parallelise),
        Transformation("serialise", False, serialise),
    )
}


def transformed(name: str, net: Net, constraints: Constraints | None = None) -> list[tuple[Net, str]]:
    """Give every workflow that one transformation can make of this one, with what was done."""
    wanted = constraints or Constraints()
    ground = Ground(wanted.facts(net), wanted)
    if ground.facts.untouchable is not None:
        return []
    layout = layout_of(net)
    found: dict[Layout, str] = {}
    for new, what in TRANSFORMATIONS[name].changes(ground, layout):
        found.setdefault(new, what)
    made = [(net_of(net, new), what) for new, what in found.items()]
    return [(one, what) for one, what in made if one != net]
