"""What would make a workflow better: each recommendation names the tasks and the change."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice, pairwise
from typing import TYPE_CHECKING, Any

from halflap.core.text import join
from halflap.workflows.analysis.states import bits_of
from halflap.workflows.model.block import (
    Branches,
    Loop,
    Sequence,
    Way,
    blocks_in,
    parts_of,
    rewritten,
    sequence,
    steps_of,
)
from halflap.workflows.model.reduce import loose_gates, mismatches, unstructured_because
from halflap.workflows.score.critical import Atoms, EndlessError, fused, way_back
from halflap.workflows.score.patterns import has_limit, is_decided, loose_choices
from halflap.workflows.score.rules import rule_text
from halflap.workflows.score.timing import Timing

if TYPE_CHECKING:
    from collections.abc import Iterator

    from halflap.workflows.analysis.soundness import Soundness
    from halflap.workflows.model.block import Block, Structure
    from halflap.workflows.model.net import Net
    from halflap.workflows.score.facts import Facts
    from halflap.workflows.score.rules import RuleVerdict

__all__ = ["Advice", "advice"]

_MAX_ADVICE = 50
_MAX_TRIED = 200
_MAX_NAMED = 10
_CLOSE = 1e-9


@dataclass(frozen=True, slots=True)
class Advice:
    """One recommendation."""

    dimension: str
    tasks: tuple[str, ...]
    change: str
    why: str

    def response(self) -> dict[str, Any]:
        return {
            "dimension": self.dimension,
            "tasks": list(self.tasks),
            "change": self.change,
            "why": self.why,
        }


def advice(
    facts: Facts, structure: Structure, judged: Soundness, verdicts: tuple[RuleVerdict, ...]
) -> list[Advice]:
    """Return recommendations, mistakes first."""
    found = [*_wrong(facts.net, judged, verdicts), *_gates(facts.net, structure)]
    for block in structure.blocks:
        found += [*_races(facts, block), *_loops(facts, block)]
        found += _parallel(facts, block, whole=structure.block is not None)
    found += [*_undecided(facts, structure), *_undeclared(facts), *_idle(facts, structure)]
    return list(dict.fromkeys(found))[:_MAX_ADVICE]


def _named(names: list[str] | tuple[str, ...]) -> str:
    return join((f"'{one}'" for one in names), limit=_MAX_NAMED)


def _wrong(net: Net, judged: Soundness, verdicts: tuple[RuleVerdict, ...]) -> Iterator[Advice]:
    for failure in judged.failures:
        tasks = (failure.task,) if failure.task is not None else failure.trace[-1:]
        after = f" after {', '.join(failure.trace)}" if failure.trace else ""
        yield Advice("compliance", tasks, f"Fix what happens{after}.", failure.why)
    for one in verdicts:
        if one.holds is False and one.trace is not None:
            lacking = [task for task in one.rule.tasks if net.tasks[task].resource is None]
            change = f"Change the workflow so that {rule_text(one.rule)}, or remove the rule."
            if one.rule.kind == "separation_of_duties" and lacking:
                change = f"Give {_named(lacking)} a resource."
            yield Advice("compliance", one.rule.tasks, change, one.why or "")


def _gates(net: Net, structure: Structure) -> Iterator[Advice]:
    found = mismatches(structure)
    for one in found:
        change = f"Make '{one.join}' an {one.split_kind}-join, or '{one.split}' an {one.join_kind}-split."
        yield Advice("maintainability", (one.split, one.join), change, str(one))
    gates = tuple(gate for gate in loose_gates(structure) if gate in net.tasks)[:_MAX_NAMED]
    if structure.block is None and gates and not found:
        change = f"Close the splits of {_named(gates)} with joins of the same kind, block within block."
        yield Advice("maintainability", gates, change, unstructured_because(structure) or "")


def _parallel(facts: Facts, block: Block, *, whole: bool) -> list[Advice]:
    """Find neighbours in a sequence that need not wait for each other, the largest saving first."""
    timing = Timing(facts)
    try:
        now = timing.mean(block)[0]
    except EndlessError:
        return []
    found = []
    for new, (first, then) in islice(_side_by_side(facts, block), _MAX_TRIED):
        after, exact = timing.mean(new)
        gain = now - after
        if gain <= _CLOSE * max(1.0, now):
            continue
        tasks = tuple(dict.fromkeys((_gate(facts, first)[1], _gate(facts, then)[1])))
        saves = f"; that saves {'' if exact else 'about '}{gain:g}." if whole else "."
        change = f"Do {_gate(facts, first)[0]} and {_gate(facts, then)[0]} in parallel."
        found.append((gain, Advice("performance", tasks, change, f"Neither needs the other's data{saves}")))
    return [one for _, one in sorted(found, key=lambda pair: -pair[0])]


def _side_by_side(facts: Facts, block: Block) -> Iterator[tuple[Block, tuple[Block, Block]]]:
    """Yield the block with each two independent neighbours in parallel, and which those are."""
    pairs: list[tuple[Block, Block]] = []

    def change(one: Block) -> Iterator[tuple[Block, str]]:
        parts = fused(one.parts) if isinstance(one, Sequence) else []
        doing = [at for at, part in enumerate(parts) if facts.doing(part)]
        for at, other in pairwise(doing):
            first, then = parts[at], parts[other]
            if not facts.depend(first, then):
                pairs.append((first, then))
                both = Branches("and", (Way(first), Way(then)))
                yield sequence((*parts[:at], *parts[at + 1 : other], both, *parts[other + 1 :])), ""

    for new, _ in rewritten(block, change):
        yield new, pairs[-1]


def _gate(facts: Facts, block: Block) -> tuple[str, str]:
    """Return how to call a part of a sequence, and the task that it is named by."""
    last = parts_of(block)[-1]
    if not isinstance(last, Branches | Loop):
        node = next(steps_of(last))
        return f"'{node}'", node
    node = last.split or ""
    kind = (
        "the loop at"
        if isinstance(last, Loop)
        else "the parallel block of"
        if last.kind == "and"
        else "the choice at"
    )
    return f"{kind} '{node}'", node if node in facts.net.tasks else next(iter(facts.doing(block)), node)


def _races(facts: Facts, block: Block) -> Iterator[Advice]:
    """Find what runs in parallel though it shares data."""
    atoms = Atoms(block)
    for at, depends in enumerate(atoms.depends(facts)):
        for before in bits_of(depends & ~atoms.before[at]):
            one, other = facts.data(atoms.atoms[before]), facts.data(atoms.atoms[at])
            if one.reads is None or one.writes is None or other.reads is None or other.writes is None:
                continue
            clash = sorted(one.writes & (other.reads | other.writes) | one.reads & other.writes)
            if clash:
                tasks = facts.doing(atoms.atoms[before])[:1] + facts.doing(atoms.atoms[at])[:1]
                why = f"They run in parallel and share {_named(clash)}: which comes first is chance."
                yield Advice("compliance", tuple(tasks), f"Do {_named(tasks)} in sequence.", why)


def _loops(facts: Facts, block: Block) -> Iterator[Advice]:
    for one in blocks_in(block):
        if not isinstance(one, Loop):
            continue
        try:
            way_back(one)
        except EndlessError as error:
            change = f"Make the flow out of the loop at '{one.split}' more likely."
            yield Advice("performance", (one.split,) if one.split else (), change, str(error))
        if not has_limit(facts, facts.steps(one)):
            tasks = facts.doing(one)[:1]
            change = f"Give {_named(tasks) or 'a task of the loop'} a limit."
            yield Advice(
                "maintainability", tuple(tasks), change, "Nothing states how often the loop may run."
            )


def _undecided(facts: Facts, structure: Structure) -> Iterator[Advice]:
    choices = [
        (one.split, one.ways)
        for block in structure.blocks
        for one in blocks_in(block)
        if isinstance(one, Branches) and one.kind != "and"
    ]
    for split, ways in (*choices, *loose_choices(structure)):
        if not is_decided(facts, split, ways):
            change = f"Give the flows out of '{split}' predicates and a default, or probabilities."
            why = "Nothing states how a way is chosen; all count as equally likely."
            yield Advice("maintainability", (split,) if split else (), change, why)


def _undeclared(facts: Facts) -> Iterator[Advice]:
    tasks = [task for task in facts.net.tasks.values() if not facts.routes(task.id)]
    unknown = tuple(task.id for task in tasks if task.reads is None or task.writes is None)
    if unknown:
        why = "Undeclared data counts as dependent on everything."
        yield Advice("performance", unknown, f"Declare what {_named(unknown)} reads and writes.", why)
    timeless = tuple(task.id for task in tasks if task.duration is None and task.label is not None)
    if timeless:
        why = "A task without a duration counts as 1."
        yield Advice("performance", timeless, f"Give {_named(timeless)} a duration.", why)


def _idle(facts: Facts, structure: Structure) -> Iterator[Advice]:
    for block in structure.blocks:
        for one in blocks_in(block):
            parts = one.parts if isinstance(one, Sequence) else ()
            for at, part in enumerate(parts):
                beside = (*parts[max(at - 1, 0) : at], *parts[at + 1 : at + 2])
                nodes = [] if isinstance(part, Branches | Loop) else list(steps_of(part))
                if len(nodes) != 1 or any(isinstance(one, Branches | Loop) for one in beside):
                    continue
                if nodes[0] in facts.net.tasks and facts.removable(nodes[0]):
                    change = f"Remove '{nodes[0]}'."
                    yield Advice("maintainability", (nodes[0],), change, "It is silent and does nothing.")
