"""How well a workflow uses four patterns, and what would make it better: one list of findings answers both.

A finding is one place where a pattern could be used well: two neighbours in a sequence, two tasks that could be parallel, what a choice or a loop
should state. A pattern's score is the share of its findings that are good; each bad one is a recommendation, if it names a change.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Literal, NamedTuple

from halflap.core.text import join
from halflap.workflows.analysis.states import bits_of
from halflap.workflows.answers import Advice
from halflap.workflows.model.block import (
    Block,
    Branches,
    Loop,
    Sequence,
    Step,
    Way,
    blocks_in,
    inner,
    parts_of,
    steps_of,
)
from halflap.workflows.model.reduce import loose_gates, mismatches, unstructured_because
from halflap.workflows.score.critical import Atoms, EndlessError, closure, fused, way_back
from halflap.workflows.score.rules import rule_text
from halflap.workflows.score.timing import Timing

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from halflap.workflows.analysis.soundness import Soundness
    from halflap.workflows.model.block import Structure
    from halflap.workflows.model.net import Net
    from halflap.workflows.score.facts import Facts
    from halflap.workflows.score.rules import RuleVerdict

__all__ = ["PATTERNS", "Finding", "Pattern", "advice", "findings", "pattern_score", "pattern_scores"]

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


def findings(facts: Facts, structure: Structure, pattern: Pattern) -> Iterator[Finding]:
    if pattern == "parallel":
        for level in _levels(structure):
            yield from _parallel(facts, level)
    elif pattern == "choice":
        yield from _choices(facts, structure)
    else:
        for block in structure.blocks:
            for one in blocks_in(block):
                if pattern == "sequential" and isinstance(one, Sequence):
                    yield from _neighbours(facts, one)
                elif pattern == "loop" and isinstance(one, Loop):
                    yield from _loop(facts, one)


def pattern_score(found: Iterable[Finding]) -> float | None:
    """Return the share of good places; None for a pattern without any."""
    good = count = 0
    for one in found:
        good += one.good
        count += one.places
    return good / count if count else None


def pattern_scores(
    facts: Facts, structure: Structure, wanted: Iterable[Pattern]
) -> dict[Pattern, float | None]:
    return {name: pattern_score(findings(facts, structure, name)) for name in wanted}


def _advice(dimension: str, tasks: Iterable[str | None], change: str, why: str) -> Advice:
    named = tuple(task for task in tasks if task)
    return Advice(dimension=dimension, tasks=named, change=change, why=why)  # type: ignore[arg-type]


def _named(names: Iterable[str]) -> str:
    return join((f"'{one}'" for one in names), limit=_MAX_NAMED)


def _neighbours(facts: Facts, block: Sequence) -> Iterator[Finding]:
    """Look at neighbours in a sequence: good if the second needs the first."""
    timing = Timing(facts, quick=True)
    for first, then in pairwise(part for part in fused(block.parts) if facts.doing(part)):
        if facts.depend(first, then):
            yield Finding("dependent", 1)
            continue
        try:
            one_by_one = timing.mean(first)[0] + timing.mean(then)[0]
            gain = one_by_one - timing.mean(Branches("and", (Way(first), Way(then))))[0]
        except EndlessError:
            gain = 0.0
        found = None
        if gain > _CLOSE:
            (one, task), (other, second) = _called(facts, first), _called(facts, then)
            why = f"Neither needs the other's data; together they take {gain:g} less."
            found = _advice(
                "performance", dict.fromkeys((task, second)), f"Do {one} and {other} in parallel.", why
            )
        yield Finding("dependent", 0, advice=found)


def _called(facts: Facts, block: Block) -> tuple[str, str]:
    """Return how to refer to a part of a sequence, and the task that it is named by."""
    last = parts_of(block)[-1]
    if not isinstance(last, Branches | Loop):
        node = next(steps_of(last))
        return f"'{node}'", node
    node = last.split or ""
    kind = "loop at" if isinstance(last, Loop) else "parallel block of" if last.kind == "and" else "choice at"
    return f"the {kind} '{node}'", node if node in facts.net.tasks else next(iter(facts.doing(block)), node)


def _levels(structure: Structure) -> Iterator[Block]:
    """Yield the blocks whose atoms can be compared: each whole, and each way of a choice or loop within."""
    for block in structure.blocks:
        yield block
        for one in blocks_in(block):
            if isinstance(one, Loop) or (isinstance(one, Branches) and one.kind != "and"):
                yield from inner(one)


def _parallel(facts: Facts, level: Block) -> Iterator[Finding]:
    """Look at pairs of atoms: good if they are independent and side by side, bad if only one of that holds."""
    atoms = Atoms(level)
    depends = atoms.depends(facts)
    closed = closure([one & before for one, before in zip(depends, atoms.before, strict=True)])
    doing = 0
    for at, one in enumerate(atoms.atoms):
        if not facts.doing(one):
            continue
        apart = doing & ~atoms.before[at]
        clash = apart & depends[at]
        free = doing & ~clash & ~closed[at]
        yield Finding("side_by_side", (free & apart).bit_count(), free.bit_count())
        for other in bits_of(clash):
            yield Finding("independent", 0, advice=_race(facts, atoms.atoms[other], one))
        doing |= 1 << at


def _race(facts: Facts, one: Block, other: Block) -> Advice | None:
    mine, yours = facts.data(one), facts.data(other)
    if mine.reads is None or mine.writes is None or yours.reads is None or yours.writes is None:
        return None
    clash = sorted(mine.writes & (yours.reads | yours.writes) | mine.reads & yours.writes)
    tasks = facts.doing(one)[:1] + facts.doing(other)[:1]
    why = f"They run in parallel and share {_named(clash)}: which comes first is chance."
    return _advice("compliance", tasks, f"Do {_named(tasks)} in sequence.", why) if clash else None


def _choices(facts: Facts, structure: Structure) -> Iterator[Finding]:
    closed: list[tuple[str | None, tuple[Way, ...]]] = [
        (one.split, one.ways)
        for block in structure.blocks
        for one in blocks_in(block)
        if isinstance(one, Branches) and one.kind != "and"
    ]
    loose: list[tuple[str | None, tuple[Way, ...]]] = []
    for at, corner in enumerate(structure.corners if structure.block is None else ()):
        ways = tuple(link.way for link in structure.links if link.source == at)
        if not corner.joins and corner.kind != "and" and len(ways) > 1:
            loose.append((corner.node, ways))
    yield Finding("closed", len(closed), len(closed) + len(loose))
    for split, ways in (*closed, *loose):
        change = f"Give the flows out of '{split}' predicates and a default, or probabilities."
        why = "Nothing states how a way is chosen; all count as equally likely."
        undecided = _advice("maintainability", (split,), change, why)
        yield Finding("decided", int(_is_decided(facts, split, ways)), advice=undecided)
        looks = [_look(facts, way.block) for way in ways]
        yield Finding("distinct", int(len(set(looks)) == len(looks)))


def _is_decided(facts: Facts, split: str | None, ways: tuple[Way, ...]) -> bool:
    """Return whether it is stated how a way is chosen: by what comes first, predicates or at least probabilities."""
    without = sum(way.choice.predicate is None for way in ways)
    stated = without <= 1 or all(way.choice.probability is not None for way in ways)
    return stated or split in facts.net.conditions


def _look(facts: Facts, block: Block) -> tuple[object, ...]:
    """Return the visible labels of a block and how they are arranged."""
    if isinstance(block, Step):
        task = facts.net.tasks.get(block.node)
        return () if task is None or task.label is None else (task.label,)
    looks = [_look(facts, part) for part in inner(block)]
    if isinstance(block, Sequence):
        return tuple(label for look in looks for label in look)
    return (("loop" if isinstance(block, Loop) else block.kind, *looks),)


def _loop(facts: Facts, loop: Loop) -> Iterator[Finding]:
    yield Finding("structured", 1)
    unlikely = None
    try:
        way_back(loop)
    except EndlessError as error:
        change = f"Make the flow out of the loop at '{loop.split}' more likely."
        unlikely = _advice("performance", (loop.split,), change, str(error))
    yield Finding("can_be_left", int(loop.leave_weight > 0), advice=unlikely)
    limits = (task.limit for node in facts.steps(loop) if (task := facts.net.tasks.get(node)) is not None)
    tasks = facts.doing(loop)[:1]
    change = f"Give {_named(tasks) or 'a task of the loop'} a limit."
    unbounded = _advice("maintainability", tasks, change, "Nothing states how often the loop may run.")
    yield Finding("bounded", int(any(limit is not None for limit in limits)), advice=unbounded)


# Recommendations --------------------------------------------------------------------------------------


def advice(
    facts: Facts, structure: Structure, judged: Soundness, verdicts: tuple[RuleVerdict, ...]
) -> list[Advice]:
    """Return recommendations, mistakes first."""
    found = [*_wrong(facts.net, judged, verdicts), *_gates(facts.net, structure)]
    for pattern in ("parallel", "loop", "sequential", "choice"):
        bad = (one for one in findings(facts, structure, pattern) if one.good < one.places)
        found += [one.advice for one in bad if one.advice is not None]
    found += [*_undeclared(facts), *_idle(facts, structure)]
    return list(dict.fromkeys(found))[:_MAX_ADVICE]


def _wrong(net: Net, judged: Soundness, verdicts: tuple[RuleVerdict, ...]) -> Iterator[Advice]:
    for failure in judged.failures:
        tasks = (failure.task,) if failure.task is not None else failure.trace[-1:]
        after = f" after {', '.join(failure.trace)}" if failure.trace else ""
        yield _advice("compliance", tasks, f"Fix what happens{after}.", failure.why)
    for one in verdicts:
        if one.holds is False and one.trace is not None:
            lacking = [task for task in one.rule.tasks if net.tasks[task].resource is None]
            change = f"Change the workflow so that {rule_text(one.rule)}, or remove the rule."
            if one.rule.kind == "separation_of_duties" and lacking:
                change = f"Give {_named(lacking)} a resource."
            yield _advice("compliance", one.rule.tasks, change, one.why or "")


def _gates(net: Net, structure: Structure) -> Iterator[Advice]:
    found = mismatches(structure)
    for one in found:
        change = f"Make '{one.join}' an {one.split_kind}-join, or '{one.split}' an {one.join_kind}-split."
        yield _advice("maintainability", (one.split, one.join), change, str(one))
    gates = [gate for gate in loose_gates(structure) if gate in net.tasks][:_MAX_NAMED]
    if structure.block is None and gates and not found:
        change = f"Close the splits of {_named(gates)} with joins of the same kind, block within block."
        yield _advice("maintainability", gates, change, unstructured_because(structure) or "")


def _undeclared(facts: Facts) -> Iterator[Advice]:
    if facts.undeclared:
        change = f"Declare what {_named(facts.undeclared)} reads and writes."
        why = "Undeclared data counts as dependent on everything."
        yield _advice("performance", facts.undeclared, change, why)
    if facts.timeless:
        why = "A task without a duration counts as 1."
        yield _advice("performance", facts.timeless, f"Give {_named(facts.timeless)} a duration.", why)


def _idle(facts: Facts, structure: Structure) -> Iterator[Advice]:
    """Find silent tasks that do nothing and are no gate of what is next to them."""
    for block in structure.blocks:
        for one in blocks_in(block):
            parts: tuple[Block | None, ...] = (None, *one.parts, None) if isinstance(one, Sequence) else ()
            for before, part, after in zip(parts, parts[1:], parts[2:], strict=False):
                beside = isinstance(before, Branches | Loop) or isinstance(after, Branches | Loop)
                if not isinstance(part, Step) or beside or part.node not in facts.net.tasks:
                    continue
                if facts.removable(part.node):
                    why = "It is silent and does nothing."
                    yield _advice("maintainability", (part.node,), f"Remove '{part.node}'.", why)
