from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from catalog.worlds import catalog, definition, listing
from halflap.catalog import Snapshot, matches
from halflap.core.errors import ToolNotFoundError
from support import little_work

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from halflap.core.values import Listing

    Run = Callable[[Coroutine[Any, Any, Any]], Any]

ECHO = listing("echo", "add", "echo", "sleep", "cancelled_count", "env")
OTHERS = (listing("git", "git_log", "git_status", "git_commit"), listing("my-files", "read_file", "add"))


async def snapshot(*listings: Listing, **more: Any) -> Snapshot:
    return (await catalog(*listings, **more)).snapshot


def suggestions(run: Run, name: str) -> tuple[str, ...]:
    with pytest.raises(ToolNotFoundError) as caught:
        run(snapshot(ECHO, *OTHERS)).find(name)
    return caught.value.suggestions


async def test_a_snapshot_stays_as_it_was_when_tools_come_and_go() -> None:
    living = await catalog(ECHO)
    before = living.snapshot
    names = set(before.tools)
    await living.absorb(listing("echo", "new"))
    assert set(before.tools) == names
    assert set(living.snapshot.tools) == {"mcp__echo__new"}


def test_a_blocked_tool_is_known_with_the_rule_but_not_callable(run: Run) -> None:
    one = run(snapshot(ECHO, tools={"block": ["mcp__echo__s*"]}))
    assert one.blocked == {"mcp__echo__sleep": "`tools.block: mcp__echo__s*`"}
    assert "mcp__echo__sleep" in one.tools
    assert "mcp__echo__sleep" not in one.callable


def test_a_blocked_tool_stays_blocked_if_another_is_listed_first_under_its_name(run: Run) -> None:
    one = run(
        snapshot(listing("shop", "wipe all", "wipe_all", "look"), tools={"block": ["mcp__shop__wipe_all"]})
    )
    assert len(one.tools) == 3
    assert one.callable == ("mcp__shop__look",)


def test_what_is_not_on_the_list_of_the_allowed_is_blocked(run: Run) -> None:
    one = run(snapshot(ECHO, tools={"allow": ["mcp__echo__add", "mcp__echo__e*"]}))
    assert one.callable == ("mcp__echo__add", "mcp__echo__echo", "mcp__echo__env")
    assert set(one.blocked) == {"mcp__echo__sleep", "mcp__echo__cancelled_count"}


@pytest.mark.parametrize(
    ("glob", "fits"),
    [
        ("mcp__echo__add", True),
        ("mcp__echo__ad", False),
        ("mcp__echo__*", True),
        ("*__add", True),
        ("mcp__echo__a?d", True),
        ("mcp__echo__[a-c]dd", True),
        ("MCP__ECHO__ADD", False),
        ("", False),
    ],
)
def test_a_rule_is_a_name_or_a_glob(glob: str, *, fits: bool) -> None:
    assert (matches("mcp__echo__add", [glob]) is not None) == fits


def test_a_definition_that_says_anything_at_all_makes_a_tool(run: Run) -> None:
    odd = definition(
        "odd", annotations={"readOnlyHint": "yes", "title": 5}, title=[], _meta="x", outputSchema=1
    )
    tool = run(snapshot(listing("s", odd))).find("mcp__s__odd")
    assert tool.annotations.read_only is None
    assert (tool.title, tool.annotations.title, tool.meta, tool.output_schema) == (None, None, None, None)


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("mcp__echo__ad", "mcp__echo__add"),
        ("mcp__ehco__sleep", "mcp__echo__sleep"),
        ("mcp__other__git_status", "mcp__git__git_status"),
        ("sleep", "mcp__echo__sleep"),
        ("cancelledCount", "mcp__echo__cancelled_count"),
        ("echo.add", "mcp__echo__add"),
        ("MCP__ECHO__ADD", "mcp__echo__add"),
        ("read file", "mcp__my_files__read_file"),
    ],
)
def test_a_mistyped_name_finds_the_one_that_was_meant(run: Run, typed: str, meant: str) -> None:
    assert suggestions(run, typed)[0] == meant


@pytest.mark.parametrize("typed", ["", "zzzzzzzz", "mcp__", "mcp____", "🎉", "\ud800"])
def test_a_name_like_no_other_gets_no_suggestion(run: Run, typed: str) -> None:
    assert suggestions(run, typed) == ()


def test_what_may_not_be_called_is_not_suggested(run: Run) -> None:
    one = run(snapshot(ECHO, tools={"block": ["mcp__echo__sleep"]}))
    with pytest.raises(ToolNotFoundError) as caught:
        one.find("mcp__echo__slep")
    assert "mcp__echo__sleep" not in str(caught.value)


def test_a_miss_on_an_unknown_server_names_the_servers(run: Run) -> None:
    with pytest.raises(ToolNotFoundError, match="echo, down and git"):
        run(snapshot(ECHO, OTHERS[0])).find("mcp__nope__x", ["echo", "down"])


def test_a_miss_on_a_server_that_is_not_there_says_why(run: Run) -> None:
    with pytest.raises(ToolNotFoundError, match=r"it broke\."):
        run(snapshot(ECHO)).find("mcp__down__x", ["echo", "down"], {"down": "it broke."})


def test_the_server_that_was_meant_is_the_one_with_the_longest_fitting_name(run: Run) -> None:
    with pytest.raises(ToolNotFoundError) as caught:
        run(snapshot(listing("a", "x"), listing("a__b", "y"))).find("mcp__a__b__z")
    assert caught.value.server == "a__b"


def test_a_million_letters_are_not_repeated(run: Run) -> None:
    world = run(catalog(listing("s", "n" * 1_000_000))).snapshot
    (name,) = world.callable
    assert world.tools[name].original_name == "n" * 1_000_000
    with pytest.raises(ToolNotFoundError) as caught:
        world.find("mcp__s__" + "x" * 900_000)
    assert len(str(caught.value)) < 1_000
    assert len(caught.value.name) > 900_000


def test_looking_up_unknown_names_among_thousands_of_tools_costs_little(run: Run) -> None:
    many = run(snapshot(listing("big", *(f"read_report_{number}" for number in range(5_000)))))
    with little_work(2.0):
        for number in range(100):
            with pytest.raises(ToolNotFoundError):
                many.find(f"mcp__big__write_sheet_{number}")
