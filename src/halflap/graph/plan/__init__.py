"""Plans: the cheapest way from the values in `have` to a wanted tool or field.

Read `plan` first (the entry point), then `search` (what is minimised, and how). `have` and `need` match the values in
`have` with parameters, `offers` says what one tool can give another, `want` finds fields, and `build` makes steps, loops,
filters and pages of what was found. Nothing here calls a tool.
"""

from halflap.graph.plan.plan import Missing, Planned, plan, workflow_json
from halflap.graph.plan.want import target_of
from halflap.graph.types import admits
from halflap.graph.workflow import Target, Workflow

__all__ = ["Missing", "Planned", "Target", "Workflow", "admits", "plan", "target_of", "workflow_json"]
