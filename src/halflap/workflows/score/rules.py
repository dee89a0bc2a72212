"""Whether the rules of a workflow hold in every complete case, and if not, a case that breaks them.

All that a rule asks of a case is which of its two tasks occur, and which of them comes first and last. States are searched for a case that
breaks it: of a tree those of its two tasks alone, otherwise all, up to the bound.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from halflap.core.text import join
from halflap.workflows.analysis.states import explore, unfolded

if TYPE_CHECKING:
    from halflap.workflows.analysis.study import Study
    from halflap.workflows.model.net import Rule


@dataclass(frozen=True, slots=True)
class RuleVerdict:
    """Whether a rule holds; None where that is unknown."""

    rule: Rule
    holds: bool | None
    why: str | None = None
    trace: tuple[str, ...] | None = None
    """The task ids of a complete case that breaks it."""


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
    if study.completes is False:
        if rule.kind == "required":
            return RuleVerdict(rule, False, f"No case can be completed, so none has '{rule.tasks[0]}'.")
        return RuleVerdict(rule, None, f"Whether {rule_text(rule)} is not judged: no case can be completed.")
    separate = rule.kind == "separation_of_duties"
    resources = [study.net.tasks[task].resource for task in rule.tasks]
    if separate and study.completes and None not in resources and len(set(resources)) > 1:
        return RuleVerdict(rule, True)
    if study.block is None and study.space.problem is not None:
        return RuleVerdict(rule, None, f"Whether {rule_text(rule)} is unknown: {study.space.problem}")
    trace = _breaking_case(study, rule)
    if trace is None:
        return RuleVerdict(rule, True)
    why = f"It does not hold that {rule_text(rule)}."
    lacking = [f"'{task}'" for task in rule.tasks if study.net.tasks[task].resource is None]
    if separate and lacking:
        why = f"{join(lacking)} declares no resource, so it cannot be shown that {rule_text(rule)}."
    return RuleVerdict(rule, False, why, trace)


def _breaking_case(study: Study, rule: Rule) -> tuple[str, ...] | None:
    """Return the tasks of a case that breaks a rule."""
    if study.block is None:
        space, ending = study.space, study.ending
    else:
        space = explore(unfolded(study.net, study.block, rule.tasks), study.bound)
        ending = space.ending()
    final = space.final()
    start = (0, _Seen())
    came: dict[tuple[int, _Seen], tuple[tuple[int, _Seen], tuple[str, ...]] | None] = {start: None}
    waiting = [start]
    for state, seen in waiting:
        if state == final and seen.breaks(rule):
            trace: list[str] = []
            back = came[state, seen]
            while back is not None:
                trace[:0] = back[1]
                back = came[back[0]]
            return tuple(trace)
        for step, target in space.steps[state]:
            tasks = space.machine.steps[step].tasks
            after = seen
            for task in tasks:
                after = after.after(task) if task in rule.tasks else after
            if target in ending and (target, after) not in came:
                came[target, after] = ((state, seen), tasks)
                waiting.append((target, after))
    return None
