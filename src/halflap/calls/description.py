"""The description of one tool, as `inspect_tool` returns it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from halflap.catalog import PARTS
from halflap.core.text import clean, clean_json, visible
from halflap.schema import is_wrapped, result_type

if TYPE_CHECKING:
    from halflap.calls.policy import Policy
    from halflap.catalog import Snapshot
    from halflap.core.values import Tool

__all__ = ["describe"]

_NO_SCHEMA = "No output schema defined by the upstream server."
NO_OUTPUT_SCHEMA = (
    f"{_NO_SCHEMA} "
    "Inspect the return value in your script "
    "(e.g., print(type(result), result[:1])) to determine the structure."
)

NO_FIELD = "The output schema that the upstream server declares names no field."

UNWRAPPED = "The declared object is a wrapper: in a program, the value is what is under 'result', without the wrapper."
SPELLED = (
    "Invisible characters are shown here as escapes, such as \\u200b. In a call, write the character itself, or the escape "
    "inside quotes in JSON and Python."
)
_LONGEST_TEXT = 20_000
_LONGEST_PART = 4_000


def describe(
    tool: Tool,
    snapshot: Snapshot,
    policy: Policy,
    unavailable: str | None,
    unchecked: str | None = None,
    *,
    learned: Mapping[str, Any] | None = None,
    use: str | None = None,
) -> dict[str, Any]:
    """Return what a tool takes and returns, who serves it, what it does, and what keeps it from being called.

    `learned` has what was observed of its results, in addition to what it declares; `use` is the note about that.
    """
    output = tool.output_schema or None
    takes, hidden = clean_json(tool.input_schema, _LONGEST_PART)
    described: dict[str, Any] = {
        "name": tool.name,
        "description": clean(tool.description, _LONGEST_TEXT),
        "inputSchema": takes,
        "outputSchema": None if output is None else clean_json(output, _LONGEST_PART)[0],
    }
    if learned:
        described |= clean_json(learned, _LONGEST_PART)[0]
    note = _note(output, use)
    if note is not None:
        described["note"] = note
    if hidden:
        described["spelling"] = SPELLED
    if unchecked is not None:
        described["unchecked"] = (
            f"Arguments are not checked before a call, because of the inputSchema: {unchecked}"
        )
    described["server"] = tool.server
    described["originalName"] = visible(tool.original_name, _LONGEST_PART)
    described["annotations"] = {
        # True or unknown: that nothing was claimed does not make a tool harmless.
        "readOnly": policy.is_read_only(tool) or None,
        "destructive": policy.is_destructive(tool) or None,
        "vouchedBy": policy.voucher(tool),
        "claimed": _claims(tool),
    }
    server = snapshot.servers.get(tool.server)
    if server is not None and server.instructions:
        described["instructions"] = clean(server.instructions, _LONGEST_TEXT)
    if tool.name in snapshot.blocked:
        described["blocked"] = snapshot.blocked[tool.name]
    if tool.name in snapshot.changed:
        described["changed"] = list(snapshot.changed[tool.name])
        described["accepted"] = _accepted(tool, snapshot)
    if tool.name in snapshot.held:
        described["held"] = f"accept the change with `halflap trust --tool {tool.name}`"
    if unavailable is not None:
        described["unavailable"] = unavailable
    return described


def _note(output: Mapping[str, Any] | None, use: str | None) -> str | None:
    if output is None:
        return NO_OUTPUT_SCHEMA if use is None else f"{_NO_SCHEMA} {use}"
    if use is not None and result_type(output) is None:
        return f"{NO_FIELD} {use}"
    return UNWRAPPED if is_wrapped(output) else None


def _accepted(tool: Tool, snapshot: Snapshot) -> dict[str, Any]:
    """Return the changed parts as they were when they were accepted."""
    was, changed = snapshot.accepted.get(tool.name, {}), snapshot.changed[tool.name]
    return {key: clean_json(was.get(key), _LONGEST_PART)[0] for key, word in PARTS.items() if word in changed}


def _claims(tool: Tool) -> dict[str, Any]:
    claims = tool.annotations
    return {
        "readOnlyHint": claims.read_only,
        "destructiveHint": claims.destructive,
        "idempotentHint": claims.idempotent,
        "openWorldHint": claims.open_world,
    }
