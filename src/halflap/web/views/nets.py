"""Workflows: draw a net, check its soundness, compare it with another version, score and optimise it."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from starlette.responses import RedirectResponse

from halflap.core.errors import UsageError
from halflap.web.forms import read_json
from halflap.web.rendering import label, pretty
from halflap.workflows.examples import example_nets
from halflap.workflows.run.jobs import read_workflow

if TYPE_CHECKING:
    from starlette.responses import Response

    from halflap.web.site import Visit
    from halflap.workflows.model.net import Net

_PATTERNS = ["sequential", "parallel", "choice", "loop"]
_TARGETS = ("balanced", "behavioral", "performance")
_MODES = ("balanced", "strict", "lenient")
_MAX_DRAWN = 150
"""Larger nets, by tasks, are not drawn."""
_MAX_MATRIX = 40
_SIGNS = {"and": "∧", "xor": "\u00d7", "or": "○"}


async def workflows(visit: Visit) -> Response:
    examples = await asyncio.to_thread(example_nets)
    chosen = visit.query("example")
    text = pretty(examples[chosen]) if chosen in examples else ""
    shown = await asyncio.to_thread(_drawn, examples[chosen]) if chosen in examples else None
    values: dict[str, Any] = {
        "examples": list(examples),
        "chosen": chosen,
        "text": text,
        "drawing": shown,
        "targets": _TARGETS,
        "modes": _MODES,
    }
    return visit.render("workflows.html", **values)


async def post_ask(visit: Visit) -> Response:
    """Start the job as a background task."""
    action = visit.form.get("action", "")
    given = _read(visit.form.get("workflow", ""), "The workflow")
    other = _read(visit.form.get("other", ""), "The other version") if action == "validate" else None
    arguments: dict[str, dict[str, Any]] = {
        "score": {"workflow": given, "reference_patterns": _PATTERNS},
        "validate": {
            "original_workflow": given,
            "optimized_workflow": other,
            "validation_mode": visit.form.get("mode", _MODES[0]),
        },
        "optimize": {"workflow_spec": given, "optimization_target": visit.form.get("target", _TARGETS[0])},
    }
    if action not in arguments:
        raise UsageError("Choose what to do: analyse, compare or optimise.")
    work = _answered(visit, action, arguments[action], given, other)
    limit = visit.gateway.config.workflows.timeout_seconds
    task = visit.site.tasks.start(visit.session.principal, action, work, limit)
    return RedirectResponse(f"/tasks/{task.id}", 303)


async def _answered(
    visit: Visit, action: str, arguments: Mapping[str, Any], given: Any, other: Any
) -> dict[str, Any]:
    answer = await visit.site.jobs.run(action, arguments, visit.session.principal)
    if action == "optimize":
        other = answer["optimized_workflow"]
    drawings = await asyncio.to_thread(lambda: [_drawn(one) for one in (given, other) if one])
    verdict = _verdict(action, answer)
    footprint = None
    if verdict and verdict["activities"] and len(verdict["activities"]) <= _MAX_MATRIX:
        footprint = await visit.site.jobs.run("footprint", {"workflow": given}, visit.session.principal)
    return {"answer": answer, "drawings": drawings, "footprint": footprint}


def _verdict(action: str, answer: Mapping[str, Any]) -> Mapping[str, Any] | None:
    return answer if action == "validate" else answer.get("validation")


def _drawn(given: Any) -> dict[str, Any]:
    return drawing(read_workflow(given).net)


def _read(text: str, what: str) -> Any:
    text = text.strip()
    if not text:
        raise UsageError(f"{what} is empty. Paste it as JSON or as YAWL's XML.")
    return {"yawl": text} if text.startswith("<") else read_json(text, what)


def drawing(net: Net) -> dict[str, Any]:
    """Return a net as nodes and edges for Cytoscape; without any if it is too large."""
    if len(net.tasks) > _MAX_DRAWN:
        return {"nodes": [], "edges": []}
    incoming, outgoing = net.incoming(), net.outgoing()
    nodes: list[dict[str, Any]] = []
    for name in dict.fromkeys((net.input, *net.tasks, *net.conditions, net.output)):
        task = net.tasks.get(name)
        if task is None:
            mark = {net.input: "▶", net.output: "■"}.get(name, "")
            nodes.append({"data": {"id": name, "label": mark, "kind": "condition"}})
            continue
        gates = [f"{_SIGNS[task.join]} join"] if len(incoming[name]) > 1 else []
        gates += [f"{_SIGNS[task.split]} split"] if len(outgoing[name]) > 1 else []
        kind = "silent" if task.label is None else "tool"
        nodes.append(
            {
                "data": {
                    "id": name,
                    "label": "\n".join([label(task.label or "τ"), *gates]),
                    "kind": kind,
                }
            }
        )
    edges = [
        {
            "data": {
                "id": f"{at}",
                "source": one.source,
                "target": one.target,
                "label": label(one.predicate or ""),
                "kind": "strict",
            }
        }
        for at, one in enumerate(net.flows)
    ]
    return {"nodes": nodes, "edges": edges}


def shown_answer(action: str, outcome: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values for the template of the outcome."""
    answer = outcome["answer"]
    verdict, footprint = _verdict(action, answer), outcome["footprint"]
    return {
        "action": action,
        "answer": answer,
        "drawings": outcome["drawings"],
        "verdict": verdict,
        "matrix": _matrix(verdict, footprint) if verdict and footprint else None,
        "failures": _failures(answer),
    }


def _failures(answer: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the soundness failures, each with a trace that leads to it."""
    if "raw" in answer:
        return list(answer["raw"]["compliance"]["failures"])
    found = (answer.get("validation") or answer).get("anomalies", [])
    return [one for one in found if one.get("trace")]


def _matrix(verdict: Mapping[str, Any], first: Mapping[str, Any]) -> dict[str, Any]:
    """Return two footprints as one table: each cell has the first relation, and the second if it differs."""
    names = verdict["activities"]
    relations = {
        (row, column): relation
        for row, cells in zip(first["activities"], first["matrix"], strict=True)
        for column, relation in zip(first["activities"], cells, strict=True)
    }
    others = {(one["row"], one["column"]): one["optimized"] for one in verdict["differences"]}
    rows = [
        (row, [(relations.get((row, column), "#"), others.get((row, column))) for column in names])
        for row in names
    ]
    return {"names": names, "rows": rows}


ROUTES = {"/workflows": workflows, "/workflows/ask": post_ask}
