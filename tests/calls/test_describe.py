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


def described(
    tool: Tool = TOOL, snapshot: Snapshot | None = None, unavailable: str | None = None
) -> dict[str, Any]:
    policy = Policy(Config.from_mapping({"mcpServers": {"s": {"command": "true"}}}))
    return describe(tool, snapshot or Snapshot(), policy, unavailable)


def test_a_tool_is_described_with_all_that_is_needed_to_call_it() -> None:
    found = described()
    assert (found["name"], found["description"], found["server"]) == ("mcp__s__t", "A tool.", "s")
    assert found["inputSchema"] == TOOL.input_schema


def test_a_tool_without_an_output_schema_says_what_to_do_about_it() -> None:
    found = described()
    assert found["outputSchema"] is None
    assert found["note"].startswith("No output schema defined by the upstream server.")


def test_a_tool_with_an_output_schema_has_no_such_note() -> None:
    found = described(replace(TOOL, output_schema={"type": "object"}))
    assert found["outputSchema"] == {"type": "object"}
    assert "note" not in found


def test_claimed_annotations_are_kept_apart_from_trusted_ones() -> None:
    told = described()["annotations"]
    assert told["claimed"]["readOnlyHint"] is True
    assert told["readOnly"] is None
    assert told["vouchedBy"] is None


def test_a_servers_instructions_are_shown() -> None:
    server = StoredServer("s", "f", 1.0, instructions="Be kind.")
    assert described(snapshot=Snapshot(servers={"s": server}))["instructions"] == "Be kind."


def test_what_keeps_a_tool_from_being_called_is_shown() -> None:
    name = TOOL.name
    snapshot = Snapshot(blocked={name: "`tools.allow`"}, changed={name: ("title",)}, held=frozenset({name}))
    found = described(snapshot=snapshot, unavailable="it broke.")
    assert (found["blocked"], found["changed"], found["unavailable"]) == (
        "`tools.allow`",
        ["title"],
        "it broke.",
    )
    assert "halflap trust --tool mcp__s__t" in found["held"]


def test_nothing_is_shown_that_is_not_so() -> None:
    assert not described().keys() & {"blocked", "changed", "held", "unavailable", "instructions"}


def test_what_is_done_to_a_description_does_not_reach_the_catalogue() -> None:
    described()["inputSchema"]["properties"]["a"]["type"] = "string"
    assert TOOL.input_schema["properties"]["a"]["type"] == "integer"


def test_unchecked_arguments_are_noted_with_the_reason() -> None:
    policy = Policy(Config.from_mapping({"servers": []}))
    told = describe(TOOL, Snapshot(), policy, None, "it is odd.")
    assert told["unchecked"].endswith("because of the inputSchema: it is odd.")
    assert "unchecked" not in described()
