"""The critical path of the data: how long a case would take if everything waited for nothing but what it needs.

A piece is taken as atoms, which are tasks, choices with the task that decides, and loops, in the order that they have. Of these, one
waits for another that comes before it only if it depends on it. The longest chain is the critical path. A
choice counts by its probabilities, a loop by how often it is done; who does what is not looked at.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from halflap.workflows.dependence import dependents
from halflap.workflows.pieces.piece import Branching, Loop, Series, Step, parts_of, series
from halflap.workflows.timing.chance import certain, expected, latest
from halflap.workflows.timing.clock import EndlessError
from halflap.workflows.timing.playing import chances_of_ways, shares

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from halflap.workflows.pieces.facts import Facts
    from halflap.workflows.pieces.piece import Piece

__all__ = ["Atoms", "closure", "critical_path", "fused"]

_NEARLY_ALWAYS = 1 - 1e-6


def fused(parts: Sequence[Piece]) -> list[Piece]:
    """Put a choice together with who decides it: the task or the condition before it, or the loop with the same gate."""
    found: list[Piece] = []
    for part in parts:
        decides = _split(part)
        if decides is not None and found and _gate_of(found[-1]) == decides:
            found[-1] = series((found[-1], part))
        else:
            found.append(part)
    return found


def _split(piece: Piece) -> str | None:
    """Give whose gate a choice begins with."""
    if isinstance(piece, Branching) and piece.kind != "and":
        return piece.split
    return None


def _gate_of(piece: Piece) -> str | None:
    """Give the task, condition or loop that a piece ends with, by whose gate it may be."""
    last = parts_of(piece)[-1] if parts_of(piece) else piece
    if isinstance(last, Step):
        return last.node
    return last.split if isinstance(last, Loop) else None


class Atoms:
    """The atoms of a piece, and for each those that come before it, as bits."""

    def __init__(self, piece: Piece) -> None:
        self.atoms: list[Piece] = []
        self.before: list[int] = []
        self._add(piece, 0)

    def _add(self, piece: Piece, before: int) -> int:
        """Add the atoms of a piece after others, and give the bits of all that it has."""
        added = 0
        for part in fused(parts_of(piece)):
            if isinstance(part, Branching) and part.kind == "and":
                inner = 0
                for way in part.ways:
                    inner |= self._add(way.piece, before | added)
                added |= inner
            elif not (isinstance(part, Series) and not part.parts):
                added |= 1 << len(self.atoms)
                self.atoms.append(part)
                self.before.append(before | added & ~(1 << (len(self.atoms) - 1)))
        return added

    def depends(self, facts: Facts) -> list[int]:
        """Give for each atom those listed before it that it depends on, as bits, whether they come before it or beside it."""
        found = dependents(facts.data(one) for one in self.atoms)
        if facts.ties:
            holding: dict[str, int] = {}
            for at, one in enumerate(self.atoms):
                mine = facts.tied(one)
                for first, then in facts.ties:
                    found[at] |= holding.get(then, 0) if first in mine else 0
                    found[at] |= holding.get(first, 0) if then in mine else 0
                for node in mine:
                    holding[node] = holding.get(node, 0) | 1 << at
        return found

    def needed(self, facts: Facts) -> list[int]:
        """Give for each atom those before it that it depends on, as bits."""
        return [depends & before for depends, before in zip(self.depends(facts), self.before, strict=True)]


def closure(needed: Sequence[int]) -> list[int]:
    """Give for each atom all that it needs, be it by others between, as bits."""
    found: list[int] = []
    for needs in needed:
        everything = needs
        for last in _last_of(needs, found):
            everything |= found[last]
        found.append(everything)
    return found


def _last_of(needs: int, closed: Sequence[int]) -> Iterator[int]:
    """Give those that something waits for, without those that one of them has waited for already."""
    while needs:
        last = needs.bit_length() - 1
        yield last
        needs &= ~(closed[last] | 1 << last)


def critical_path(facts: Facts, piece: Piece) -> float:
    """Give how long a piece takes at least, by expectation; `EndlessError` for a loop that is never left."""
    atoms = Atoms(piece)
    needed = atoms.needed(facts)
    closed = closure(needed)
    ends: list[float] = []
    for one, needs in zip(atoms.atoms, needed, strict=True):
        start = max((ends[last] for last in _last_of(needs, closed)), default=0.0)
        ends.append(start + _of_atom(facts, one))
    return max(ends, default=0.0)


def _of_atom(facts: Facts, piece: Piece) -> float:
    if isinstance(piece, Step):
        return facts.duration(piece.node)
    if isinstance(piece, Series):
        # Who decides, and what is decided: one after the other.
        return sum(_of_atom(facts, part) for part in piece.parts)
    if isinstance(piece, Branching):
        inner = [critical_path(facts, way.piece) for way in piece.ways]
        if piece.kind == "xor":
            chances = shares([way.weight for way in piece.ways])
            return sum(p * one for p, one in zip(chances, inner, strict=True))
        done = zip(chances_of_ways(piece), inner, strict=True)
        return expected(latest([(p, certain(one)) for p, one in done if p]))
    back = shares([piece.again.weight, piece.leave_weight])[0]
    if back > _NEARLY_ALWAYS:
        raise EndlessError(piece.split, back)
    once, again = critical_path(facts, piece.body), critical_path(facts, piece.again.piece)
    return (once + back * again) / (1 - back)
