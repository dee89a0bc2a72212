"""Compose: plans for what is wanted, their programs, and running one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from starlette.responses import RedirectResponse

from halflap.core.errors import UsageError
from halflap.web.forms import read_json
from halflap.web.rendering import code_lines, label, short_name

if TYPE_CHECKING:
    from starlette.responses import Response

    from halflap.web.site import Visit


async def compose(visit: Visit) -> Response:
    goal, want, have = visit.query("goal"), visit.query("want"), visit.query("have")
    may_change = visit.query("may_change") == "yes"
    found, problem = None, None
    if goal or want:
        try:
            given = _object(have)
            wanted = [one.strip() for one in want.split(",") if one.strip()]
            await visit.gateway.settle()
            found = await visit.gateway.suggest_workflow(goal, given, wanted or None, may_change=may_change)
        except UsageError as error:
            problem = error
    plans = [] if found is None else [_plan(one) for one in (*found["suggestions"], *found["changes"])]
    return visit.render(
        "compose.html", goal=goal, want=want, have=have, may_change=may_change, plans=plans,
        missing=[] if found is None else found["missing"], problem=problem, is_asked=bool(goal or want),
    )  # fmt: skip


def _object(text: str) -> dict[str, Any]:
    given = read_json(text, "`have`") if text else {}
    if not isinstance(given, dict):
        raise UsageError("`have` must be a JSON object: names and values, null for one that comes later.")
    return given


def _plan(plan: dict[str, Any]) -> dict[str, Any]:
    """Return a plan with its drawing and the lines of its program."""
    nodes = [
        {
            "data": {
                "id": one["id"],
                "label": f"{label(short_name(one['tool']))}\n{label(one['server'])}",
                "kind": "change" if one["may_change_something"] else "tool",
            }
        }
        for one in plan["steps"]
    ]
    edges = [
        {
            "data": {
                "id": f"{one['id']}.{name}",
                "source": given["step"],
                "target": one["id"],
                "label": label(f"{given.get('path', '')} → {name}"),
                "kind": "strict",
            }
        }
        for one in plan["steps"]
        for name, given in one["arguments"].items()
        if isinstance(given, dict) and given.get("from") == "step"
    ]
    program = plan.get("program")
    return {
        **plan,
        "drawing": {"nodes": nodes, "edges": edges},
        "lines": code_lines(program) if program else (),
    }


async def post_run(visit: Visit) -> Response:
    """Run a suggested program, possibly edited."""
    visit.expect_calls_allowed()
    code = visit.form.get("code", "").replace("\r\n", "\n")
    if not code.strip():
        raise UsageError("There is no program to run.")
    confirmed = frozenset[str]()
    if visit.form.get("confirm") == "yes":
        confirmed = frozenset(tool.name for tool in await visit.gateway.needing_confirmation(code))
    work = visit.gateway.execute(code, visit.context(confirmed))
    limit = visit.gateway.config.execution.timeout_seconds
    task = visit.site.tasks.start(visit.session.principal, "program", work, limit)
    return RedirectResponse(f"/tasks/{task.id}", 303)


ROUTES = {"/compose": compose, "/compose/run": post_run}
