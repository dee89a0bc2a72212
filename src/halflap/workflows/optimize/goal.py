"""The goal of an optimisation, and its constraints."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Annotated, ClassVar

from pydantic import ConfigDict, Field

from halflap.workflows.answers import Target  # noqa: TC001 -- pydantic reads it
from halflap.workflows.model.net import STRICT, Net
from halflap.workflows.score.patterns import Pattern  # noqa: TC001 -- pydantic reads it


@dataclass(frozen=True)
class Constraints:
    """Limits on an optimisation."""

    __pydantic_config__: ClassVar[ConfigDict] = STRICT
    max_parallel: Annotated[int, Field(ge=1)] | None = None
    """How many tasks may run at the same time."""
    keep_order: tuple[tuple[str, str], ...] = ()
    """Pairs of tasks that keep their order."""
    fixed: tuple[str, ...] = ()
    """Tasks that are not moved."""

    def problems(self, net: Net) -> Iterator[tuple[str, str]]:
        """Yield the names that are not tasks of a workflow."""
        named = [(f"fixed[{at}]", task) for at, task in enumerate(self.fixed)]
        named += [(f"keep_order[{at}]", task) for at, pair in enumerate(self.keep_order) for task in pair]
        for path, task in named:
            if task not in net.tasks:
                yield f"constraints.{path}", f"There is no task {task!r}."


@dataclass(frozen=True)
class Goal:
    """The goal of an optimisation."""

    __pydantic_config__: ClassVar[ConfigDict] = STRICT
    optimization_target: Target
    constraints: Constraints = field(default_factory=Constraints)
    reference_patterns: tuple[Pattern, ...] = ()
