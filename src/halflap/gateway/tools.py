"""The tools and their schemas: listed, inspected, and parsed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from halflap.calls import aside
from halflap.catalog import PARTS
from halflap.core.text import clean, clean_json, visible
from halflap.core.values import RegisteredTool, Result, Tool
from halflap.schema import is_wrapped, result_type

if TYPE_CHECKING:
    from halflap.calls import Calls, Policy
    from halflap.catalog import Snapshot
    from halflap.catalog.view import Seen
    from halflap.config import Profile
    from halflap.gateway.learned import LearnedSchemas
    from halflap.schema import ToolSchema

_NO_SCHEMA = "No output schema defined by the upstream server."
_PROBE = "Inspect the return value in your script (e.g., print(type(result), result[:1])) to determine the structure."
_NO_FIELD = "The output schema that the upstream server declares names no field."
_UNWRAPPED = "The declared object is a wrapper: in a program, the value is what is under 'result', without the wrapper."
_SPELLED = (
    "Invisible characters are shown here as escapes, such as \\u200b. In a call, write the character itself, or the escape "
    "inside quotes in JSON and Python."
)
_LONGEST_TEXT = 20_000
_LONGEST_PART = 4_000


@dataclass(frozen=True)
class Tools:
    """Answers from the catalogue and the learned schemas; asks a server only if its list is missing or stale."""

    catalog: Seen
    calls: Calls
    learned: LearnedSchemas
    profile: Profile | None

    def all(self) -> tuple[RegisteredTool, ...]:
        snapshot, reasons = self.catalog.snapshot, self.catalog.unavailable()
        tools = (snapshot.tools[name] for name in snapshot.callable)
        return tuple(self._registered(tool, reasons.get(tool.server)) for tool in tools)

    def _registered(self, tool: Tool, unavailable: str | None) -> RegisteredTool:
        async def handler(**arguments: Any) -> Result:
            return await self.calls.call(tool.name, arguments)

        return RegisteredTool(
            name=tool.name,
            description=tool.description,
            parameters=tool.input_schema,
            output_schema=tool.output_schema,
            handler=handler,
            server=tool.server,
            original_name=tool.original_name,
            annotations=tool.annotations,
            definition_hash=tool.hash,
            unavailable=unavailable,
        )

    async def inspect(self, name: str) -> dict[str, Any]:
        """Return a tool's schemas, server and effects, and the reasons why it cannot be called."""
        tool = await self.catalog.find(name)
        self.catalog.is_stale(tool)  # lists its server again if so
        learned, use = await self.learned.described(tool)
        unchecked = await self.calls.validators.unchecked(tool)
        definition = partial(describe, tool, self.calls.policy, learned, use, unchecked)
        described = await aside(definition, tool.description, tool.input_schema, tool.output_schema, learned)
        described |= _obstacles(tool, self.catalog.snapshot)
        if (why := self.catalog.unavailable().get(tool.server)) is not None:
            described["unavailable"] = why
        return described

    async def schema(self, name: str) -> ToolSchema:
        tool = await self.catalog.find(name)
        await self.learned.catch_up()
        return replace(await self.learned.schema_of(tool), stale=self.catalog.is_stale(tool))

    async def callable_schema(self, name: str) -> tuple[ToolSchema, bool]:
        schema = await self.schema(name)
        snapshot, policy = self.catalog.snapshot, self.calls.policy
        tool = snapshot.find(name)
        policy.admit(tool, snapshot, self.profile)
        return schema, policy.is_repeatable(tool)


def describe(
    tool: Tool,
    policy: Policy,
    learned: Mapping[str, Any] | None = None,
    use: str | None = None,
    unchecked: str | None = None,
) -> dict[str, Any]:
    """Return a tool's definition for a model. `learned` is merged into it; `use` is the note on the learned schema."""
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
    if output is None:
        described["note"] = f"{_NO_SCHEMA} {use or _PROBE}"
    elif use is not None and result_type(output) is None:
        described["note"] = f"{_NO_FIELD} {use}"
    elif is_wrapped(output):
        described["note"] = _UNWRAPPED
    if hidden:
        described["spelling"] = _SPELLED
    if unchecked is not None:
        described["unchecked"] = (
            f"Arguments are not checked before a call, because of the inputSchema: {unchecked}"
        )
    described["server"] = tool.server
    described["originalName"] = visible(tool.original_name, _LONGEST_PART)
    claims = tool.annotations
    described["annotations"] = {
        # Never false: a tool without a claim is not known to be harmless.
        "readOnly": policy.is_read_only(tool) or None,
        "destructive": policy.is_destructive(tool) or None,
        "vouchedBy": policy.voucher(tool),
        "claimed": {
            "readOnlyHint": claims.read_only,
            "destructiveHint": claims.destructive,
            "idempotentHint": claims.idempotent,
            "openWorldHint": claims.open_world,
        },
    }
    return described


def _obstacles(tool: Tool, snapshot: Snapshot) -> dict[str, Any]:
    """Return the server's instructions, and the rule or changed definition that keeps a tool from being called."""
    found: dict[str, Any] = {}
    server = snapshot.servers.get(tool.server)
    if server is not None and server.instructions:
        found["instructions"] = clean(server.instructions, _LONGEST_TEXT)
    if tool.name in snapshot.blocked:
        found["blocked"] = snapshot.blocked[tool.name]
    if changed := snapshot.changed.get(tool.name):
        accepted = snapshot.accepted.get(tool.name, {})
        found["changed"] = list(changed)
        found["accepted"] = {
            key: clean_json(accepted.get(key), _LONGEST_PART)[0]
            for key, word in PARTS.items()
            if word in changed
        }
    if tool.name in snapshot.held:
        found["held"] = f"accept the change with `halflap trust --tool {tool.name}`"
    return found
