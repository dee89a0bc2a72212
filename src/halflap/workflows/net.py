"""What a workflow is: a net of tasks and conditions with one way in and one way out, after YAWL."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = [
    "ITEM",
    "RULE_KINDS",
    "Bound",
    "Condition",
    "Flow",
    "Gate",
    "Kept",
    "Net",
    "Rule",
    "RuleKind",
    "Task",
]

Gate = Literal["and", "xor", "or"]
"""How a task takes tokens (join), and how it gives them (split)."""

ITEM = "each"
"""What the item is known by in the arguments of a task that is done for each of a list."""

RuleKind = Literal["precedence", "response", "exclusion", "separation_of_duties", "required"]

RULE_KINDS: Mapping[RuleKind, int] = {
    "precedence": 2,
    "response": 2,
    "exclusion": 2,
    "separation_of_duties": 2,
    "required": 1,
}
"""How many tasks each kind of rule names."""


@dataclass(frozen=True, slots=True)
class Task:
    """Something that is done. What is not known of it is None, and nothing is concluded from that."""

    id: str
    label: str | None
    """What is seen of it in a trace; None for a silent one, of which nothing is."""
    join: Gate = "xor"
    split: Gate = "and"
    duration: float | None = None
    """Seconds."""
    cost: float | None = None
    reads: frozenset[str] | None = None
    """Names of data; None is not known, so that the task depends on everything."""
    writes: frozenset[str] | None = None
    resource: str | None = None
    """Who or what does it, one thing at a time."""
    idempotent: bool | None = None
    """Whether doing it twice is the same as doing it once."""
    tool: str | None = None
    """The tool that is called when the workflow is run."""
    arguments: Mapping[str, Any] | None = field(default=None, hash=False)
    limit: int | None = None
    """How often it may be done in one run: the bound of the loops that it is in. Behaviour is over control flow, and
    knows no bound."""
    each: Any = field(default=None, hash=False)
    """A list, or the reference to one: the tool is called for each item of it, and what it returned is a list."""


@dataclass(frozen=True, slots=True)
class Condition:
    """A place where a token waits. Several flows out of one are a deferred choice."""

    id: str
    label: str | None = None


@dataclass(frozen=True, slots=True)
class Flow:
    """An arrow. Between two tasks there is a condition in it that has no name."""

    source: str
    target: str
    predicate: str | None = None
    """When a split takes it, in the language of `predicates`; one in any other language is in `Net.kept`."""
    probability: float | None = None
    default: bool = False
    """It is taken if no other is."""
    order: int | None = None
    """Predicates of a split are looked at by this, then as the flows are listed."""


@dataclass(frozen=True, slots=True)
class Rule:
    """What has to hold of every case, over tasks by their ids.

    precedence (a, b): before b there is an a. response (a, b): after a there is a b. exclusion (a, b): never both.
    separation_of_duties (a, b): they have different resources. required (a): it is done in every case.
    """

    kind: RuleKind
    tasks: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Kept:
    """Something of another format that this model can't say: where it was, what it is called, and its text."""

    at: str
    """The id of the task or condition, `source -> target` of a flow, or nothing for the net itself."""
    name: str
    """The element's name; `@name` for an attribute; `predicate` for one in a language that is not ours."""
    text: str


@dataclass(frozen=True, slots=True)
class Bound:
    """How much may be looked at before an answer is given up as not conclusive."""

    states: int = 100_000
    seconds: float | None = None


@dataclass(frozen=True, slots=True)
class Net:
    """A workflow. One token in `input` begins a case; it is complete with one in `output` and none elsewhere."""

    id: str
    input: str
    output: str
    tasks: Mapping[str, Task] = field(hash=False)
    conditions: Mapping[str, Condition] = field(hash=False)
    """All that have names, the input and the output among them."""
    flows: tuple[Flow, ...]
    rules: tuple[Rule, ...] = ()
    kept: tuple[Kept, ...] = ()
    notes: tuple[str, ...] = ()
    """What a reader should know: what was kept and does not count for behaviour."""
    label: str | None = None

    def outgoing(self) -> dict[str, list[Flow]]:
        """Give the flows out of each node, as they are listed."""
        found: dict[str, list[Flow]] = {node: [] for node in (*self.conditions, *self.tasks)}
        for flow in self.flows:
            found[flow.source].append(flow)
        return found

    def incoming(self) -> dict[str, list[Flow]]:
        """Give the flows into each node, as they are listed."""
        found: dict[str, list[Flow]] = {node: [] for node in (*self.conditions, *self.tasks)}
        for flow in self.flows:
            found[flow.target].append(flow)
        return found
