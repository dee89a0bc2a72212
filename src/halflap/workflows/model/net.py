"""A workflow: a net of tasks and conditions with one input and one output, after YAWL."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, ClassVar, Literal

from pydantic import ConfigDict, Field, PlainSerializer

from halflap.core.text import join

Gate = Literal["and", "xor", "or"]
Name = Annotated[str, Field(min_length=1, max_length=500, pattern=r"\S")]
Amount = Annotated[float | int, Field(ge=0, le=1e15, allow_inf_nan=False)]
Names = Annotated[frozenset[Annotated[str, Field(pattern=r"\S")]], PlainSerializer(sorted, list[str])]

_MAX_NAMED = 10
MAX_STATES = 100_000
"""States that are explored before an answer is inconclusive."""
FIXING = frozenset(
    {"timer", "minimum", "maximum", "threshold", "creationMode", "miDataInput", "miDataOutput"}
)
"""Kept elements of YAWL about when, or how often, a task is done."""
CANCELLATION = frozenset({"removesTokens", "removesTokensFromFlow"})
"""Kept elements of YAWL that concern other parts of the workflow too."""
STRICT = ConfigDict(extra="forbid", strict=True)


def quoted(names: Iterable[str]) -> str:
    """Return `'a', 'b' and 'c'`, for messages; of many, the first ones."""
    return join((f"'{name}'" for name in names), limit=_MAX_NAMED)


class _Strict:
    """A part of the JSON form."""

    __slots__ = ()
    __pydantic_config__: ClassVar[ConfigDict] = STRICT


@dataclass(frozen=True, slots=True)
class Task(_Strict):
    """Something that is done. Whatever is None is unknown, and nothing is concluded from it."""

    id: Name
    label: Annotated[
        Name | None,
        Field(
            description="What a trace shows. By default the id; null makes the task silent.",
            json_schema_extra=lambda schema: schema.pop("default", None) and None,
        ),
    ] = ""
    join: Annotated[Gate, Field(description="Which incoming flows it waits for.")] = "xor"
    split: Annotated[Gate, Field(description="Which outgoing flows it takes.")] = "and"
    duration: Annotated[Amount | None, Field(description="Seconds.")] = None
    cost: Amount | None = None
    reads: Annotated[Names | None, Field(description="Data it reads. Unknown: it depends on everything.")] = (
        None
    )
    writes: Annotated[
        Names | None, Field(description="Data it writes. Unknown: it depends on everything.")
    ] = None
    resource: Annotated[Name | None, Field(description="Who or what does it, one thing at a time.")] = None
    idempotent: Annotated[bool | None, Field(description="Whether it can safely be done twice.")] = None
    tool: Annotated[Name | None, Field(description="The tool that a run calls.")] = None
    arguments: Annotated[
        Mapping[str, Any] | None, Field(description='Values, and references such as {"from": "task.key"}.')
    ] = field(default=None, hash=False)
    limit: Annotated[
        int | None, Field(ge=1, description="How often a run may do it: the bound of its loops.")
    ] = None

    def __post_init__(self) -> None:
        if self.label == "":
            object.__setattr__(self, "label", self.id)


@dataclass(frozen=True, slots=True)
class Condition(_Strict):
    """A place where a token waits. Several flows out of one are a deferred choice."""

    id: Name
    label: Name | None = None


@dataclass(frozen=True, slots=True)
class Flow(_Strict):
    """An arrow. Between two tasks it contains an unnamed condition."""

    source: Annotated[Name, Field(alias="from")]
    target: Annotated[Name, Field(alias="to")]
    predicate: Annotated[str | None, Field(description="When an xor- or or-split takes it.")] = None
    probability: Annotated[float | int | None, Field(ge=0, le=1, allow_inf_nan=False)] = None
    default: Annotated[bool, Field(description="Taken if no predicate holds.")] = False
    order: Annotated[
        int | None, Field(description="Predicates are evaluated in this order, then as listed.")
    ] = None

    @property
    def key(self) -> str:
        """How `Kept.at` names it."""
        return f"{self.source} -> {self.target}"


@dataclass(frozen=True, slots=True)
class OrderRule(_Strict):
    """precedence: `first` is done before any `then`. response: `then` is done after every `first`."""

    kind: Literal["precedence", "response"]
    first: Name
    then: Name

    @property
    def tasks(self) -> tuple[str, ...]:
        return self.first, self.then


@dataclass(frozen=True, slots=True)
class PairRule(_Strict):
    """exclusion: no case has both tasks. separation_of_duties: they have different resources."""

    kind: Literal["exclusion", "separation_of_duties"]
    tasks: tuple[Name, Name]


@dataclass(frozen=True, slots=True)
class RequiredRule(_Strict):
    """Every case has the task."""

    kind: Literal["required"]
    task: Name

    @property
    def tasks(self) -> tuple[str, ...]:
        return (self.task,)


Rule = Annotated[OrderRule | PairRule | RequiredRule, Field(discriminator="kind")]


@dataclass(frozen=True, slots=True)
class Kept(_Strict):
    """Something about a part of the net that the model cannot express, such as a timer or an XPath predicate."""

    name: str
    text: str
    at: Annotated[
        str, Field(description="A task or condition, `from -> to` of a flow, or empty for the net.")
    ] = ""


@dataclass(frozen=True, slots=True)
class Net:
    """One token in `input` begins a case; it is complete with one token in `output` and none elsewhere."""

    id: str
    input: str
    output: str
    tasks: Mapping[str, Task] = field(hash=False)
    conditions: Mapping[str, Condition] = field(hash=False)
    """The named ones, including input and output."""
    flows: tuple[Flow, ...]
    rules: tuple[Rule, ...] = ()
    kept: tuple[Kept, ...] = ()
    notes: tuple[str, ...] = ()
    """What a reader should know, such as what was kept and does not count for behaviour."""
    label: str | None = None
    subnets: tuple[Net, ...] = ()
    """The nets that its tasks decompose to. A task that does is one task in traces; soundness covers both."""

    def outgoing(self) -> dict[str, list[Flow]]:
        """Return the flows out of each node, as listed."""
        found: dict[str, list[Flow]] = {node: [] for node in (*self.conditions, *self.tasks)}
        for flow in self.flows:
            found[flow.source].append(flow)
        return found

    def incoming(self) -> dict[str, list[Flow]]:
        """Return the flows into each node, as listed."""
        found: dict[str, list[Flow]] = {node: [] for node in (*self.conditions, *self.tasks)}
        for flow in self.flows:
            found[flow.target].append(flow)
        return found

    def chooses(self, node: str, flows: list[Flow]) -> bool:
        """Return whether a choice is made among the flows out of a node."""
        return len(flows) > 1 and (node in self.conditions or self.tasks[node].split != "and")


@dataclass(frozen=True, slots=True)
class Specification:
    """A root net with the nets that its tasks decompose to."""

    id: str
    root: str
    nets: Mapping[str, Net] = field(hash=False)
    notes: tuple[str, ...] = ()
    yawl: str | None = None
    """The XML it came from: everything that nets cannot express is written back from it."""

    @property
    def net(self) -> Net:
        """The root net, with the others as its sub-nets."""
        root = self.nets[self.root]
        return replace(root, subnets=tuple(net for net in self.nets.values() if net is not root))

    @classmethod
    def of(cls, net: Net) -> Specification:
        return cls(net.id, net.id, {net.id: net})
