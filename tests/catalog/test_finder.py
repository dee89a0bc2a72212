from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from catalog.worlds import catalog, listing
from halflap.catalog import Catalog, Finder
from halflap.core.errors import ServerNotFoundError, UsageError
from halflap.schema import parse_schema

if TYPE_CHECKING:
    from collections.abc import Sequence

    from halflap.core.values import Tool


def finder(catalog: Catalog) -> Finder:
    async def signatures(tools: Sequence[Tool]) -> list[str]:
        return [parse_schema(tool).format_compact() for tool in tools]

    return Finder(catalog, signatures)


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


async def test_a_tool_that_came_later_is_found_and_one_that_went_is_not() -> None:
    world = await catalog(listing("s", "open_gate"))
    search = finder(world).search
    assert [hit.name for hit in await search("open gate", 10, None)] == ["mcp__s__open_gate"]
    await world.absorb(listing("s", "close_gate"))
    assert [hit.name for hit in await search("gate", 10, None)] == ["mcp__s__close_gate"]
