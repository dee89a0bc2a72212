"""Which parts of two normal forms have to be compared, so that what is the same in both need not be.

Where the activities of two parts have nothing in common, what a whole can do with the activities of one part is what that
part can do. So two sequences that can be cut after the same activities, or two blocks whose branches fall into groups of
the same activities, have the same traces exactly if the pieces have.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from halflap.workflows.normalform import NOTHING
from halflap.workflows.states import bits_of

if TYPE_CHECKING:
    from halflap.workflows.normalform import Forms

__all__ = ["Around", "Pair", "parts_to_compare"]


@dataclass(frozen=True, slots=True, eq=False)
class Around:
    """What has to be done around a part, in the first and in the second whole, to make a whole trace of its own."""

    before: tuple[tuple[int, ...], tuple[int, ...]]
    after: tuple[tuple[int, ...], tuple[int, ...]]
    outer: Around | None


@dataclass(frozen=True, slots=True)
class Pair:
    """Two forms that have the same traces if the wholes have."""

    first: int
    second: int
    around: Around | None = None

    def around_trace(self, forms: Forms, trace: list[str], *, first: bool) -> list[str]:
        """Make a trace of the whole from one of the part."""
        side = 0 if first else 1
        around = self.around
        while around is not None:
            before = [label for part in around.before[side] for label in forms.trace(part)]
            after = [label for part in around.after[side] for label in forms.trace(part)]
            trace = [*before, *trace, *after]
            around = around.outer
        return trace

    def length_around(self, forms: Forms) -> tuple[int, int]:
        """Tell how much longer than of the part a trace of the whole is, at least, in the first and in the second."""
        lengths = [0, 0]
        around = self.around
        while around is not None:
            for side in (0, 1):
                lengths[side] += sum(
                    forms.shortest[part] for part in (*around.before[side], *around.after[side])
                )
            around = around.outer
        return lengths[0], lengths[1]


def parts_to_compare(forms: Forms, first: int, second: int) -> list[Pair]:
    """Find the smallest parts that are not the same in both; none means that the traces are the same."""
    found: list[Pair] = []
    waiting = [Pair(first, second)]
    while waiting:
        pair = waiting.pop()
        if pair.first == pair.second:
            continue
        pieces = _pieces(forms, pair)
        if pieces is None:
            found.append(pair)
        else:
            waiting.extend(reversed(pieces))
    return found


def _pieces(forms: Forms, pair: Pair) -> list[Pair] | None:
    """Take two forms apart, if that makes them smaller; what is no block of a kind is taken as one with one part."""
    kinds = dict.fromkeys([forms.forms[pair.first].kind, forms.forms[pair.second].kind])
    for kind in kinds:
        pieces: list[Pair] | None = None
        if kind == "sequence":
            pieces = _cut(forms, pair)
        elif kind == "loop" and len(kinds) == 1:
            pieces = _turns(forms, pair)
        elif kind in {"and", "or", "xor"}:
            pieces = _groups(forms, pair, kind)
        if pieces is not None:
            return pieces
    return None


def _parts(forms: Forms, number: int, kind: str) -> tuple[int, ...]:
    if number == NOTHING:
        return ()
    form = forms.forms[number]
    return form.parts if form.kind == kind else (number,)


def _cut(forms: Forms, pair: Pair) -> list[Pair] | None:
    """Cut two sequences wherever nothing before has an activity of what comes after, in the one or in the other."""
    sides = (_parts(forms, pair.first, "sequence"), _parts(forms, pair.second, "sequence"))
    ends: tuple[dict[int, int], dict[int, int]] = ({}, {})
    for side, parts in enumerate(sides):
        for number, part in enumerate(parts, start=1):
            ends[side].update(dict.fromkeys(bits_of(forms.labels[part]), number))

    def closed(at: tuple[int, int], to: tuple[int, int]) -> tuple[int, int]:
        """Go on from `to` until no activity since `at` comes again."""
        looked, goal = list(at), list(to)
        while looked != goal:
            for side in (0, 1):
                while looked[side] < goal[side]:
                    for label in bits_of(forms.labels[sides[side][looked[side]]]):
                        goal = [max(goal[one], ends[one].get(label, 0)) for one in (0, 1)]
                    looked[side] += 1
        return goal[0], goal[1]

    pieces = []
    at = (0, 0)
    whole = (len(sides[0]), len(sides[1]))
    while at != whole:
        tried = [closed(at, (at[0] + 1 - side, at[1] + side)) for side in (0, 1) if at[side] < whole[side]]
        to = min(tried, key=sum)
        if at == (0, 0) and to == whole:
            return None
        around = Around(
            (sides[0][: at[0]], sides[1][: at[1]]), (sides[0][to[0] :], sides[1][to[1] :]), pair.around
        )
        one, two = (forms.sequence(sides[side][at[side] : to[side]]) for side in (0, 1))
        pieces.append(Pair(one, two, around))
        at = to
    return pieces


def _turns(forms: Forms, pair: Pair) -> list[Pair] | None:
    """Take loops apart where every turn is seen, so that its two parts can be told from each other in a trace."""
    (again, between), (again_2, between_2) = (
        forms.forms[pair.first].parts,
        forms.forms[pair.second].parts,
    )
    if any(forms.skips[part] for part in (again, between, again_2, between_2)):
        return None
    turns = forms.labels[again] | forms.labels[again_2]
    if turns & (forms.labels[between] | forms.labels[between_2]):
        return None
    turn = ((again,), (again_2,))
    return [
        Pair(again, again_2, pair.around),
        Pair(between, between_2, Around(turn, turn, pair.around)),
    ]


def _groups(forms: Forms, pair: Pair, kind: str) -> list[Pair] | None:
    """Put branches with common activities together, over both blocks."""
    sides = [
        [part for part in _parts(forms, number, kind) if part != NOTHING]
        for number in (pair.first, pair.second)
    ]
    if kind != "and" and forms.skips[pair.first] != forms.skips[pair.second]:
        return None
    groups = _common(forms, sides)
    if len(groups) == 1:
        optional = forms.forms[pair.first].kind == forms.forms[pair.second].kind == "xor"
        if optional and len(sides[0]) == len(sides[1]) == 1:
            return [Pair(sides[0][0], sides[1][0], pair.around)]
        return None
    pieces = []
    for ones, twos in groups:
        if kind == "xor":
            # Which of the branches has the empty trace is not to be seen, only whether there is one.
            pieces.append(Pair(forms.maybe(forms.choice(ones)), forms.maybe(forms.choice(twos)), pair.around))
        elif kind == "or":
            one, two = forms.some(ones), forms.some(twos)
            if not (ones and twos):
                one, two = forms.maybe(one), forms.maybe(two)
            pieces.append(Pair(one, two, pair.around))
        else:
            others = (
                tuple(part for part in sides[0] if part not in ones),
                tuple(part for part in sides[1] if part not in twos),
            )
            around = Around(others, ((), ()), pair.around)
            pieces.append(Pair(forms.together(ones), forms.together(twos), around))
    return pieces


def _common(forms: Forms, sides: list[list[int]]) -> list[tuple[list[int], list[int]]]:
    leader: dict[int, int] = {}

    def of(label: int) -> int:
        while leader.setdefault(label, label) != label:
            leader[label] = leader[leader[label]]
            label = leader[label]
        return label

    for part in (*sides[0], *sides[1]):
        first, *others = bits_of(forms.labels[part])
        for label in others:
            leader[of(label)] = of(first)
    groups: dict[int, tuple[list[int], list[int]]] = {}
    for number, side in enumerate(sides):
        for part in side:
            groups.setdefault(of(bits_of(forms.labels[part])[0]), ([], []))[number].append(part)
    return list(groups.values())
