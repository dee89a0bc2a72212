"""A tool as `inspect_tool` describes it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from halflap.calls import Policy, describe
from halflap.catalog import Snapshot
from halflap.config import Config
from halflap.core.values import Annotations, Tool
from halflap.store import StoredServer

TOOL = Tool(
    "mcp__s__t",
    "s",
    "t",
    "A tool.",
    {"type": "object", "properties": {"a": {"type": "integer"}}},
    annotations=Annotations(read_only=True),
)


def described(tool: Tool = TOOL, snapshot: Snapshot | None = None, *why: str | None) -> dict[str, Any]:
    policy = Policy(Config.from_mapping({"mcpServers": {"s": {"command": "true"}}}))
    return describe(tool, snapshot or Snapshot(), policy, *(why or (None,)))


def test_a_tool_is_described_with_all_that_is_needed_to_call_it() -> None:
    found = described()
    assert (found["name"], found["description"], found["server"]) == ("mcp__s__t", "A tool.", "s")
    assert found["inputSchema"] == TOOL.input_schema
    assert found["outputSchema"] is None
    assert found["note"].startswith("No output schema defined by the upstream server.")
    assert not found.keys() & {"blocked", "changed", "held", "unavailable", "instructions", "unchecked"}
    declared = described(replace(TOOL, output_schema={"type": "object"}))
    assert declared["outputSchema"] == {"type": "object"}
    assert "note" not in declared


def test_claimed_annotations_are_kept_apart_from_trusted_ones() -> None:
    found = described()["annotations"]
    assert (found["claimed"]["readOnlyHint"], found["readOnly"], found["vouchedBy"]) == (True, None, None)


def test_instructions_and_what_keeps_a_tool_from_being_called_are_shown() -> None:
    name = TOOL.name
    snapshot = Snapshot(
        servers={"s": StoredServer("s", "f", 1.0, instructions="Be kind.")},
        blocked={name: "`tools.allow`"},
        changed={name: ("title",)},
        held=frozenset({name}),
    )
    found = described(TOOL, snapshot, "it broke.", "it is odd.")
    assert (found["instructions"], found["blocked"]) == ("Be kind.", "`tools.allow`")
    assert (found["changed"], found["unavailable"]) == (["title"], "it broke.")
    assert "halflap trust --tool mcp__s__t" in found["held"]
    assert found["unchecked"].endswith("because of the inputSchema: it is odd.")
