"""Whether the rules of a workflow hold in every complete case, and if not, a case that breaks them.

All that a rule asks of a case is which of its two tasks occur, and which of them comes first and last. States are searched for a case that
breaks it: of a tree those of its two tasks alone, otherwise all, up to the bound.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from halflap.core.text import join
from halflap.workflows.analysis.states import explore, unfolded
from halflap.workflows.answers import RuleResult

if TYPE_CHECKING:
    from halflap.workflows.analysis.study import Study
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
    """Return what a rule demands, as a clause."""
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

    if study.problem is not None:
        return answer(None, f"Whether {rule_text(rule)} is unknown: {study.problem}")
    if study.block is None and study.space.final is None:
        if rule.kind == "required":
            return answer(False, f"No case can be completed, so none has '{rule.tasks[0]}'.")
        return answer(None, f"Whether {rule_text(rule)} is not judged: no case can be completed.")
    resources = [study.net.tasks[task].resource for task in rule.tasks]
    lacking = [f"'{task}'" for task, resource in zip(rule.tasks, resources, strict=True) if resource is None]
    separate = rule.kind == "separation_of_duties"
    trace = None if separate and not lacking and len({*resources}) > 1 else _breaking_case(study, rule)
    if trace is None:
        return answer(True)
    why = f"It does not hold that {rule_text(rule)}."
    if separate and lacking:
        why = f"{join(lacking)} declares no resource, so it cannot be shown that {rule_text(rule)}."
    return answer(False, why, trace)


def _breaking_case(study: Study, rule: Rule) -> list[str] | None:
    """Return the tasks of a case that breaks a rule."""
    space = (
        study.space
        if study.block is None
        else explore(unfolded(study.net, study.block, rule.tasks), study.bound)
    )
    start = (0, _Seen())
    came: dict[tuple[int, _Seen], tuple[tuple[int, _Seen], tuple[str, ...]] | None] = {start: None}
    waiting = [start]
    for state, seen in waiting:
        if state == space.final and seen.breaks(rule):
            trace: list[str] = []
            back = came[state, seen]
            while back is not None:
                trace[:0] = back[1]
                back = came[back[0]]
            return trace
        for step, target in space.steps[state]:
            tasks = space.machine.steps[step].tasks
            after = seen
            for task in tasks:
                after = after.after(task) if task in rule.tasks else after
            if target in space.ending and (target, after) not in came:
                came[target, after] = ((state, seen), tasks)
                waiting.append((target, after))
    return None
