"""The transformations by name, and whether each keeps the traces."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from halflap.workflows.model.block import Block, Structure, Walk, rewritten, stretches
from halflap.workflows.model.build import build
from halflap.workflows.model.reduce import structure_of
from halflap.workflows.transform.choices import filter_first, merge_identical
from halflap.workflows.transform.constraints import Constraints
from halflap.workflows.transform.ground import Changed, Ground
from halflap.workflows.transform.parallel import parallelise, serialise
from halflap.workflows.transform.tidy import drop_duplicates, flatten, remove_dead, remove_silent

if TYPE_CHECKING:
    from halflap.workflows.model.net import Net

__all__ = ["TRANSFORMATIONS", "Transformation", "transformed"]

Changes = Callable[[Ground, Structure], Iterator[Changed]]


@dataclass(frozen=True, slots=True)
class Transformation:
    """A change; applied, it yields each workflow that it can make of one."""

    name: str
    keeps_traces: bool
    changes: Changes


def _local(rule: Callable[[Ground, Block], Iterator[tuple[Block, str]]], walk: Walk) -> Changes:
    """Apply a rule for one block wherever `walk` goes."""
    return lambda ground, structure: structure.rewritten(partial(rule, ground), walk)


TRANSFORMATIONS: Mapping[str, Transformation] = {
    one.name: one
    for one in (
        Transformation("remove_dead", True, remove_dead),
        Transformation("remove_silent", True, remove_silent),
        Transformation("flatten", True, flatten),
        Transformation("merge_identical", True, _local(merge_identical, rewritten)),
        Transformation("drop_duplicates", False, drop_duplicates),
        Transformation("filter_first", False, _local(filter_first, stretches)),
        Transformation("parallelise", False, _local(parallelise, stretches)),
        Transformation("serialise", False, _local(serialise, rewritten)),
    )
}


def transformed(name: str, net: Net, constraints: Constraints | None = None) -> list[tuple[Net, str]]:
    """Return every workflow that one transformation makes of this one, with what was done."""
    wanted = constraints or Constraints()
    ground = Ground(wanted.facts(net), wanted)
    if ground.facts.untouchable is not None:
        return []
    found: dict[Structure, str] = {}
    for new, what in TRANSFORMATIONS[name].changes(ground, structure_of(net)):
        found.setdefault(new, what)
    made = [(build(net, new), what) for new, what in found.items()]
    return [(one, what) for one, what in made if one != net]
