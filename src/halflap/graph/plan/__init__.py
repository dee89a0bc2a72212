"""Plans: the cheapest way from the values in `have` to a wanted tool or field.

Read `plan` first (the entry point), then `search` (what is minimised, and how). `need` matches the values in `have` with
parameters, `offers` says what one tool can give another, and `build` makes steps, loops, filters and pages of what was
found. Nothing here calls a tool.
"""

from halflap.graph.plan.plan import Planned, plan, target_of, workflow_json
from halflap.graph.types import admits
from halflap.graph.workflow import Target, Workflow

__all__ = ["Planned", "Target", "Workflow", "admits", "plan", "target_of", "workflow_json"]
