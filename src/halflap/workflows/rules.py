"""Whether the rules of a workflow hold in every complete case, and if not, a case that breaks them.

All that a rule of two tasks asks of a case is which of them it has, and which of them comes first and last. For
what is made of blocks that is found from the inside out, exactly, without looking at states; else over all states,
up to the bound.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from halflap.workflows.pieces.piece import Branching, Series, Step

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from halflap.workflows.net import Net, Rule
    from halflap.workflows.pieces.facts import Facts
    from halflap.workflows.pieces.piece import Piece
    from halflap.workflows.study import Study

__all__ = ["Verdict", "rule_text", "verdict_by_pieces", "verdict_by_states"]

_A, _B, _BOTH = 1, 2, 3


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether a rule holds; None where that is not known."""

    rule: Rule
    holds: bool | None
    why: str | None = None
    """What is wrong, or why it is not known."""
    trace: tuple[str, ...] | None = None
    """The tasks, by their ids, of a complete case that breaks it."""


class _Word(NamedTuple):
    """What a trace has of the two tasks of a rule, as bits: any of them, the first and the last; and whether only one time."""

    seen: int = 0
    first: int = 0
    last: int = 0
    single: bool = False


class _Told(NamedTuple):
    """A trace that has this of the two tasks, and where in it the first time of them ends."""

    trace: tuple[str, ...] = ()
    cut: int = 0


_Words = dict[_Word, _Told]


def rule_text(rule: Rule) -> str:
    """Say in words what holds if a rule does."""
    one = f"'{rule.tasks[0]}'"
    other = f"'{rule.tasks[1]}'" if len(rule.tasks) > 1 else ""
    match rule.kind:
        case "precedence":
            return f"there is {one} before any {other}"
        case "response":
            return f"there is {other} after every {one}"
        case "exclusion":
            return f"no case has both {one} and {other}"
        case "separation_of_duties":
            return f"{one} and {other} are done by different resources"
        case _:
            return f"every case has {one}"


def _breaks(rule: Rule, word: _Word) -> bool:
    match rule.kind:
        case "precedence":
            return word.first == _B
        case "response":
            return word.last == _A
        case "required":
            return not word.seen & _A
        case _:
            return word.seen == _BOTH


def _separated(net: Net, rule: Rule) -> Verdict | None:
    """Judge a rule of separate duties by the resources alone, where that is enough."""
    one, other = (net.tasks[task].resource for task in rule.tasks)
    if one is not None and other is not None and one != other:
        return Verdict(rule, holds=True)
    return None


def _broken(net: Net, rule: Rule, trace: tuple[str, ...] | None) -> Verdict:
    why = f"It does not hold that {rule_text(rule)}."
    if rule.kind == "separation_of_duties":
        one, other = (net.tasks[task].resource for task in rule.tasks)
        lacking = [f"'{task}'" for task in rule.tasks if net.tasks[task].resource is None]
        if lacking:
            why = f"It is not said who does {' and '.join(lacking)}, so it can't be shown that {rule_text(rule)}."
        else:
            why = f"'{one}' does both '{rule.tasks[0]}' and '{rule.tasks[1]}'."
        assert other == one or lacking
    return Verdict(rule, False, why, trace)


def verdict_by_pieces(facts: Facts, piece: Piece, rule: Rule, *, told: bool = True) -> Verdict:
    """Judge a rule from the pieces of a workflow; without `told` no case is given."""
    if rule.kind == "separation_of_duties" and (found := _separated(facts.net, rule)):
        return found
    bits = {task: (_A, _B)[at] for at, task in enumerate(rule.tasks)}
    words = _words(facts, piece, bits, told=told)
    wrong = [one for word, one in words.items() if _breaks(rule, word)]
    if not wrong:
        return Verdict(rule, holds=True)
    shortest = min(wrong, key=lambda one: (len(one.trace), one.trace))
    return _broken(facts.net, rule, shortest.trace if told else None)


def _words(facts: Facts, piece: Piece, bits: Mapping[str, int], *, told: bool) -> _Words:
    """Give what traces of a piece can have of the tasks, each with the shortest trace that does."""
    if not told and facts.steps(piece).isdisjoint(bits):
        return {_Word(): _Told()}
    if isinstance(piece, Step):
        bit = bits.get(piece.node, 0)
        trace = (piece.node,) if piece.node in facts.net.tasks else ()
        word = _Word(bit, bit, bit, single=True) if bit else _Word()
        return {word: _Told(trace if told else (), 1 if bit and told else 0)}
    if isinstance(piece, Series):
        found: _Words = {_Word(): _Told()}
        for part in piece.parts:
            found = _followed(found, _words(facts, part, bits, told=told))
        return found
    if isinstance(piece, Branching):
        inner = [_words(facts, way.piece, bits, told=told) for way in piece.ways]
        if piece.kind == "xor":
            return _shortest(pair for words in inner for pair in words.items())
        found = dict(inner[0])
        for words in inner[1:]:
            beside = _beside(found, words)
            found = (
                beside
                if piece.kind == "and"
                else _shortest((*found.items(), *words.items(), *beside.items()))
            )
        return found
    once = _words(facts, piece.body, bits, told=told)
    turn = _followed(_words(facts, piece.again.piece, bits, told=told), once)
    found = once
    while True:
        more = _shortest((*found.items(), *_followed(found, turn).items()))
        if more.keys() == found.keys():
            return more
        found = more


def _shortest(pairs: Iterable[tuple[_Word, _Told]]) -> _Words:
    found: _Words = {}
    for word, one in pairs:
        old = found.get(word)
        if old is None or (len(one.trace), one.trace) < (len(old.trace), old.trace):
            found[word] = one
    return found


def _followed(first: _Words, then: _Words) -> _Words:
    return _shortest(_one_after(a, x, b, y) for a, x in first.items() for b, y in then.items())


def _one_after(one: _Word, x: _Told, other: _Word, y: _Told) -> tuple[_Word, _Told]:
    if not one.seen:
        return other, _Told(x.trace + y.trace, len(x.trace) + y.cut)
    trace = _Told(x.trace + y.trace, x.cut)
    if not other.seen:
        return one, trace
    return _Word(one.seen | other.seen, one.first, other.last), trace


def _beside(first: _Words, other: _Words) -> _Words:
    pairs: list[tuple[_Word, _Told]] = []
    for a, x in first.items():
        for b, y in other.items():
            pairs += [_one_after(a, x, b, y), _one_after(b, y, a, x)]
            for (outer, u), (inner, v) in (((a, x), (b, y)), ((b, y), (a, x))):
                if outer.seen and inner.seen and not outer.single:
                    # The one begins, then the whole other is done, then the one ends.
                    trace = u.trace[: u.cut] + v.trace + u.trace[u.cut :]
                    word = _Word(outer.seen | inner.seen, outer.first, outer.last)
                    pairs.append((word, _Told(trace, u.cut)))
    return _shortest(pairs)


def _without_case(study: Study, rule: Rule) -> Verdict:
    """Judge a rule where no case can be completed, of which everything would be true; or where that is not known."""
    if study.completes is None:
        return Verdict(rule, None, f"Whether {rule_text(rule)} is not known: {study.space.problem}")
    if rule.kind == "required":
        return Verdict(rule, False, f"No case can be completed, so there is none that has '{rule.tasks[0]}'.")
    return Verdict(
        rule, None, f"Whether {rule_text(rule)} is not judged: no case of the workflow can be completed."
    )


def verdict_by_states(study: Study, rule: Rule) -> Verdict:
    """Judge a rule over all states of a workflow."""
    space = study.space
    if not study.completes:
        return _without_case(study, rule)
    # Who does what is known without the states, but not that there is a case.
    if rule.kind == "separation_of_duties" and (found := _separated(study.net, rule)):
        return found
    if space.problem is not None:
        return Verdict(rule, None, f"Whether {rule_text(rule)} is not known: {space.problem}")
    bits = {task: (_A, _B)[at] for at, task in enumerate(rule.tasks)}
    final, ending = space.final(), study.ending
    start = (0, _Word())
    came: dict[tuple[int, _Word], tuple[tuple[int, _Word], str | None] | None] = {start: None}
    waiting = [start]
    for state, word in waiting:
        if state == final and _breaks(rule, word):
            trace: list[str] = []
            back = came[state, word]
            while back is not None:
                if back[1] is not None:
                    trace.append(back[1])
                back = came[back[0]]
            return _broken(study.net, rule, tuple(reversed(trace)))
        for step, target in space.steps[state]:
            task = space.machine.steps[step].task
            bit = bits.get(task or "", 0)
            after = _Word(word.seen | bit, word.first or bit, bit or word.last)
            if target in ending and (target, after) not in came:
                came[target, after] = ((state, word), task)
                waiting.append((target, after))
    return Verdict(rule, holds=True)
