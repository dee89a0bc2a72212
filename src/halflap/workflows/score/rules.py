"""Whether the rules of a workflow hold in every complete case, and if not, a case that breaks them.

All that a rule asks of a case is which of its two tasks occur, and which of them comes first and last. Blocks answer that from the inside out,
exactly; otherwise all states are searched, up to the bound.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from halflap.core.text import join
from halflap.workflows.model.block import Branches, Loop, Sequence, Step, inner

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from halflap.workflows.analysis.study import Study
    from halflap.workflows.model.block import Block
    from halflap.workflows.model.net import Net, Rule

__all__ = ["RuleVerdict", "check_rule", "rule_text"]

_A, _B, _BOTH = 1, 2, 3


@dataclass(frozen=True, slots=True)
class RuleVerdict:
    """Whether a rule holds; None where that is unknown."""

    rule: Rule
    holds: bool | None
    why: str | None = None
    trace: tuple[str, ...] | None = None
    """The task ids of a complete case that breaks it."""


class _Word(NamedTuple):
    """Which of the two tasks a case has, which comes first and last, as bits; and whether there is one occurrence only."""

    seen: int = 0
    first: int = 0
    last: int = 0
    single: bool = False


class _Example(NamedTuple):
    """A case, and where in it the first occurrence of one of the two tasks ends."""

    trace: tuple[str, ...] = ()
    cut: int = 0


_Words = dict[_Word, _Example]


def rule_text(rule: Rule) -> str:
    """Return what a rule demands, as a clause."""
    one, other = (f"'{task}'" for task in (*rule.tasks, "")[:2])
    return {
        "precedence": f"{one} comes before any {other}",
        "response": f"{other} comes after every {one}",
        "exclusion": f"no case has both {one} and {other}",
        "separation_of_duties": f"{one} and {other} are done by different resources",
        "required": f"every case has {one}",
    }[rule.kind]


def check_rule(study: Study, rule: Rule) -> RuleVerdict:
    """Check a rule over all complete cases."""
    if not study.completes:
        if study.completes is None:
            return RuleVerdict(rule, None, f"Whether {rule_text(rule)} is unknown: {study.space.problem}")
        if rule.kind == "required":
            return RuleVerdict(rule, False, f"No case can be completed, so none has '{rule.tasks[0]}'.")
        return RuleVerdict(rule, None, f"Whether {rule_text(rule)} is not judged: no case can be completed.")
    if rule.kind == "separation_of_duties":
        resources = [study.net.tasks[task].resource for task in rule.tasks]
        if None not in resources and len(set(resources)) > 1:
            return RuleVerdict(rule, True)
    bits = dict(zip(rule.tasks, (_A, _B), strict=False))
    if study.block is not None:
        words = _words(study.net, study.block, bits)
        wrong = [one.trace for word, one in words.items() if _breaks(rule, word)]
        trace = min(wrong, key=lambda one: (len(one), one), default=None)
    elif study.space.problem is not None:
        return RuleVerdict(rule, None, f"Whether {rule_text(rule)} is unknown: {study.space.problem}")
    else:
        trace = _searched(study, rule, bits)
    return RuleVerdict(rule, True) if trace is None else _broken(study.net, rule, trace)


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


def _broken(net: Net, rule: Rule, trace: tuple[str, ...]) -> RuleVerdict:
    why = f"It does not hold that {rule_text(rule)}."
    if rule.kind == "separation_of_duties":
        lacking = [f"'{task}'" for task in rule.tasks if net.tasks[task].resource is None]
        if lacking:
            why = f"{join(lacking)} declares no resource, so it cannot be shown that {rule_text(rule)}."
    return RuleVerdict(rule, False, why, trace)


# By blocks --------------------------------------------------------------------------------------------


def _words(net: Net, block: Block, bits: Mapping[str, int]) -> _Words:
    """Return what cases of a block can have of the tasks, each with a shortest example."""
    if isinstance(block, Step):
        bit = bits.get(block.node, 0)
        trace = (block.node,) if block.node in net.tasks else ()
        return {_Word(bit, bit, bit, single=bool(bit)): _Example(trace, 1 if bit else 0)}
    parts = [_words(net, part, bits) for part in inner(block)]
    if isinstance(block, Sequence):
        found: _Words = {_Word(): _Example()}
        for part in parts:
            found = _followed(found, part)
        return found
    if isinstance(block, Branches):
        if block.kind == "xor":
            return _shortest(pair for words in parts for pair in words.items())
        found = dict(parts[0])
        for words in parts[1:]:
            both = _interleaved(found, words)
            some = (*found.items(), *words.items(), *both.items())
            found = both if block.kind == "and" else _shortest(some)
        return found
    assert isinstance(block, Loop)
    once, again = parts
    turn = _followed(again, once)
    found = once
    while True:
        more = _shortest((*found.items(), *_followed(found, turn).items()))
        if more.keys() == found.keys():
            return more
        found = more


def _shortest(pairs: Iterable[tuple[_Word, _Example]]) -> _Words:
    found: _Words = {}
    for word, one in pairs:
        old = found.get(word)
        if old is None or (len(one.trace), one.trace) < (len(old.trace), old.trace):
            found[word] = one
    return found


def _followed(first: _Words, then: _Words) -> _Words:
    return _shortest(_one_after(a, x, b, y) for a, x in first.items() for b, y in then.items())


def _one_after(one: _Word, x: _Example, other: _Word, y: _Example) -> tuple[_Word, _Example]:
    if not one.seen:
        return other, _Example(x.trace + y.trace, len(x.trace) + y.cut)
    trace = _Example(x.trace + y.trace, x.cut)
    if not other.seen:
        return one, trace
    return _Word(one.seen | other.seen, one.first, other.last), trace


def _interleaved(first: _Words, other: _Words) -> _Words:
    pairs: list[tuple[_Word, _Example]] = []
    for a, x in first.items():
        for b, y in other.items():
            pairs += [_one_after(a, x, b, y), _one_after(b, y, a, x)]
            for (outer, u), (inside, v) in (((a, x), (b, y)), ((b, y), (a, x))):
                if outer.seen and inside.seen and not outer.single:
                    # The outer one begins, the whole inner one is done, the outer one ends.
                    trace = u.trace[: u.cut] + v.trace + u.trace[u.cut :]
                    word = _Word(outer.seen | inside.seen, outer.first, outer.last)
                    pairs.append((word, _Example(trace, u.cut)))
    return _shortest(pairs)


# By states --------------------------------------------------------------------------------------------


def _searched(study: Study, rule: Rule, bits: Mapping[str, int]) -> tuple[str, ...] | None:
    space, ending, final = study.space, study.ending, study.space.final()
    start = (0, _Word())
    came: dict[tuple[int, _Word], tuple[tuple[int, _Word], str | None] | None] = {start: None}
    waiting = [start]
    for state, word in waiting:
        if state == final and _breaks(rule, word):
            trace: list[str] = []
            back = came[state, word]
            while back is not None:
                trace += [] if back[1] is None else [back[1]]
                back = came[back[0]]
            return tuple(reversed(trace))
        for step, target in space.steps[state]:
            task = space.machine.steps[step].task
            bit = bits.get(task or "", 0)
            after = _Word(word.seen | bit, word.first or bit, bit or word.last)
            if target in ending and (target, after) not in came:
                came[target, after] = ((state, word), task)
                waiting.append((target, after))
    return None
