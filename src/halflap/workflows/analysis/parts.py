"""Which parts of two normal forms have to be compared, so that what is the same in both need not be.

Where the activities of two parts are disjoint, the whole restricted to the activities of one part does what that part does. So two
sequences that can be cut after the same activities, or two blocks whose branches fall into groups with the same activities, have the same
traces exactly if the pieces have.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from halflap.workflows.analysis.normal_form import NOTHING
from halflap.workflows.analysis.states import bits_of

if TYPE_CHECKING:
    from halflap.workflows.analysis.normal_form import Forms

__all__ = ["Pair", "parts_to_compare"]

_Sides = tuple[tuple[int, ...], tuple[int, ...]]


@dataclass(frozen=True, slots=True)
class Pair:
    """Two forms that have the same traces if the wholes have."""

    first: int
    second: int
    around: tuple[tuple[_Sides, _Sides], ...] = field(default=())
    """What comes before and after the part, in the first and the second whole, from the inside out."""

    def within(self, before: _Sides, after: _Sides) -> tuple[tuple[_Sides, _Sides], ...]:
        return ((before, after), *self.around)

    def whole_trace(self, forms: Forms, trace: tuple[str, ...], *, first: bool) -> list[str]:
        """Return a trace of the whole for one of the part."""
        found = list(trace)
        side = 0 if first else 1
        for before, after in self.around:
            lead = [label for part in before[side] for label in forms.trace(part)]
            found = lead + found + [label for part in after[side] for label in forms.trace(part)]
        return found


def parts_to_compare(forms: Forms, first: int, second: int) -> list[Pair]:
    """Return the smallest parts that are not the same in both; none means that the traces are the same."""
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
    """Take two forms apart, if that makes them smaller; any other form counts as a block with one part."""
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
    form = forms.forms[number]
    return () if number == NOTHING else form.parts if form.kind == kind else (number,)


def _cut(forms: Forms, pair: Pair) -> list[Pair] | None:
    """Cut two sequences wherever nothing before shares an activity with what comes after, in either."""
    sides = (_parts(forms, pair.first, "sequence"), _parts(forms, pair.second, "sequence"))
    ends: tuple[dict[int, int], dict[int, int]] = ({}, {})
    for side, parts in enumerate(sides):
        for number, part in enumerate(parts, start=1):
            ends[side].update(dict.fromkeys(bits_of(forms.labels[part]), number))

    def closed(at: tuple[int, int], to: tuple[int, int]) -> tuple[int, int]:
        """Extend `to` until no activity since `at` comes again."""
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
        around = pair.within((sides[0][: at[0]], sides[1][: at[1]]), (sides[0][to[0] :], sides[1][to[1] :]))
        one, two = (forms.sequence(sides[side][at[side] : to[side]]) for side in (0, 1))
        pieces.append(Pair(one, two, around))
        at = to
    return pieces


def _turns(forms: Forms, pair: Pair) -> list[Pair] | None:
    """Take loops apart where every turn is visible, so that body and way back can be told apart in a trace."""
    (body, again), (body_2, again_2) = (forms.forms[one].parts for one in (pair.first, pair.second))
    labels = forms.labels
    if any(forms.skips[part] for part in (body, again, body_2, again_2)):
        return None
    if (labels[body] | labels[body_2]) & (labels[again] | labels[again_2]):
        return None
    turn = ((body,), (body_2,))
    return [Pair(body, body_2, pair.around), Pair(again, again_2, pair.within(turn, turn))]


def _groups(forms: Forms, pair: Pair, kind: str) -> list[Pair] | None:
    """Group branches with common activities, over both blocks."""
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
            # Which branch has the empty trace cannot be seen, only whether there is one.
            pieces.append(Pair(forms.maybe(forms.choice(ones)), forms.maybe(forms.choice(twos)), pair.around))
        elif kind == "or":
            one, two = forms.some(ones), forms.some(twos)
            if not (ones and twos):
                one, two = forms.maybe(one), forms.maybe(two)
            pieces.append(Pair(one, two, pair.around))
        else:
            rest = (
                tuple(part for part in sides[0] if part not in ones),
                tuple(part for part in sides[1] if part not in twos),
            )
            around = pair.within(rest, ((), ()))
            pieces.append(Pair(forms.parallel(ones), forms.parallel(twos), around))
    return pieces


def _common(forms: Forms, sides: list[list[int]]) -> list[tuple[list[int], list[int]]]:
    """Return the branches of both sides by connected activities."""
    groups: list[tuple[int, tuple[list[int], list[int]]]] = []
    for number, side in enumerate(sides):
        for part in side:
            labels = forms.labels[part]
            joined: tuple[list[int], list[int]] = ([], [])
            for group in [one for one in groups if one[0] & labels]:
                groups.remove(group)
                labels |= group[0]
                joined[0].extend(group[1][0])
                joined[1].extend(group[1][1])
            joined[number].append(part)
            groups.append((labels, joined))
    return [group for _, group in groups]
