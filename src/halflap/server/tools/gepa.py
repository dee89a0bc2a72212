"""The gepa family: optimise, compare and score workflows."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from halflap.server.tools.tool import family
from halflap.workflows.answers import Optimization, Scores, Verdict
from halflap.workflows.run.process import INSTRUCTIONS, Jobs

if TYPE_CHECKING:
    from pydantic import BaseModel

    from halflap.gateway import Gateway
    from halflap.server.client import Client
    from halflap.server.tools.tool import Arguments, Handler, OwnTool
    from halflap.workflows.run.process import Reflect

_JOBS: dict[str, tuple[str, type[BaseModel]]] = {
    "gepa_optimize_workflow": ("optimize", Optimization),
    "gepa_validate_footprint": ("validate", Verdict),
    "gepa_score_workflow": ("score", Scores),
}


def gepa_family(gateway: Gateway) -> list[OwnTool]:
    """Return the tools of the family, bound to a gateway."""
    jobs = Jobs(gateway.config.workflows.timeout_seconds)

    def handler(job: str) -> Handler:
        async def run(_gateway: Gateway, arguments: Arguments, client: Client) -> dict[str, Any]:
            reflect = _reflection(gateway, client) if job == "optimize" else None
            return await jobs.run(job, arguments, client.principal, reflect)

        return run

    handlers = {name: handler(job) for name, (job, _) in _JOBS.items()}
    outputs = {name: _output_schema(answer) for name, (_, answer) in _JOBS.items()}
    return family(
        gateway, handlers, outputs, error_codes=("INVALID_INPUTS", "EXECUTION_ERROR", "TIMEOUT_ERROR")
    )


def _reflection(gateway: Gateway, client: Client) -> Reflect | None:
    """Return a function that asks the configured model, if there is one."""
    if gateway.config.programs.lm is None:
        return None

    async def reflect(question: str, deadline: float) -> str:
        context = replace(client.on_behalf(), deadline=deadline)
        parts = await gateway.prepare()
        return await parts.dspy.ask("workflow_reflection", INSTRUCTIONS, question, context)

    return reflect


def _output_schema(answer: type[BaseModel]) -> dict[str, Any]:
    return {**_untitled(answer.model_json_schema(mode="serialization")), "additionalProperties": True}


def _untitled(schema: Any) -> Any:
    """Return a schema without the titles that pydantic derives from names."""
    if isinstance(schema, list):
        return [_untitled(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    return {key: _untitled(one) for key, one in schema.items() if key != "title" or not isinstance(one, str)}
