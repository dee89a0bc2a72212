"""How well a workflow uses four patterns, and recommendations: one list of findings answers both.

A finding is a place where a pattern could be used: two neighbours in a sequence, two tasks that could be parallel, what a choice
or a loop should state. A pattern's score is the share of its places that are good; a bad one that names a change is a recommendation.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import TYPE_CHECKING, Literal, NamedTuple

from halflap.workflows.analysis.footprint import bits_of
from halflap.workflows.answers import Advice
from halflap.workflows.model.block import (
    Block,
    Branches,
    Loop,
    Sequence,
    Unstructured,
    blocks_in,
    is_choice,
    parallel,
    parts_of,
)
from halflap.workflows.model.net import quoted
from halflap.workflows.model.reduce import unstructured_because
from halflap.workflows.score.facts import TIE, Atoms, Facts, fused
from halflap.workflows.score.rules import rule_text
from halflap.workflows.score.simulate import EndlessError
from halflap.workflows.score.timing import Timing, repeat_probability

if TYPE_CHECKING:
    from halflap.workflows.analysis.soundness import Soundness
    from halflap.workflows.answers import RuleResult

Pattern = Literal["sequential", "parallel", "choice", "loop"]
PATTERNS: tuple[Pattern, ...] = ("sequential", "parallel", "choice", "loop")
_MAX_ADVICE = 50
_CLOSE = 1e-9


class Finding(NamedTuple):
    """How many places of a pattern are good, and what to do about a bad one."""

    good: int
    places: int = 1
    advice: Advice | None = None


def findings(facts: Facts, tree: Block, pattern: Pattern) -> Iterator[Finding]:
    if pattern == "parallel":
        # Tasks can be compared in the whole, and in each branch of a choice or loop within.
        apart = [one for one in blocks_in(tree) if is_choice(one) or isinstance(one, Unstructured)]
        for level in (tree, *(part for one in apart for part in one.parts)):
            yield from _independent(facts, level)
        return
    look = {"sequential": _neighbours, "choice": _choice, "loop": _loop}[pattern]
    for block in blocks_in(tree):
        yield from look(facts, block)


def pattern_score(found: Iterable[Finding]) -> float | None:
    """Return the share of good places; None for a pattern without any."""
    good = count = 0
    for one in found:
        good += one.good
        count += one.places
    return good / count if count else None


def _advice(dimension: str, tasks: Iterable[str | None], change: str, why: str) -> Advice:
    named = tuple(task for task in dict.fromkeys(tasks) if task)
    return Advice(dimension=dimension, tasks=named, change=change, why=why)  # type: ignore[arg-type]


def _neighbours(facts: Facts, block: Block) -> Iterator[Finding]:
    """Look at neighbours in a sequence: good if the second needs the first."""
    timing = Timing(facts)
    doing = [part for part in fused(block.parts) if facts.doing(part)] if isinstance(block, Sequence) else []
    for first, then in pairwise(doing):
        if facts.depend(first, then):
            yield Finding(1)
            continue
        try:
            gain = timing.mean(first) + timing.mean(then) - timing.mean(parallel((first, then)))
        except EndlessError:
            gain = 0.0
        found = None
        if gain > _CLOSE:
            tasks = _decider(facts, first), _decider(facts, then)
            why = f"Neither needs the other's data; together they take {gain:g} less."
            found = _advice("performance", tasks, f"Do {quoted(tasks)} in parallel.", why)
        yield Finding(0, advice=found)


def _decider(facts: Facts, block: Block) -> str:
    """Return the task that a part of a sequence is named by."""
    last = parts_of(block)[-1]
    split = last.split if isinstance(last, Branches | Loop) else None
    return split if split is not None and split in facts.net.tasks else facts.doing(block)[0]


def _independent(facts: Facts, block: Block) -> Iterator[Finding]:
    """Look at pairs of atoms: good if they are independent and side by side, bad if only one of that holds."""
    atoms = Atoms(facts, block)
    closed: list[int] = []
    """For each atom everything it needs, directly or through others."""
    doing = 0
    for at, one in enumerate(atoms.atoms):
        needs = left = atoms.needs[at]
        while left:
            last = left.bit_length() - 1
            needs |= closed[last]
            left &= ~(closed[last] | 1 << last)
        closed.append(needs)
        if not facts.doing(one):
            continue
        apart = doing & ~atoms.before[at]
        clash = apart & atoms.depends[at]
        free = doing & ~clash & ~needs
        yield Finding((free & apart).bit_count(), free.bit_count())
        for other in bits_of(clash):
            yield Finding(0, advice=_race(facts, atoms.atoms[other], one))
        doing |= 1 << at


def _race(facts: Facts, one: Block, other: Block) -> Advice | None:
    mine, yours = facts.data(one), facts.data(other)
    if not (mine.is_known and yours.is_known):
        return None
    shared = mine.writes & (yours.reads | yours.writes) | mine.reads & yours.writes
    clash = sorted(name for name in shared if not name.startswith(TIE))
    tasks = facts.doing(one)[:1] + facts.doing(other)[:1]
    why = f"They run in parallel and share {quoted(clash)}: which comes first is chance."
    return _advice("compliance", tasks, f"Do {quoted(tasks)} in sequence.", why) if clash else None


def _choice(facts: Facts, block: Block) -> Iterator[Finding]:
    """Look at choices: good if something states how they are made. At a condition, whichever task comes first decides."""
    if isinstance(block, Branches) and is_choice(block):
        without = sum(one.predicate is None for one in block.choices)
        without -= sum(
            one.name == "predicate" and one.at.startswith(f"{block.split} -> ") for one in facts.net.kept
        )
        decided = without <= 1 or all(one.probability is not None for one in block.choices)
        change = f"Add predicates and a default, or probabilities, to the flows out of '{block.split}'."
        why = "Nothing states how a branch is chosen; all count as equally likely."
        advice = _advice("maintainability", (block.split,), change, why)
        yield Finding(int(decided or block.split in facts.net.conditions), advice=advice)


def _loop(facts: Facts, block: Block) -> Iterator[Finding]:
    """Look at loops: good if they can end, and one of their tasks has a limit."""
    if not isinstance(block, Loop):
        return
    endless = None
    try:
        repeat_probability(block)
    except EndlessError as error:
        change = f"Make the flow out of the loop at '{block.split}' more likely."
        endless = _advice("performance", (block.split,), change, str(error))
    yield Finding(int(endless is None), advice=endless)
    limited = any(facts.net.tasks[node].limit for node in facts.steps(block) if node in facts.net.tasks)
    tasks = facts.doing(block)[:1]
    change = f"Set the limit of {quoted(tasks) or 'a task in the loop'}."
    unbounded = _advice("maintainability", tasks, change, "Nothing states how often the loop may run.")
    yield Finding(int(limited), advice=unbounded)


# Recommendations --------------------------------------------------------------------------------------


def advice(facts: Facts, tree: Block, judged: Soundness, rules: Iterable[RuleResult]) -> list[Advice]:
    """Return recommendations, mistakes first."""
    found = [*_wrong(facts, judged, rules), *_gates(facts, tree)]
    for pattern in ("parallel", "loop", "sequential", "choice"):
        bad = (one for one in findings(facts, tree, pattern) if one.good < one.places)
        found += [one.advice for one in bad if one.advice is not None]
    found += _undeclared(facts)
    return list(dict.fromkeys(found))[:_MAX_ADVICE]


def _wrong(facts: Facts, judged: Soundness, rules: Iterable[RuleResult]) -> Iterator[Advice]:
    for failure in judged.failures:
        tasks = failure.trace[-1:] if failure.task is None else [failure.task]
        after = f"after {', '.join(failure.trace)}" if failure.trace else "at the start"
        change = (
            f"Fix what happens {after}."
            if failure.task is None
            else f"Make '{failure.task}' reachable, or remove it."
        )
        yield _advice("compliance", tasks, change, failure.message)
    for rule in rules:
        if rule.holds is False and rule.trace is not None:
            lacking = [task for task in rule.tasks if facts.resource(task) is None]
            change = f"Change the workflow so that {rule_text(rule)}, or remove the rule."
            if rule.kind == "separation_of_duties" and lacking:
                change = f"Set the resource of {quoted(lacking)}."
            yield _advice("compliance", rule.tasks, change, rule.message or "")


def _gates(facts: Facts, tree: Block) -> Iterator[Advice]:
    why = unstructured_because(tree)
    if not isinstance(tree, Unstructured) or why is None:
        return
    for one in tree.mismatches:
        change = f"Make '{one.join}' an {one.split_kind}-join, or '{one.split}' an {one.join_kind}-split."
        yield _advice("maintainability", (one.split, one.join), change, why)
    gates = [gate for gate in tree.gates if gate in facts.net.tasks]
    if gates and not tree.mismatches:
        change = f"Close the splits of {quoted(gates)} with joins of the same kind, block within block."
        yield _advice("maintainability", gates, change, why)


def _undeclared(facts: Facts) -> Iterator[Advice]:
    if facts.undeclared:
        change = f"Declare the reads and writes of {quoted(facts.undeclared)}."
        why = "Undeclared data counts as dependent on everything."
        yield _advice("performance", facts.undeclared, change, why)
    if facts.timeless:
        why = "A task without a duration counts as 1."
        yield _advice("performance", facts.timeless, f"Set the duration of {quoted(facts.timeless)}.", why)
