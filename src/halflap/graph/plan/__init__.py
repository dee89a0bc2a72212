"""Plans: the cheapest way from the values at hand to a wanted tool or field.

Read `model` first (a workflow and its parts), then `search` (what is minimised, and how) and `plan` (the entry point).
`have` and `need` match the values in `have` with parameters, `offers` says what one tool can give another, and `build`
makes steps, loops, filters and pages of what was found. Nothing here calls a tool.
"""

from halflap.graph.paths import many, slot_text
from halflap.graph.plan.have import Have, admits
from halflap.graph.plan.plan import Missing, Planned, plan, workflow_json
from halflap.graph.plan.want import target_of
from halflap.graph.workflow import Axis, Given, Match, Target, Task, Wanted, Workflow

__all__ = [
    "Axis",
    "Given",
    "Have",
    "Match",
    "Missing",
    "Planned",
    "Target",
    "Task",
    "Wanted",
    "Workflow",
    "admits",
    "many",
    "plan",
    "slot_text",
    "target_of",
    "workflow_json",
]
