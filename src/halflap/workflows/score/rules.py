"""Whether the rules of a workflow hold in every complete case, and if not, a case that breaks them.

A rule depends only on which of its two tasks occur in a case, and which of them comes first and last. The state space is searched
for a case that breaks it: of a tree that of its two tasks alone, otherwise the whole one, up to the bound.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import reduce
from typing import TYPE_CHECKING, NamedTuple

from halflap.workflows.analysis.states import explore, petri_net_of_tree, shortest_path
from halflap.workflows.answers import RuleResult
from halflap.workflows.model.net import quoted

if TYPE_CHECKING:
    from halflap.workflows.analysis.states import StateSpace
    from halflap.workflows.analysis.study import Study
    from halflap.workflows.model.block import Block
    from halflap.workflows.model.net import Rule


class _Seen(NamedTuple):
    """Which task of a rule came first in a case so far, which last, and whether both came."""

    first: str = ""
    last: str = ""
    both: bool = False

    def after(self, task: str) -> _Seen:
        return _Seen(self.first or task, task, self.both or self.last not in {"", task})

    def breaks(self, rule: Rule) -> bool:
        match rule.kind:
            case "precedence":
                return self.first == rule.tasks[1]
            case "response":
                return self.last == rule.tasks[0]
            case "required":
                return not self.first
            case _:
                return self.both


def rule_text(rule: Rule | RuleResult) -> str:
    """Return what a rule requires, as a clause."""
    one, other = (f"'{task}'" for task in (*rule.tasks, "")[:2])
    return {
        "precedence": f"{one} comes before any {other}",
        "response": f"{other} comes after every {one}",
        "exclusion": f"no case has both {one} and {other}",
        "separation_of_duties": f"{one} and {other} are done by different resources",
        "required": f"every case has {one}",
    }[rule.kind]


def check_rule(study: Study, rule: Rule) -> RuleResult:
    """Check a rule over all complete cases."""

    def answer(holds: bool | None, message: str | None = None, trace: list[str] | None = None) -> RuleResult:
        return RuleResult(kind=rule.kind, tasks=rule.tasks, holds=holds, message=message, trace=trace)

    space = study.space if study.block is None else _space_of(study, study.block, rule)
    if space.problem is not None:
        return answer(None, f"Whether {rule_text(rule)} is unknown: {space.problem}")
    if space.final is None:
        if rule.kind == "required":
            return answer(False, f"No case can be completed, so none has '{rule.tasks[0]}'.")
        return answer(None, f"Whether {rule_text(rule)} is not judged: no case can be completed.")
    resources = [study.net.tasks[task].resource for task in rule.tasks]
    lacking = [task for task, resource in zip(rule.tasks, resources, strict=True) if resource is None]
    separate = rule.kind == "separation_of_duties"
    trace = None if separate and not lacking and len({*resources}) > 1 else _breaking_case(space, rule)
    if trace is None:
        return answer(True)
    why = f"It does not hold that {rule_text(rule)}."
    if separate and lacking:
        why = f"{quoted(lacking)} declares no resource, so it cannot be shown that {rule_text(rule)}."
    return answer(False, why, trace)


def _space_of(study: Study, block: Block, rule: Rule) -> StateSpace:
    return explore(petri_net_of_tree(study.net, block, rule.tasks), study.bound)


def _breaking_case(space: StateSpace, rule: Rule) -> list[str] | None:
    """Return the tasks of a case that breaks a rule."""

    def edges(node: tuple[int, _Seen]) -> Iterator[tuple[tuple[str, ...], tuple[int, _Seen]]]:
        state, seen = node
        for number, target in space.edges[state]:
            if target in space.completable:
                tasks = space.petri_net.transitions[number].tasks
                named = [task for task in tasks if task in rule.tasks]
                yield tasks, (target, reduce(_Seen.after, named, seen))

    def breaks(node: tuple[int, _Seen]) -> bool:
        return node[0] == space.final and node[1].breaks(rule)

    found = shortest_path((0, _Seen()), edges, breaks)
    return None if found is None else [task for tasks in found[1] for task in tasks]
