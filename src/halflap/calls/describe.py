"""Everything there is to say of one tool."""

from __future__ import annotations

from copy import deepcopy
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from halflap.calls.policy import Policy
    from halflap.catalog import Snapshot
    from halflap.values import Tool

__all__ = ["describe"]

NO_OUTPUT_SCHEMA = (
    "No output schema defined by the upstream server. "
    "Inspect the return value in your script "
    "(e.g., print(type(result), result[:1])) to determine the structure."
)


def describe(tool: Tool, snapshot: Snapshot, policy: Policy, unavailable: str | None) -> dict[str, Any]:
    """Say what a tool takes and returns, who serves it, what it does, and what keeps it from being called."""
    described: dict[str, Any] = {
        "name": tool.name,
        "description": tool.description,
        # Copies: what a caller does to them must not reach the catalogue.
        "inputSchema": deepcopy(tool.input_schema),
        "outputSchema": deepcopy(tool.output_schema) if tool.output_schema else None,
    }
    if not tool.output_schema:
        described["note"] = NO_OUTPUT_SCHEMA
    described["server"] = tool.server
    described["originalName"] = tool.original_name
    described["annotations"] = {
        "readOnly": policy.is_read_only(tool),
        "destructive": policy.is_destructive(tool),
        "claimed": _claims(tool),
        "trusted": policy.is_trusted(tool),
    }
    server = snapshot.servers.get(tool.server)
    if server is not None and server.instructions:
        described["instructions"] = server.instructions
    if tool.name in snapshot.blocked:
        described["blocked"] = snapshot.blocked[tool.name]
    if tool.name in snapshot.changed:
        described["changed"] = list(snapshot.changed[tool.name])
    if tool.name in snapshot.held:
        described["held"] = f"accept the change with `halflap trust --tool {tool.name}`"
    if unavailable is not None:
        described["unavailable"] = unavailable
    return described


def _claims(tool: Tool) -> dict[str, Any]:
    claims = tool.annotations
    return {
        "readOnlyHint": claims.read_only,
        "destructiveHint": claims.destructive,
        "idempotentHint": claims.idempotent,
        "openWorldHint": claims.open_world,
    }
