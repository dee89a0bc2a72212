from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from catalog.worlds import catalog, listing
from halflap.catalog import Catalog, Finder
from halflap.core.errors import ServerNotFoundError, UsageError
from halflap.schema import ToolSchema, parse_schema

if TYPE_CHECKING:
    from halflap.core.values import Tool


def finder(catalog: Catalog) -> Finder:
    async def schema_of(tool: Tool) -> ToolSchema:
        return parse_schema(tool)

    return Finder(catalog, schema_of)


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
