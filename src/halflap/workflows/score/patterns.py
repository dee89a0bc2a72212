"""How well a workflow uses four patterns, and what would make it better: one list of findings answers both.

A finding is one place where a pattern could be used well: two neighbours in a sequence, two tasks that could be parallel, what a choice or a loop
should state. A pattern's score is the share of its findings that are good; each bad one is a recommendation, if it names a change.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import TYPE_CHECKING, Literal, NamedTuple

from halflap.core.text import join
from halflap.workflows.analysis.footprint import bits_of
from halflap.workflows.answers import Advice
from halflap.workflows.model.block import (
    Block,
    Branches,
    Choice,
    Loop,
    Sequence,
    Step,
    Tangle,
    blocks_in,
    is_choice,
    parallel,
    parts_of,
    steps_of,
)
from halflap.workflows.model.reduce import loose_gates, mismatches, unstructured_because
from halflap.workflows.score.facts import TIE, Atoms, Facts, fused
from halflap.workflows.score.rules import RuleVerdict, rule_text
from halflap.workflows.score.simulate import EndlessError
from halflap.workflows.score.timing import Timing, way_back

if TYPE_CHECKING:
    from halflap.workflows.analysis.soundness import Soundness

Pattern = Literal["sequential", "parallel", "choice", "loop"]
PATTERNS: tuple[Pattern, ...] = ("sequential", "parallel", "choice", "loop")
_MAX_ADVICE = 50
_MAX_NAMED = 10
_CLOSE = 1e-9


class Finding(NamedTuple):
    """Places of one kind: how many there are, and how many are good."""

    aspect: str
    good: int
    places: int = 1
    advice: Advice | None = None


def findings(facts: Facts, tree: Block, pattern: Pattern) -> Iterator[Finding]:
    if pattern == "parallel":
        for level in _levels(tree):
            yield from _independent(facts, level)
        return
    look = {"sequential": _neighbours, "choice": _choice, "loop": _loop}[pattern]
    for block in blocks_in(tree):
        yield from look(facts, block)


def _levels(tree: Block) -> Iterator[Block]:
    """Yield the blocks whose atoms can be compared: the whole, and each way of a choice or loop within."""
    if not isinstance(tree, Tangle):
        yield tree
    for one in blocks_in(tree):
        if is_choice(one) or isinstance(one, Tangle):
            yield from one.parts


def pattern_score(found: Iterable[Finding]) -> float | None:
    """Return the share of good places; None for a pattern without any."""
    good = count = 0
    for one in found:
        good += one.good
        count += one.places
    return good / count if count else None


def _advice(dimension: str, tasks: Iterable[str | None], change: str, why: str) -> Advice:
    named = tuple(task for task in tasks if task)
    return Advice(dimension=dimension, tasks=named, change=change, why=why)  # type: ignore[arg-type]


def _named(names: Iterable[str]) -> str:
    return join((f"'{one}'" for one in names), limit=_MAX_NAMED)


def _neighbours(facts: Facts, block: Block) -> Iterator[Finding]:
    """Look at neighbours in a sequence: good if the second needs the first."""
    timing = Timing(facts)
    doing = [part for part in fused(block.parts) if facts.doing(part)] if isinstance(block, Sequence) else []
    for first, then in pairwise(doing):
        if facts.depend(first, then):
            yield Finding("dependent", 1)
            continue
        try:
            gain = timing.mean(first) + timing.mean(then) - timing.mean(parallel((first, then)))
        except EndlessError:
            gain = 0.0
        found = None
        if gain > _CLOSE:
            (one, task), (other, second) = _called(facts, first), _called(facts, then)
            why = f"Neither needs the other's data; together they take {gain:g} less."
            change = f"Do {one} and {other} in parallel."
            found = _advice("performance", dict.fromkeys((task, second)), change, why)
        yield Finding("dependent", 0, advice=found)


def _called(facts: Facts, block: Block) -> tuple[str, str]:
    """Return how to refer to a part of a sequence, and the task that it is named by."""
    last = parts_of(block)[-1]
    if not isinstance(last, Branches | Loop):
        node = steps_of(last)[0]
        return f"'{node}'", node
    node = last.split or ""
    kind = "loop at" if isinstance(last, Loop) else "parallel block of" if last.kind == "and" else "choice at"
    return f"the {kind} '{node}'", node if node in facts.net.tasks else next(iter(facts.doing(block)), node)


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
        yield Finding("side_by_side", (free & apart).bit_count(), free.bit_count())
        for other in bits_of(clash):
            yield Finding("independent", 0, advice=_race(facts, atoms.atoms[other], one))
        doing |= 1 << at


def _race(facts: Facts, one: Block, other: Block) -> Advice | None:
    mine, yours = facts.data(one), facts.data(other)
    if mine.reads is None or mine.writes is None or yours.reads is None or yours.writes is None:
        return None
    shared = mine.writes & (yours.reads | yours.writes) | mine.reads & yours.writes
    clash = sorted(name for name in shared if not name.startswith(TIE))
    tasks = facts.doing(one)[:1] + facts.doing(other)[:1]
    why = f"They run in parallel and share {_named(clash)}: which comes first is chance."
    return _advice("compliance", tasks, f"Do {_named(tasks)} in sequence.", why) if clash else None


def _choice(facts: Facts, block: Block) -> Iterator[Finding]:
    """Look at choices: good if they are closed by a join, decided, and their ways distinct."""
    if isinstance(block, Branches) and is_choice(block):
        yield Finding("closed", 1)
        yield from _decided(facts, block.split, block.choices, block.parts)
    if not isinstance(block, Tangle):
        return
    for at, corner in enumerate(block.corners):
        ways = [number for number, (source, _) in enumerate(block.links) if source == at]
        if not corner.joins and corner.kind != "and" and len(ways) > 1:
            yield Finding("closed", 0)
            choices = tuple(block.choices[way] for way in ways)
            yield from _decided(facts, corner.node, choices, [block.parts[way] for way in ways])


def _decided(
    facts: Facts, split: str | None, choices: tuple[Choice, ...], ways: Iterable[Block]
) -> Iterator[Finding]:
    without = sum(one.predicate is None for one in choices)
    decided = without <= 1 or all(one.probability is not None for one in choices)
    change = f"Give the flows out of '{split}' predicates and a default, or probabilities."
    why = "Nothing states how a way is chosen; all count as equally likely."
    # At a condition, whichever task comes first decides.
    good = decided or split in facts.net.conditions
    yield Finding("decided", int(good), advice=_advice("maintainability", (split,), change, why))
    looks = [_look(facts, way) for way in ways]
    yield Finding("distinct", int(len(set(looks)) == len(looks)))


def _look(facts: Facts, block: Block) -> tuple[object, ...]:
    """Return the visible labels of a block and how they are arranged."""
    if isinstance(block, Step):
        task = facts.net.tasks.get(block.node)
        return () if task is None or task.label is None else (task.label,)
    looks = [_look(facts, part) for part in block.parts]
    if isinstance(block, Sequence):
        return tuple(label for look in looks for label in look)
    return ((type(block), getattr(block, "kind", None), *looks),)


def _loop(facts: Facts, block: Block) -> Iterator[Finding]:
    """Look at loops: good if they can be left, and a task of theirs has a limit."""
    if not isinstance(block, Loop):
        return
    yield Finding("structured", 1)
    unlikely = None
    try:
        way_back(block)
    except EndlessError as error:
        change = f"Make the flow out of the loop at '{block.split}' more likely."
        unlikely = _advice("performance", (block.split,), change, str(error))
    yield Finding("can_be_left", int(block.choices[0].weight > 0), advice=unlikely)
    limited = any(facts.net.tasks[node].limit for node in facts.steps(block) if node in facts.net.tasks)
    tasks = facts.doing(block)[:1]
    change = f"Give {_named(tasks) or 'a task of the loop'} a limit."
    unbounded = _advice("maintainability", tasks, change, "Nothing states how often the loop may run.")
    yield Finding("bounded", int(limited), advice=unbounded)


# Recommendations --------------------------------------------------------------------------------------


def advice(facts: Facts, tree: Block, judged: Soundness, verdicts: Iterable[RuleVerdict]) -> list[Advice]:
    """Return recommendations, mistakes first."""
    found = [*_wrong(facts, judged, verdicts), *_gates(facts, tree)]
    for pattern in ("parallel", "loop", "sequential", "choice"):
        bad = (one for one in findings(facts, tree, pattern) if one.good < one.places)
        found += [one.advice for one in bad if one.advice is not None]
    found += _undeclared(facts)
    return list(dict.fromkeys(found))[:_MAX_ADVICE]


def _wrong(facts: Facts, judged: Soundness, verdicts: Iterable[RuleVerdict]) -> Iterator[Advice]:
    for failure in judged.failures:
        tasks = (failure.task,) if failure.task is not None else failure.trace[-1:]
        after = f" after {', '.join(failure.trace)}" if failure.trace else ""
        yield _advice("compliance", tasks, f"Fix what happens{after}.", failure.why)
    for one in verdicts:
        if one.holds is False and one.trace is not None:
            lacking = [task for task in one.rule.tasks if facts.resource(task) is None]
            change = f"Change the workflow so that {rule_text(one.rule)}, or remove the rule."
            if one.rule.kind == "separation_of_duties" and lacking:
                change = f"Give {_named(lacking)} a resource."
            yield _advice("compliance", one.rule.tasks, change, one.why or "")


def _gates(facts: Facts, tree: Block) -> Iterator[Advice]:
    found = mismatches(tree)
    for one in found:
        split, join_ = one.split, one.join
        change = f"Make '{join_.node}' an {split.kind}-join, or '{split.node}' an {join_.kind}-split."
        yield _advice("maintainability", (split.node, join_.node), change, str(one))
    gates = [gate for gate in loose_gates(tree) if gate in facts.net.tasks][:_MAX_NAMED]
    if gates and not found:
        change = f"Close the splits of {_named(gates)} with joins of the same kind, block within block."
        yield _advice("maintainability", gates, change, unstructured_because(tree) or "")


def _undeclared(facts: Facts) -> Iterator[Advice]:
    if facts.undeclared:
        change = f"Declare what {_named(facts.undeclared)} reads and writes."
        why = "Undeclared data counts as dependent on everything."
        yield _advice("performance", facts.undeclared, change, why)
    if facts.timeless:
        why = "A task without a duration counts as 1."
        yield _advice("performance", facts.timeless, f"Give {_named(facts.timeless)} a duration.", why)
