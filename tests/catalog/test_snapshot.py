from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from catalog.worlds import catalog, definition, listing
from halflap.catalog import Snapshot
from halflap.core.errors import ToolNotFoundError
from halflap.core.values import Tool
from support import little_work

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from halflap.core.values import Listing

    Run = Callable[[Coroutine[Any, Any, Any]], Any]

ECHO = listing("echo", "add", "echo", "sleep", "cancelled_count", "env")
OTHERS = (listing("repo", "repo_tags", "repo_state", "repo_save"), listing("my-files", "read_file", "add"))


async def snapshot(*listings: Listing, **more: Any) -> Snapshot:
    return (await catalog(*listings, **more)).snapshot


def test_a_definition_with_values_of_wrong_types_makes_a_tool(run: Run) -> None:
    odd = definition(
        "odd", annotations={"readOnlyHint": "yes", "title": 5}, title=[], _meta="x", outputSchema=1
    )
    tool = run(snapshot(listing("s", odd))).find("mcp__s__odd")
    assert tool.annotations.read_only is None
    assert (tool.title, tool.annotations.title, tool.meta, tool.output_schema) == (None, None, None, None)


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("mcp__ehco__sleep", ["mcp__echo__sleep"]),
        ("cancelledCount", ["mcp__echo__cancelled_count"]),
        ("read file", ["mcp__my_files__read_file"]),
        ("zzzzzzzz", []),
        ("\ud800", []),
    ],
)
def test_a_mistyped_name_finds_the_one_that_was_meant(run: Run, typed: str, meant: list[str]) -> None:
    with pytest.raises(ToolNotFoundError) as caught:
        run(snapshot(ECHO, *OTHERS)).find(typed)
    assert list(caught.value.suggestions[:1]) == meant


def test_a_miss_on_an_unknown_server_names_the_servers(run: Run) -> None:
    with pytest.raises(ToolNotFoundError, match="echo, down and repo"):
        run(snapshot(ECHO, OTHERS[0])).find("mcp__nope__x", ["echo", "down"])


def test_looking_up_unknown_names_among_ten_thousand_tools_costs_little() -> None:
    names = [f"mcp__server{number % 40}__do_thing_{number}" for number in range(10_000)]
    whole = Snapshot(tools={name: Tool(name, name.split("__")[1], name, "", {}) for name in names})
    with little_work(1):
        for number in range(100):
            with pytest.raises(ToolNotFoundError):
                whole.find(f"mcp__server1__do_thnig_{number}_x")
