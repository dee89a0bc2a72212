"""The tree of a block-structured workflow: steps in sequence, in branches and in loops. The only tree there is.

A block remembers the nodes whose gates it was made from, so that what is not changed is built as it was. Blocks are values: equal blocks do
the same with the same tasks. They keep their hash, since search remembers what it found by block.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import wraps
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple, TypeVar

if TYPE_CHECKING:
    from halflap.workflows.model.net import Flow, Gate

T = TypeVar("T")
S = TypeVar("S")

__all__ = [
    "NOTHING",
    "PLAIN",
    "Block",
    "Branches",
    "Change",
    "Choice",
    "Corner",
    "Link",
    "Loop",
    "Sequence",
    "Step",
    "Structure",
    "Walk",
    "Way",
    "blocks_in",
    "depth",
    "inner",
    "mapped",
    "parts_of",
    "remembered",
    "replaced",
    "rewritten",
    "sequence",
    "steps_of",
    "stretches",
]


class Choice(NamedTuple):
    """What a flow states about when it is taken."""

    predicate: str | None = None
    probability: float | None = None
    default: bool = False
    order: int | None = None

    @classmethod
    def of(cls, flow: Flow) -> Choice:
        return cls(flow.predicate, flow.probability, flow.default, flow.order)

    @property
    def decides(self) -> bool:
        """Whether a run needs it, at this gate and in this order."""
        return self.predicate is not None or self.default or self.order is not None


PLAIN = Choice()


@dataclass(frozen=True, slots=True)
class Step:
    """A task without its gates, or a named condition."""

    node: str


class _Hashed:
    """Computes the hash of a frozen dataclass once."""

    __slots__ = ("_hash",)
    _hash: int

    def __hash__(self) -> int:
        return self._hash

    def _keep_hash(self, *fields: object) -> None:
        object.__setattr__(self, "_hash", hash(fields))


@dataclass(frozen=True, slots=True)
class Sequence(_Hashed):
    """One after the other; never one sequence in another, and never a single part."""

    parts: tuple[Block, ...]

    def __post_init__(self) -> None:
        self._keep_hash("sequence", self.parts)

    __hash__ = _Hashed.__hash__


@dataclass(frozen=True, slots=True)
class Way(_Hashed):
    """One of the ways out of a split."""

    block: Block
    weight: float = 1.0
    """Its probability, or 1 where none is given."""
    choice: Choice = PLAIN
    rank: int = field(default=0, compare=False)

    def __post_init__(self) -> None:
        self._keep_hash(self.block, self.weight, self.choice)

    __hash__ = _Hashed.__hash__


@dataclass(frozen=True, slots=True)
class Branches(_Hashed):
    """A split, its ways, and the join of the same kind that ends them."""

    kind: Gate
    ways: tuple[Way, ...]
    split: str | None = None
    """The node whose gate it was; None for a new gate."""
    join: str | None = None
    partial: bool = False
    """Whether the gate has other ways too, so that its predicates have to be read with those."""

    def __post_init__(self) -> None:
        self._keep_hash(self.kind, self.ways, self.split, self.join, self.partial)

    __hash__ = _Hashed.__hash__

    def with_block(self, at: int, block: Block) -> Branches:
        """Return the same with another block on one way."""
        return replace(self, ways=replaced(self.ways, at, replace(self.ways[at], block=block)))


@dataclass(frozen=True, slots=True)
class Loop(_Hashed):
    """A body that is done once, and again each time after the way back was chosen."""

    body: Block
    again: Way
    leave: Choice = PLAIN
    leave_weight: float = 1.0
    split: str | None = None
    join: str | None = None

    def __post_init__(self) -> None:
        self._keep_hash(self.body, self.again, self.leave, self.leave_weight, self.split, self.join)

    __hash__ = _Hashed.__hash__

    @property
    def ways(self) -> tuple[Way, Way]:
        """The way back and the way out."""
        return self.again, Way(NOTHING, self.leave_weight, self.leave)


Block = Step | Sequence | Branches | Loop
NOTHING = Sequence(())
Change = Callable[[Block], Iterable[tuple[Block, str]]]
"""What can be made of a block, each with a description of what was done."""


def remembered(method: Callable[[S, Block], T]) -> Callable[[S, Block], T]:
    """Let a method of one block compute its answer once for each object and block."""
    name = f"_{method.__name__}_of"

    @wraps(method)
    def found(self: S, block: Block) -> T:
        known: dict[Block, T] = self.__dict__.setdefault(name, {})
        if block not in known:
            known[block] = method(self, block)
        return known[block]

    return found


# The whole --------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Corner:
    """A gate that is in no block."""

    node: str
    kind: Gate
    joins: bool


@dataclass(frozen=True, slots=True)
class Link:
    """What is done between two corners, by their positions."""

    source: int
    target: int
    way: Way


@dataclass(frozen=True, slots=True)
class Structure(_Hashed):
    """A whole net: of a block-structured one a single link from the input to the output."""

    corners: tuple[Corner, ...]
    links: tuple[Link, ...]

    def __post_init__(self) -> None:
        self._keep_hash(self.corners, self.links)

    __hash__ = _Hashed.__hash__

    @property
    def block(self) -> Block | None:
        """The whole as one block, if the net is block-structured."""
        return self.links[0].way.block if len(self.links) == 1 else None

    @property
    def blocks(self) -> list[Block]:
        return [link.way.block for link in self.links]

    def with_blocks(self, blocks: Iterable[Block]) -> Structure:
        """Return the same with other blocks, one for each link."""
        pairs = zip(self.links, blocks, strict=True)
        return Structure(
            self.corners, tuple(replace(link, way=replace(link.way, block=block)) for link, block in pairs)
        )

    def rewritten(self, change: Change, walk: Walk) -> Iterator[tuple[Structure, str]]:
        """Yield the structure with each change of one block, wherever `walk` goes."""
        blocks = self.blocks
        for at, block in enumerate(blocks):
            for new, what in walk(block, change):
                if new != block:
                    yield self.with_blocks(replaced(blocks, at, new)), what


Walk = Callable[[Block, Change], Iterator[tuple[Block, str]]]


# Parts ------------------------------------------------------------------------------------------------


def replaced(listed: Iterable[T], at: int, new: T) -> tuple[T, ...]:
    found = list(listed)
    found[at] = new
    return tuple(found)


def parts_of(block: Block) -> tuple[Block, ...]:
    """Return what is done one after the other; any other block is its only part."""
    return block.parts if isinstance(block, Sequence) else (block,)


def sequence(parts: Iterable[Block]) -> Block:
    flat = tuple(chain.from_iterable(map(parts_of, parts)))
    return flat[0] if len(flat) == 1 else Sequence(flat)


def inner(block: Block) -> tuple[Block, ...]:
    """Return the blocks directly within a block."""
    match block:
        case Step():
            return ()
        case Sequence(parts):
            return parts
        case Branches():
            return tuple(way.block for way in block.ways)
        case Loop():
            return (block.body, block.again.block)


def blocks_in(block: Block) -> Iterator[Block]:
    """Yield a block and everything within it."""
    yield block
    for part in inner(block):
        yield from blocks_in(part)


def steps_of(block: Block) -> Iterator[str]:
    """Yield the nodes of a block, from left to right."""
    if isinstance(block, Step):
        yield block.node
    for part in inner(block):
        yield from steps_of(part)


def depth(block: Block) -> int:
    """Return how many blocks are nested; a sequence does not count."""
    nested = max(map(depth, inner(block)), default=0)
    return nested + isinstance(block, Branches | Loop)


def mapped(block: Block, change: Callable[[Block], Block]) -> Block:
    """Return a block with everything in it changed, from the inside out."""
    if isinstance(block, Sequence):
        block = sequence(mapped(part, change) for part in block.parts)
    elif isinstance(block, Branches):
        ways = (replace(way, block=mapped(way.block, change)) for way in block.ways)
        block = replace(block, ways=tuple(ways))
    elif isinstance(block, Loop):
        again = replace(block.again, block=mapped(block.again.block, change))
        block = replace(block, body=mapped(block.body, change), again=again)
    return change(block)


def rewritten(block: Block, change: Change) -> Iterator[tuple[Block, str]]:
    """Yield the block with each change of itself, then of anything within it, one at a time."""
    yield from change(block)
    if isinstance(block, Sequence):
        for at, part in enumerate(block.parts):
            for new, what in rewritten(part, change):
                yield sequence(replaced(block.parts, at, new)), what
    else:
        yield from _within(block, change, rewritten)


def stretches(block: Block, change: Change) -> Iterator[tuple[Block, str]]:
    """Yield the block with each change of the whole of it, then of the whole of each branch within it."""
    yield from change(block)
    parts = parts_of(block)
    for at, part in enumerate(parts):
        for new, what in _within(part, change, stretches):
            yield sequence(replaced(parts, at, new)), what


def _within(block: Block, change: Change, walk: Walk) -> Iterator[tuple[Block, str]]:
    if isinstance(block, Branches):
        for at, way in enumerate(block.ways):
            for new, what in walk(way.block, change):
                yield block.with_block(at, new), what
    elif isinstance(block, Loop):
        for new, what in walk(block.body, change):
            yield replace(block, body=new), what
        for new, what in walk(block.again.block, change):
            yield replace(block, again=replace(block.again, block=new)), what
