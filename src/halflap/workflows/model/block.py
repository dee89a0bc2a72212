"""The tree of a workflow: steps in sequence, in branches and in loops.

A block has one entry and one exit. It keeps the nodes whose gates it was made from, so that unchanged parts are rebuilt as they
were. Blocks are values with a cached hash, since analysis and search cache their results by block.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import wraps
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple, TypeGuard, TypeVar

if TYPE_CHECKING:
    from halflap.workflows.model.net import Flow, Gate

T = TypeVar("T")
S = TypeVar("S")


class Choice(NamedTuple):
    """When a branch is taken, as its flow states it."""

    predicate: str | None = None
    probability: float | None = None
    default: bool = False
    order: int | None = None
    flows: int = 1
    """How many flows of the gate it covers: more than one where some of its branches form a block."""
    rank: int = -1
    """The position of its first flow in the net."""

    @classmethod
    def of(cls, flow: Flow, rank: int = -1) -> Choice:
        return cls(flow.predicate, flow.probability, flow.default, flow.order, 1, rank)

    @classmethod
    def together(cls, choices: Collection[Choice]) -> Choice:
        """Return the choice of any one of these."""
        known = [one.probability for one in choices if one.probability is not None]
        chance = sum(known) if len(known) == len(choices) else None
        rank = min((one.rank for one in choices), default=-1)
        return cls(probability=chance, flows=sum(one.flows for one in choices), rank=rank)

    @property
    def weight(self) -> float:
        return float(self.flows) if self.probability is None else self.probability

    @property
    def decides(self) -> bool:
        """Whether a run evaluates it, at this gate and in this order."""
        return self.predicate is not None or self.default or self.order is not None


PLAIN = Choice()


def shares(choices: Iterable[Choice]) -> list[float]:
    """Return the probability of each branch of an exclusive choice."""
    weights = [one.weight for one in choices]
    whole = sum(weights)
    return [weight / whole for weight in weights] if whole > 0 else [1 / len(weights)] * len(weights)


def or_chances(choices: Collection[Choice]) -> list[float]:
    """Return the probability of each branch of an or-split, independent of the others; one must be taken."""
    found = [0.5 if one.probability is None else one.probability for one in choices]
    if any(found):
        return found
    default = next((at for at, one in enumerate(choices) if one.default), 0)
    return [float(at == default) for at in range(len(found))]


@dataclass(frozen=True, eq=False)
class Block:
    """Part of a workflow with one entry and one exit."""

    parts: tuple[Block, ...] = ()

    def __post_init__(self) -> None:
        key = (type(self), *vars(self).values())
        inside = max((part.depth for part in self.parts), default=0)
        vars(self).update(_key=key, _hash=hash(key), _depth=inside + isinstance(self, Branches | Loop))

    def __hash__(self) -> int:
        return vars(self)["_hash"]  # type: ignore[no-any-return]

    def __eq__(self, other: object) -> bool:
        return self is other or (
            isinstance(other, Block)
            and hash(self) == hash(other)
            and bool(vars(self)["_key"] == vars(other)["_key"])
        )

    @property
    def depth(self) -> int:
        """How many blocks are nested; a sequence does not count."""
        return vars(self)["_depth"]  # type: ignore[no-any-return]

    def with_parts(self, parts: Iterable[Block]) -> Block:
        return replace(self, parts=tuple(parts))


@dataclass(frozen=True, eq=False)
class Step(Block):
    """A task without its gates, or a named condition."""

    node: str = ""


@dataclass(frozen=True, eq=False)
class Sequence(Block):
    """One after the other; never one sequence in another, and never a single part."""

    def with_parts(self, parts: Iterable[Block]) -> Block:
        return sequence(parts)


@dataclass(frozen=True, eq=False)
class Branches(Block):
    """A split, its branches, and the join of the same kind that ends them."""

    kind: Gate = "xor"
    choices: tuple[Choice, ...] = ()
    """One for each branch."""
    split: str | None = None
    """The node whose gate it was; None for a new gate."""
    join: str | None = None
    partial: bool = False
    """Whether the gate has other branches too, so that its predicates have to be read with those."""

    @property
    def chances(self) -> list[float]:
        """The probability that each branch is taken; of an or-split independent of the others."""
        if self.kind == "and":
            return [1.0] * len(self.parts)
        if self.kind == "xor":
            return shares(self.choices)
        return or_chances(self.choices)


@dataclass(frozen=True, eq=False)
class Loop(Block):
    """A body, and what is done on the way back to it: the two parts."""

    choices: tuple[Choice, ...] = (PLAIN, PLAIN)
    """Of leaving, and of going back."""
    split: str | None = None
    join: str | None = None

    @property
    def back(self) -> float:
        """The probability of the way back."""
        return shares(self.choices)[1]


class Mismatch(NamedTuple):
    """A split whose branches meet in a join of another kind."""

    split: str
    split_kind: Gate
    join: str
    join_kind: Gate


@dataclass(frozen=True, eq=False)
class Unstructured(Block):
    """A whole net that is not block-structured: its maximal blocks, and the gates between them."""

    gates: tuple[str, ...] = ()
    """The nodes with these gates, as listed in the net."""
    mismatches: tuple[Mismatch, ...] = ()


NOTHING = Sequence()


def sequence(parts: Iterable[Block]) -> Block:
    flat = tuple(chain.from_iterable(map(parts_of, parts)))
    return flat[0] if len(flat) == 1 else Sequence(flat)


def parallel(parts: Iterable[Block]) -> Block:
    """Return blocks in parallel, without parallel blocks directly within."""
    flat: list[Block] = []
    for part in parts:
        flat += part.parts if is_parallel(part) else (part,)
    return Branches(tuple(flat), "and", (PLAIN,) * len(flat)) if len(flat) > 1 else sequence(flat)


def parts_of(block: Block) -> tuple[Block, ...]:
    """Return what is done one after the other; any other block is its only part."""
    return block.parts if isinstance(block, Sequence) else (block,)


def is_parallel(block: Block) -> TypeGuard[Branches]:
    return isinstance(block, Branches) and block.kind == "and"


def is_choice(block: Block) -> bool:
    """Return whether something is chosen: an xor- or or-split, or a loop."""
    return isinstance(block, Loop) or (isinstance(block, Branches) and not is_parallel(block))


def blocks_in(block: Block) -> Iterator[Block]:
    """Yield a block and everything within it."""
    yield block
    for part in block.parts:
        yield from blocks_in(part)


def steps_of(block: Block) -> list[str]:
    """Return the nodes of a block, from left to right."""
    return [one.node for one in blocks_in(block) if isinstance(one, Step)]


def mapped(block: Block, change: Callable[[Block], Block]) -> Block:
    """Return a block with everything in it changed, from the inside out."""
    return change(block.with_parts(mapped(part, change) for part in block.parts) if block.parts else block)


def remembered(method: Callable[[S, Block], T]) -> Callable[[S, Block], T]:
    """Cache the results of a method of one block, for each object and block."""
    name = f"_{method.__name__}_of"

    @wraps(method)
    def found(self: S, block: Block) -> T:
        known: dict[Block, T] = self.__dict__.setdefault(name, {})
        if block not in known:
            known[block] = method(self, block)
        return known[block]

    return found
