"""What an optimisation has to respect: max_cost, max_parallel, keep_order and fixed."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, ClassVar

from pydantic import ConfigDict, Field

from halflap.core.errors import WorkflowError
from halflap.workflows.analysis.order import first_order
from halflap.workflows.analysis.study import Study, Unknown
from halflap.workflows.model.net import Amount  # noqa: TC001 -- pydantic reads it
from halflap.workflows.score.facts import Facts
from halflap.workflows.transform.races import raced

if TYPE_CHECKING:
    from collections.abc import Iterator

    from halflap.workflows.model.net import Net

__all__ = ["Constraints"]


@dataclass(frozen=True)
class Constraints:
    """The constraints that were given."""

    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(extra="forbid", strict=True)
    max_cost: Amount | None = None
    """The mean cost of a case."""
    max_parallel: Annotated[int, Field(ge=1)] | None = None
    """How many tasks may be under way at once."""
    keep_order: bool | tuple[tuple[str, str], ...] = False
    """Nothing may be reordered or made parallel; or of each pair, the first task stays before the second."""
    fixed: tuple[str, ...] = ()
    """Tasks that are neither moved, merged nor dropped."""

    @property
    def ordered(self) -> tuple[tuple[str, str], ...]:
        return () if isinstance(self.keep_order, bool) else self.keep_order

    def facts(self, net: Net) -> Facts:
        return Facts(net, self.fixed, (*self.ordered, *raced(net)))

    def problems(self, net: Net) -> Iterator[tuple[str, str]]:
        """Yield what does not fit a workflow: unknown tasks, and orders that it does not have."""
        places: dict[str, tuple[str, ...]] = {
            f"constraints.fixed[{at}]": (task,) for at, task in enumerate(self.fixed)
        }
        places |= {f"constraints.keep_order[{at}]": pair for at, pair in enumerate(self.ordered)}
        can = _orders(net) if self.ordered else set()
        for path, tasks in places.items():
            unknown = [task for task in tasks if task not in net.tasks]
            first, then = tasks[0], tasks[-1]
            if unknown:
                yield path, f"There is no task {unknown[0]!r}."
            elif len(set(tasks)) < len(tasks):
                yield path, "It must be a pair of two tasks, [first, then]."
            elif (then, first) in can and (first, then) not in can:
                yield (
                    path,
                    f"In the workflow '{then}' comes before '{first}'. Swap the pair, or leave it out.",
                )

    def without_effect(self, net: Net) -> list[tuple[str, str]]:
        """Return the pairs for which the workflow has no order: either way round, or never both."""
        can = _orders(net) if self.ordered else set()
        pairs = self.ordered if can else ()
        return [(first, then) for first, then in pairs if ((first, then) in can) == ((then, first) in can)]


def _orders(net: Net) -> set[tuple[str, str]]:
    """Return the pairs of tasks of which the first can come before the first occurrence of the second."""
    tasks = {name: replace(task, label=name) for name, task in net.tasks.items()}
    try:
        found = first_order(Study(replace(net, tasks=tasks)))
    except WorkflowError:
        return set()
    return set() if isinstance(found, Unknown) else set(found.pairs())
