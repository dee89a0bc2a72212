"""A workflow in pieces: what is done one after the other, side by side, by choice, and again.

A piece knows of each gate which task or condition it was taken from, so that what is not changed is put together
as it was. Pieces are values: two that are equal do the same with the same tasks. What has parts keeps its hash, since what is
found of a piece is remembered by it, and to go through all its parts each time would take longer than most of what is found.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

from halflap.workflows.block import EMPTY, Block

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from halflap.workflows.net import Gate

__all__ = [
    "NOTHING",
    "PLAIN",
    "Branching",
    "Change",
    "Corner",
    "Layout",
    "Link",
    "Loop",
    "Piece",
    "Said",
    "Series",
    "Step",
    "Way",
    "block_of",
    "parts_of",
    "series",
    "steps_of",
    "stretches",
    "within",
]


class Said(NamedTuple):
    """What a flow says of when it is taken."""

    predicate: str | None = None
    probability: float | None = None
    default: bool = False
    order: int | None = None

    @property
    def rules(self) -> bool:
        """Whether it matters, when the workflow is run, at which gate and in which order it stands."""
        return self.predicate is not None or self.default or self.order is not None


PLAIN = Said()


@dataclass(frozen=True, slots=True)
class Step:
    """One task, without its gates; or a condition that has a name, which is no more than a place to wait."""

    node: str


@dataclass(frozen=True, slots=True)
class Series:
    """One after the other; never one in another, and never just one."""

    parts: tuple[Piece, ...]
    _code: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_code", hash(("series", self.parts)))

    def __hash__(self) -> int:
        return self._code


@dataclass(frozen=True, slots=True)
class Way:
    """One of several ways out of a split."""

    piece: Piece
    weight: float = 1.0
    """How likely it is, against the others: its probability, or 1 where none is said."""
    said: Said = PLAIN
    rank: int = field(default=0, compare=False)
    _code: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_code", hash((self.piece, self.weight, self.said)))

    def __hash__(self) -> int:
        return self._code


@dataclass(frozen=True, slots=True)
class Branching:
    """A split, its ways, and the join of the same kind that ends them."""

    kind: Gate
    ways: tuple[Way, ...]
    split: str | None = None
    """The task or condition whose gate it was; None for a gate that is new."""
    join: str | None = None
    partial: bool = False
    """Whether the gate has other ways, too, so that what its flows say is to be read with those."""
    _code: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_code", hash((self.kind, self.ways, self.split, self.join, self.partial)))

    def __hash__(self) -> int:
        return self._code

    @property
    def told_elsewhere(self) -> bool:
        """Whether its ways are chosen by what is to be read with other ways of the gate."""
        return self.partial and any(way.said.rules for way in self.ways)


@dataclass(frozen=True, slots=True)
class Loop:
    """A body that is done once, and again after each time that `again` is chosen."""

    body: Piece
    again: Way
    leave: Said = PLAIN
    leave_weight: float = 1.0
    split: str | None = None
    join: str | None = None
    _code: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(
            self, "_code", hash((self.body, self.again, self.leave, self.leave_weight, self.split, self.join))
        )

    def __hash__(self) -> int:
        return self._code


Piece = Step | Series | Branching | Loop

NOTHING = Series(())

Change = Callable[[Piece], Iterable[tuple[Piece, str]]]
"""What can be made of a piece, each with what was done."""


@dataclass(frozen=True, slots=True)
class Corner:
    """A gate that is in no block."""

    node: str
    kind: Gate
    joins: bool


@dataclass(frozen=True, slots=True)
class Link:
    """What is done between two gates that are in no block, by their places in the layout."""

    source: int
    target: int
    way: Way


@dataclass(frozen=True, slots=True)
class Layout:
    """A whole workflow: of one that is made of blocks the gates are the input and the output, with one link."""

    corners: tuple[Corner, ...]
    links: tuple[Link, ...]
    _code: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_code", hash((self.corners, self.links)))

    def __hash__(self) -> int:
        return self._code

    @property
    def piece(self) -> Piece | None:
        """The whole as one piece, if it is made of blocks."""
        return self.links[0].way.piece if len(self.links) == 1 else None

    def with_pieces(self, pieces: Iterable[Piece]) -> Layout:
        """Give the same with other pieces, one for each link."""
        return Layout(
            self.corners,
            tuple(
                replace(link, way=replace(link.way, piece=piece))
                for link, piece in zip(self.links, pieces, strict=True)
            ),
        )


def parts_of(piece: Piece) -> tuple[Piece, ...]:
    """Give what is done one after the other; a piece that is no series is its only part."""
    return piece.parts if isinstance(piece, Series) else (piece,)


def series(parts: Iterable[Piece]) -> Piece:
    """Put pieces one after the other."""
    flat = tuple(chain.from_iterable(map(parts_of, parts)))
    return flat[0] if len(flat) == 1 else Series(flat)


def steps_of(piece: Piece) -> Iterator[str]:
    """Give the tasks and conditions of a piece, from left to right."""
    if isinstance(piece, Step):
        yield piece.node
    elif isinstance(piece, Series):
        for part in piece.parts:
            yield from steps_of(part)
    elif isinstance(piece, Branching):
        for way in piece.ways:
            yield from steps_of(way.piece)
    else:
        yield from steps_of(piece.body)
        yield from steps_of(piece.again.piece)


def within(piece: Piece, change: Change) -> Iterator[tuple[Piece, str]]:
    """Give the piece with each change of itself, then with each of anything within it, one at a time."""
    yield from change(piece)
    if isinstance(piece, Series):
        for at, part in enumerate(piece.parts):
            for new, what in within(part, change):
                yield series((*piece.parts[:at], new, *piece.parts[at + 1 :])), what
    else:
        yield from _inside(piece, change, within)


def stretches(piece: Piece, change: Change) -> Iterator[tuple[Piece, str]]:
    """Give the piece with each change of the whole of it, then of the whole of each branch within it, one at a time."""
    yield from change(piece)
    parts = parts_of(piece)
    for at, part in enumerate(parts):
        for new, what in _inside(part, change, stretches):
            yield series((*parts[:at], new, *parts[at + 1 :])), what


def _inside(
    piece: Piece, change: Change, walk: Callable[[Piece, Change], Iterator[tuple[Piece, str]]]
) -> Iterator[tuple[Piece, str]]:
    if isinstance(piece, Branching):
        for at, way in enumerate(piece.ways):
            for new, what in walk(way.piece, change):
                ways = (*piece.ways[:at], replace(way, piece=new), *piece.ways[at + 1 :])
                yield replace(piece, ways=ways), what
    elif isinstance(piece, Loop):
        for new, what in walk(piece.body, change):
            yield replace(piece, body=new), what
        for new, what in walk(piece.again.piece, change):
            yield replace(piece, again=replace(piece.again, piece=new)), what


def block_of(piece: Piece, known: Collection[str]) -> Block:
    """Give the tree of a piece; only what is known as a task does something in it."""
    if isinstance(piece, Step):
        return Block("task", task=piece.node) if piece.node in known else EMPTY
    if isinstance(piece, Series):
        if not piece.parts:
            return EMPTY
        return Block("sequence", tuple(block_of(part, known) for part in piece.parts))
    if isinstance(piece, Branching):
        return Block(piece.kind, tuple(block_of(way.piece, known) for way in piece.ways))
    return Block("loop", (block_of(piece.body, known), block_of(piece.again.piece, known)))
