"""A workflow with its sub-nets, as it came from a file of another format."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from html import unescape
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Mapping

    from halflap.workflows.net import Kept, Net

__all__ = ["Dialect", "Specification", "subnets"]

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


def subnets(specification: Specification) -> dict[tuple[str, str], str]:
    """Give the tasks that stand for a net, by net and task, with the net that each stands for."""
    found: dict[tuple[str, str], str] = {}
    for name, net in specification.nets.items():
        for one in net.kept:
            made_of = _MADE_OF.search(one.text) if one.name == "decomposesTo" else None
            if made_of is not None and unescape(made_of[1]) in specification.nets:
                found[name, one.at] = unescape(made_of[1])
    return found
