"""What would make a workflow better: each recommendation names the tasks and the change."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice, pairwise
from typing import TYPE_CHECKING, Any

from halflap.workflows.circles import circles
from halflap.workflows.patterns import decidable, every, limit_in
from halflap.workflows.pieces.piece import Branching, Loop, Series, Way, parts_of, series, steps_of, within
from halflap.workflows.rules import rule_text
from halflap.workflows.states import bits_of
from halflap.workflows.timing.clock import EndlessError
from halflap.workflows.timing.critical import Atoms, fused
from halflap.workflows.timing.makespan import NEARLY_ALWAYS, Timing
from halflap.workflows.timing.playing import shares

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from halflap.workflows.pieces.facts import Facts
    from halflap.workflows.pieces.piece import Layout, Piece
    from halflap.workflows.rules import Verdict
    from halflap.workflows.soundness import Soundness
    from halflap.workflows.study import Study

__all__ = ["Advice", "advice"]

_MOST = 50
_MOST_TRIED = 200
_CLOSE = 1e-9
_MOST_NAMED = 10


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
    study: Study, layout: Layout, facts: Facts, judged: Soundness, verdicts: Sequence[Verdict]
) -> list[Advice]:
    """Recommend what can be, what is wrong first."""
    found = [*_wrong(study, judged, verdicts), *_gates(study, layout)]
    pieces = [link.way.piece for link in layout.links]
    for piece in pieces:
        found += _races(facts, piece)
        found += _endless(piece)
        found += _beside(facts, piece, whole=layout.piece is not None)
        found += _told(facts, piece)
    if layout.piece is None:
        found += _loose(facts, layout)
    found += _missing(facts)
    found += _idle(facts, pieces)
    return list(dict.fromkeys(found))[:_MOST]


def _wrong(study: Study, judged: Soundness, verdicts: Sequence[Verdict]) -> Iterator[Advice]:
    for failure in judged.failures:
        named = (failure.task,) if failure.task is not None else failure.trace[-1:]
        after = f" after {', '.join(failure.trace)}" if failure.trace else ""
        yield Advice("compliance", named, f"Mend what happens{after}.", failure.why)
    for one in verdicts:
        # Where no case can be completed, that has to be mended first; it is told above.
        if one.holds is False and one.trace is not None:
            lacking = [task for task in one.rule.tasks if study.net.tasks[task].resource is None]
            if one.rule.kind == "separation_of_duties" and lacking:
                change = f"Say who does {_named(lacking)}."
            else:
                change = f"Change the workflow so that {rule_text(one.rule)}, or take the rule out."
            yield Advice("compliance", one.rule.tasks, change, one.why or "")


def _gates(study: Study, layout: Layout) -> Iterator[Advice]:
    if layout.piece is not None:
        return
    for one in study.structure.mismatches:
        yield Advice(
            "maintainability",
            (one.split, one.join),
            f"Make the join of '{one.join}' {one.split_kind}, or the split of '{one.split}' {one.join_kind}.",
            f"'{one.split}' splits by {one.split_kind}, and its ways come together in '{one.join}', which joins by {one.join_kind}.",
        )
    gates = tuple(gate for gate in study.structure.gates if gate in study.net.tasks)[:_MOST_NAMED]
    if gates and not study.structure.mismatches:
        yield Advice(
            "maintainability",
            gates,
            f"Let the ways out of {_named(gates)} come together in joins of their own kind, block within block.",
            study.structure.problem or "",
        )


def _beside(facts: Facts, piece: Piece, *, whole: bool) -> list[Advice]:
    """Find neighbours in a series that need not wait for each other, what saves most first.

    What it would save is what the whole takes less once it is so: of a way that is seldom taken that is little. Where
    the piece is not the whole it is not said, since what runs beside it may take longer anyway.
    """
    timing = Timing(facts)
    try:
        now = timing.expected(piece)
    except EndlessError:
        return []
    found = []
    for new, (first, then) in islice(_side_by_side(facts, piece), _MOST_TRIED):
        after = timing.time(new)
        if after.value is None or now - after.value <= _CLOSE * max(1.0, now):
            continue
        names = (*_named_in(facts, first), *_named_in(facts, then))
        gain = now - after.value
        about = "" if after.method == "exact" else "about "
        saves = f"; that would save {about}{gain:g}." if whole else "."
        change = f"Do {_called(first)} and {_called(then)} side by side."
        why = f"Neither needs what the other gives{saves}"
        found.append((gain, Advice("performance", tuple(dict.fromkeys(names)), change, why)))
    return [one for _, one in sorted(found, key=lambda pair: -pair[0])]


def _side_by_side(facts: Facts, piece: Piece) -> Iterator[tuple[Piece, tuple[Piece, Piece]]]:
    """Give the piece with each two neighbours side by side that need not wait for each other, and which those are."""
    pairs: list[tuple[Piece, Piece]] = []

    def change(one: Piece) -> Iterator[tuple[Piece, str]]:
        if not isinstance(one, Series):
            return
        parts = fused(one.parts)
        does = [
            at for at, part in enumerate(parts) if any(not facts.routes(node) for node in facts.steps(part))
        ]
        for at, other in pairwise(does):
            first, then = parts[at], parts[other]
            if not facts.depend(first, then):
                pairs.append((first, then))
                both = Branching("and", (Way(first), Way(then)))
                between = parts[at + 1 : other]
                yield series((*parts[:at], *between, both, *parts[other + 1 :])), ""

    for new, _ in within(piece, change):
        yield new, pairs[-1]


def _called(piece: Piece) -> str:
    """Say what a part of a series is: a task, or the block that it is, by its gate."""
    name = _gate(piece)
    match parts_of(piece)[-1]:
        case Loop():
            return f"the loop at '{name}'"
        case Branching(kind="and"):
            return f"what '{name}' begins side by side"
        case Branching():
            return f"the choice at '{name}'"
        case _:
            return f"'{name}'"


def _gate(piece: Piece) -> str:
    last = parts_of(piece)[-1]
    if isinstance(last, Branching | Loop):
        return last.split or ""
    return next(steps_of(last))


def _named_in(facts: Facts, piece: Piece) -> list[str]:
    """Give the task that a part of a series is named by; where that is a condition, the first that does something."""
    name = _gate(piece)
    return [name] if name in facts.net.tasks else _doing(facts, piece)[:1]


def _doing(facts: Facts, piece: Piece) -> list[str]:
    return [node for node in facts.net.tasks if node in facts.steps(piece) and not facts.routes(node)]


def _races(facts: Facts, piece: Piece) -> Iterator[Advice]:
    """Find what stands side by side though it depends on each other, by data that is known."""
    atoms = Atoms(piece)
    for at, depends in enumerate(atoms.depends(facts)):
        one = atoms.atoms[at]
        for before in bits_of(depends & ~atoms.before[at]):
            other = atoms.atoms[before]
            mine, yours = facts.data(one), facts.data(other)
            if None in {mine.reads, mine.writes, yours.reads, yours.writes}:
                continue
            clash = sorted(
                (mine.writes or frozenset()) & ((yours.reads or frozenset()) | (yours.writes or frozenset()))
                | (mine.reads or frozenset()) & (yours.writes or frozenset())
            )
            if clash:
                names = (_doing(facts, other)[:1] + _doing(facts, one)[:1]) or [""]
                yield Advice(
                    "compliance",
                    tuple(names),
                    f"Put {_named(names)} one after the other.",
                    f"They are done side by side, and both have to do with {_named(clash)}: which comes first is chance.",
                )


def _endless(piece: Piece) -> Iterator[Advice]:
    """Find loops that are never left."""
    for one in every(piece):
        if not isinstance(one, Loop):
            continue
        back = shares([one.again.weight, one.leave_weight])[0]
        if back > NEARLY_ALWAYS:
            yield Advice(
                "performance",
                (one.split,) if one.split else (),
                f"Give the flow out of the loop at '{one.split}' a higher probability, and the way back a lower one than {back:.10g}.",
                "The loop is never left, or hardly ever, so how long it takes can't be said.",
            )


def _loose(facts: Facts, layout: Layout) -> Iterator[Advice]:
    """Find choices and circles that are in no block and do not say what they should."""
    for circle in circles(layout):
        if circle.splits and not (circle.left and circle.out > 1 - NEARLY_ALWAYS):
            yield Advice(
                "performance",
                tuple(name for name in circle.splits if name in facts.net.tasks),
                f"Give a flow by which {_named(circle.splits)} {'leads' if len(circle.splits) == 1 else 'lead'} out of the circle a higher probability than {circle.out:.10g}.",
                "The circle is never left, or hardly ever, so how long it takes can't be said.",
            )
        names = [node for node in facts.net.tasks if node in circle.steps and not facts.routes(node)][:1]
        if names and not limit_in(facts, circle.steps):
            yield _limit(names)
    for at, corner in enumerate(layout.corners):
        ways = tuple(link.way for link in layout.links if link.source == at)
        chooses = not corner.joins and corner.kind != "and" and len(ways) > 1
        if chooses and not decidable(facts, corner.node, ways):
            yield _undecided(corner.node)


def _undecided(split: str | None) -> Advice:
    return Advice(
        "maintainability",
        (split,) if split else (),
        f"Give the flows out of '{split}' predicates and a default, or probabilities.",
        "It is not said how its way is chosen; all count as likely.",
    )


def _limit(names: Sequence[str]) -> Advice:
    return Advice(
        "maintainability",
        tuple(names),
        f"Give {_named(names) or 'a task of the loop'} a limit.",
        "It is in a loop, and nothing says how often it may be done.",
    )


def _told(facts: Facts, piece: Piece) -> Iterator[Advice]:
    for one in every(piece):
        if isinstance(one, Branching) and one.kind != "and" and not decidable(facts, one.split, one.ways):
            yield _undecided(one.split)
        elif isinstance(one, Loop) and not limit_in(facts, facts.steps(one)):
            yield _limit(_doing(facts, one)[:1])


def _missing(facts: Facts) -> Iterator[Advice]:
    tasks = [task for task in facts.net.tasks.values() if not facts.routes(task.id)]
    unknown = tuple(task.id for task in tasks if task.reads is None or task.writes is None)
    if unknown:
        yield Advice(
            "performance",
            unknown,
            f"Say what {_named(unknown)} {'reads and writes' if len(unknown) == 1 else 'read and write'}.",
            "Until then everything has to wait for it, and it for everything."
            if len(unknown) == 1
            else "Until then everything has to wait for them, and they for everything.",
        )
    timeless = tuple(task.id for task in tasks if task.duration is None and task.label is not None)
    if timeless:
        yield Advice(
            "performance",
            timeless,
            f"Give {_named(timeless)} {'a duration' if len(timeless) == 1 else 'durations'}.",
            "How long it takes is not said; 1 is taken."
            if len(timeless) == 1
            else "How long they take is not said; 1 is taken for each.",
        )


def _idle(facts: Facts, pieces: Sequence[Piece]) -> Iterator[Advice]:
    for piece in pieces:
        for one in every(piece):
            if not isinstance(one, Series):
                continue
            for at, part in enumerate(one.parts):
                nodes = facts.steps(part)
                if len(nodes) != 1 or isinstance(part, Branching | Loop):
                    continue
                (node,) = nodes
                after = one.parts[at + 1] if at + 1 < len(one.parts) else None
                before = one.parts[at - 1] if at else None
                gates = (isinstance(after, Branching | Loop), isinstance(before, Branching | Loop))
                if node in facts.net.tasks and facts.removable(node) and not any(gates):
                    yield Advice(
                        "maintainability", (node,), f"Take '{node}' out.", "It is silent, and does nothing."
                    )


def _named(names: Sequence[str]) -> str:
    shown = [f"'{one}'" for one in names[:_MOST_NAMED]]
    if len(names) > _MOST_NAMED:
        return f"{', '.join(shown)} and {len(names) - _MOST_NAMED} more"
    return " and ".join([", ".join(shown[:-1]), shown[-1]]) if len(shown) > 1 else "".join(shown)
