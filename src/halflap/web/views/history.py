"""Runs and calls: the list, one run with its source and a timeline, and what can be done with its program."""

from __future__ import annotations

import ast
import asyncio
import re
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from starlette.responses import RedirectResponse

from halflap.catalog import namespaced
from halflap.core.errors import RunNotFoundError, UsageError
from halflap.store import RUNNING
from halflap.web.charts import timeline
from halflap.web.rendering import code_lines

if TYPE_CHECKING:
    from starlette.responses import Response

    from halflap.store import CallRecord, RunRecord
    from halflap.web.site import Visit

_PAGE = 30
_MAX_CALLS = 300
"""Calls of one run that are shown."""
_WRONG_LINE = re.compile(r'^(?:  File "program\.py", )?line (\d+)', re.MULTILINE)
"""A line number in a traceback or in a finding of the check."""


async def history(visit: Visit) -> Response:
    before = _number(visit.query("before"))
    runs = await visit.gateway.runs(_PAGE + 1, principal=visit.only_principal, before=before)
    values: dict[str, Any] = {
        "runs": [(run, _first_line(run.code or "")) for run in runs[:_PAGE]],
        "older": runs[_PAGE - 1].started_at if len(runs) > _PAGE else None,
        "before": before,
    }
    return visit.render("runs_list.html" if visit.is_fragment else "runs.html", **values)


def _first_line(code: str) -> str:
    """Return the first line that is not an import or a comment."""
    lines = (line.strip(' \t"') for line in code.splitlines())
    return next((line for line in lines if line and not line.startswith(("import ", "from ", "#"))), "")


def _number(text: str) -> float | None:
    try:
        return float(text) if text else None
    except ValueError:
        raise UsageError("`before` must be a time in seconds.") from None


async def one_run(visit: Visit) -> Response:
    run, calls = await visit.gateway.run(visit.path("id"), visit.only_principal, values=False)
    values = await asyncio.to_thread(_described, visit, run, calls)
    return visit.render("run_live.html" if visit.is_fragment else "run.html", **values)


def _described(visit: Visit, run: RunRecord, calls: Sequence[CallRecord]) -> dict[str, Any]:
    names = tool_names(visit, calls)
    has_lines = any(call.line for call in calls)
    lines = _call_lines(run.code or "", set(names), has_lines=has_lines)
    shown = calls[:_MAX_CALLS]
    times = [(one.started_at, _end(one)) for one in shown]
    begin = min((start for start, _ in times), default=run.started_at)
    spans = timeline(times, begin, max([_end(run), *(end for _, end in times)]))
    rows: list[dict[str, Any]] = [
        {
            "call": call,
            "name": name,
            "span": span,
            "lines": (call.line,) if call.line else lines.get(name, ()),
        }
        for call, name, span in zip(shown, names, spans, strict=False)
    ]
    at_line: dict[int, list[dict[str, Any]]] = {}
    for row in rows:
        for line in row["lines"]:
            at_line.setdefault(line, []).append(row)
    return {
        "run": run,
        "rows": rows,
        "at_line": at_line,
        "calls": len(calls),
        "wrong_lines": {int(line) for line in _WRONG_LINE.findall(run.error or "")},
        "source": code_lines(run.code) if run.code else (),
        "is_running": run.outcome == RUNNING,
    }


def tool_names(visit: Visit, calls: Sequence[CallRecord]) -> list[str]:
    """Return the name in the catalogue of each call's tool."""
    known = {(tool.server, tool.original_name): tool.name for tool in visit.gateway.snapshot.tools.values()}
    return [known.get((call.server, call.tool)) or namespaced(call.server, call.tool) for call in calls]


def _end(one: CallRecord | RunRecord) -> float:
    return time.time() if one.duration_ms is None else one.started_at + one.duration_ms / 1_000


def _call_lines(code: str, names: set[str], *, has_lines: bool) -> dict[str, tuple[int, ...]]:
    """Return the lines that name each tool, for calls without a recorded line.

    In a run that `has_lines`, calls that are awaited directly have a recorded one.
    """
    found: dict[str, dict[int, None]] = {}
    try:
        nodes = list(ast.walk(ast.parse(code)))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return {}
    awaited = {
        id(part)
        for node in nodes
        if has_lines and isinstance(node, ast.Await) and isinstance(node.value, ast.Call)
        for part in (node.value.func, *node.value.args)
    }
    for node in nodes:
        if id(node) in awaited:
            continue
        if isinstance(node, ast.Name):
            name: Any = node.id
        elif isinstance(node, ast.Constant):
            name = node.value
        else:
            continue
        if isinstance(name, str) and name in names:
            found.setdefault(name, {})[node.lineno] = None
    return {name: tuple(sorted(lines)) for name, lines in found.items()}


async def one_call(visit: Visit) -> Response:
    call = await (await visit.gateway.records()).call(visit.path("id"), principal=visit.only_principal)
    if call is None:
        raise RunNotFoundError(visit.path("id"))
    return visit.render("call.html", call=call, name=tool_names(visit, [call])[0])


async def post_check(visit: Visit) -> Response:
    """Check a run's program again, with the present schemas."""
    run, _ = await visit.gateway.run(visit.path("id"), visit.only_principal, values=False)
    checked = await visit.gateway.check(run.code or "")
    return visit.render("checked.html", run=run, checked=checked)


async def post_save(visit: Visit) -> Response:
    """Save a run's program as a script."""
    visit.expect_owner()
    run, _ = await visit.gateway.run(visit.path("id"), visit.only_principal, values=False)
    name = visit.form.get("name", "").strip()
    if not name or not run.code:
        raise UsageError("A script needs a name and a program.")
    await visit.gateway.scripts.save(name, run.code)
    return RedirectResponse(f"/tools/script__{name}", 303)


ROUTES = {
    "/runs": history,
    "/runs/{id}": one_run,
    "/runs/{id}/check": post_check,
    "/runs/{id}/save": post_save,
    "/calls/{id}": one_call,
}
