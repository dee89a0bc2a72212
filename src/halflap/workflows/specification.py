"""A workflow with its sub-nets, as it came from a file of another format."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from html import unescape
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Container, Mapping

    from halflap.workflows.net import Kept, Net

__all__ = ["Dialect", "Specification", "made_of", "subnets"]

_MADE_OF = re.compile(r"\sid=\"([^\"]*)\"")

Dialect = Literal["specificationSet", "processModel"]
"""The two forms of YAWL that there are: of the schemas, and of files with a `processModel`."""


@dataclass(frozen=True, slots=True)
class Specification:
    """A root net, the nets that its tasks are made of, and what else there was."""

    id: str
    root: str
    nets: Mapping[str, Net] = field(hash=False)
    version: str | None = None
    """Of the schema that it was written for, if it says so."""
    dialect: Dialect = "specificationSet"
    kept: tuple[Kept, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def net(self) -> Net:
        """The root net."""
        return self.nets[self.root]


def made_of(net: Net, nets: Container[str]) -> list[tuple[str, str]]:
    """Give the tasks of a net that stand for one of the nets, each with the net."""
    found = []
    for one in net.kept:
        said = _MADE_OF.search(one.text) if one.name == "decomposesTo" else None
        if said is not None and unescape(said[1]) in nets:
            found.append((one.at, unescape(said[1])))
    return found


def subnets(specification: Specification) -> dict[tuple[str, str], str]:
    """Give the tasks that stand for a net, by net and task, with the net that each stands for."""
    return {
        (name, task): inner
        for name, net in specification.nets.items()
        for task, inner in made_of(net, specification.nets)
    }
