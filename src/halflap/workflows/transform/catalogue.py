"""The transformations by name, and whether each keeps the traces."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from halflap.workflows.model.block import Block, stretches
from halflap.workflows.model.build import build
from halflap.workflows.model.reduce import tree_of
from halflap.workflows.transform.constraints import Constraints, Ground
from halflap.workflows.transform.parallel import parallelise, serialise
from halflap.workflows.transform.tidy import drop_duplicates, flatten, remove_silent

if TYPE_CHECKING:
    from halflap.workflows.model.net import Net

Rule = Callable[[Ground, Block], Iterable[tuple[Block, str]]]
"""What can be made of a block, each with what was done."""


@dataclass(frozen=True, slots=True)
class Transformation:
    """A change; applied, it yields each tree that it can make of one."""

    name: str
    keeps_traces: bool
    rule: Rule
    everywhere: bool = False
    """Whether the rule is applied to each branch in the tree, not to the whole of it."""

    def changes(self, ground: Ground, tree: Block) -> Iterator[tuple[Block, str]]:
        rule = partial(self.rule, ground)
        found = stretches(tree, rule) if self.everywhere else rule(tree)
        return ((new, what) for new, what in found if new != tree)


TRANSFORMATIONS: Mapping[str, Transformation] = {
    one.name: one
    for one in (
        Transformation("remove_silent", True, remove_silent),
        Transformation("flatten", True, flatten),
        Transformation("drop_duplicates", False, drop_duplicates),
        Transformation("parallelise", False, parallelise, everywhere=True),
        Transformation("serialise", False, serialise),
    )
}


def transformed(name: str, net: Net, constraints: Constraints | None = None) -> list[tuple[Net, str]]:
    """Return every workflow that one transformation makes of this one, with what was done."""
    tree = tree_of(net)
    ground = Ground.of(net, tree, constraints or Constraints())
    if ground.facts.untouchable is not None:
        return []
    found: dict[Block, str] = {}
    for new, what in TRANSFORMATIONS[name].changes(ground, tree):
        found.setdefault(new, what)
    made = [(build(net, new), what) for new, what in found.items()]
    return [(one, what) for one, what in made if one != net]
