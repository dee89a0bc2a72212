from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any, cast

import pytest

from catalog.worlds import catalog, listing
from halflap.catalog import Catalog, Finder, Hit, Snapshot
from halflap.core.errors import ServerNotFoundError, UsageError
from halflap.core.values import Tool
from halflap.schema import ToolSchema, parse_schema


def found(query: str, *tools: Tool) -> list[Hit]:
    """Search a snapshot. Of a catalogue, a finder wants only that."""
    snapshot = Snapshot(number=1, tools={tool.name: tool for tool in tools})
    return asyncio.run(finder(cast("Catalog", SimpleNamespace(snapshot=snapshot))).search(query, 10, None))


def finder(catalog: Catalog) -> Finder:
    async def schema_of(tool: Tool) -> ToolSchema:
        return parse_schema(tool)

    return Finder(catalog, schema_of)


def tool(name: str, **parameter: Any) -> Tool:
    return Tool(f"mcp__s__{name}", "s", name, f"Does {name} things.", {"properties": {"a": parameter}})


def nested(depth: int) -> Any:
    value: Any = 1
    for _ in range(depth):
        value = [value]
    return value


@pytest.mark.parametrize(
    "hostile",
    [{"default": nested(10_000)}, {"const": nested(10_000)}, {"default": 10**5_000}],
    ids=["nested default", "nested constant", "huge number"],
)
def test_a_schema_that_cannot_be_shown_whole_takes_no_hit_away(hostile: dict[str, Any]) -> None:
    hits = {hit.name: hit for hit in found("things", tool("good", type="string"), tool("bad", **hostile))}
    assert hits["mcp__s__good"].signature == "mcp__s__good(a?: string)"
    assert hits["mcp__s__bad"].description == "Does bad things."
    assert hits["mcp__s__bad"].signature.startswith("mcp__s__bad(a?: ")
    assert len(hits["mcp__s__bad"].signature) < 200


@pytest.mark.parametrize(("query", "limit"), [("a", 0), ("a", -1), (" ", 10)])
async def test_an_empty_query_or_limit_is_refused(query: str, limit: int) -> None:
    with pytest.raises(UsageError):
        await finder(await catalog(listing("s", "a"))).search(query, limit, None)


async def test_an_unknown_server_is_an_error_that_names_the_servers_and_one_without_tools_is_known() -> None:
    search = finder(await catalog(listing("one", "a"), listing("two"))).search
    with pytest.raises(ServerNotFoundError, match="one, two"):
        await search("a", 10, "nope")
    with pytest.raises(UsageError, match="halflap doctor two"):
        await search("a", 10, "two")
