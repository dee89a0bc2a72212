"""The catalogue from end to end: what is known of servers, before, while and after they run."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from halflap import Gateway, ToolNotFoundError
from halflap.errors import ToolBlockedError, ToolHeldError, UpstreamError
from halflap.values import Changes
from support import PATIENCE, eventually, python_server

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    Run = Callable[[Coroutine[Any, Any, Any]], Any]

SCHEMA = {"type": "object", "properties": {}}


class Shelf:
    """Servers whose tools are what their files say, and which break when they are told to."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def put(self, server: str, *tools: str, **settings: Any) -> dict[str, Any]:
        """Write a server's tools down; gives its configuration, which depends on its name alone."""
        file = self._folder / f"{server}.json"
        listed = [{"name": tool, "description": f"Tool {tool}.", "inputSchema": SCHEMA} for tool in tools]
        file.write_text(json.dumps({server: {"description": f"About {server}.", "tools": listed}}))
        return python_server(
            server, "replay.py", str(file), "--server", server, protocol="legacy", **settings
        )

    def change(self, server: str, tool: str) -> None:
        """Give a tool another description."""
        file = self._folder / f"{server}.json"
        file.write_text(file.read_text().replace(f"Tool {tool}.", f"Tool {tool}, changed."))

    def break_all(self) -> None:
        for file in self._folder.glob("*.json"):
            file.write_text("not JSON")


@pytest.fixture
def shelf(tmp_path: Path) -> Shelf:
    (tmp_path / "shelf").mkdir()
    return Shelf(tmp_path / "shelf")


def config(*servers: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"servers": list(servers), **more}


async def listed(settings: dict[str, Any]) -> dict[str, str]:
    """List everything with a gateway of its own; gives the original names by name."""
    async with Gateway.open(settings) as gateway:
        await gateway.refresh()
        return {tool.name: tool.original_name for tool in await gateway.tools()}


def test_what_was_listed_before_is_listed_with_every_server_broken(run: Run, shelf: Shelf) -> None:
    settings = config(shelf.put("one", "a", "b"), shelf.put("two", "c"))

    async def scenario() -> None:
        before = await listed(settings)
        await asyncio.to_thread(shelf.break_all)
        async with Gateway.open(settings) as gateway:
            assert {tool.name for tool in await gateway.tools()} == set(before)
            assert all(report.status.starts == 0 for report in await gateway.reports())

    run(scenario())


def test_what_was_listed_before_is_inspected_with_every_server_broken(run: Run, shelf: Shelf) -> None:
    settings = config(shelf.put("one", "a"))

    async def scenario() -> None:
        await listed(settings)
        await asyncio.to_thread(shelf.break_all)
        async with Gateway.open(settings) as gateway:
            described = await gateway.inspect("mcp__one__a")
            assert described["description"] == "Tool a."
            assert described["inputSchema"] == SCHEMA
            assert described["instructions"] == "About one."

    run(scenario())


def test_a_list_past_its_time_is_given_although_the_server_is_broken(run: Run, shelf: Shelf) -> None:
    settings = config(shelf.put("one", "a"), ttl={"list_seconds": 0, "schema_seconds": 0})

    async def scenario() -> None:
        await listed(settings)
        await asyncio.to_thread(shelf.break_all)
        async with Gateway.open(settings) as gateway:
            assert [tool.name for tool in await gateway.tools()] == ["mcp__one__a"]
            assert (await gateway.inspect("mcp__one__a"))["name"] == "mcp__one__a"
            with pytest.raises(UpstreamError):
                await gateway.refresh("one")
            (tool,) = await gateway.tools()
            assert tool.unavailable is not None

    run(scenario())


def test_a_list_past_the_servers_own_time_is_brought_up_to_date_behind(run: Run) -> None:
    settings = config(python_server("echo", "echo.py", "--ttl-ms", "100"))

    async def scenario() -> None:
        async with Gateway.open(settings) as gateway:
            await gateway.refresh()
            first = gateway.snapshot.servers["echo"].listed_at
            await asyncio.sleep(0.15)
            await gateway.tools()
            async with asyncio.timeout(PATIENCE):
                while gateway.snapshot.servers["echo"].listed_at == first:
                    await asyncio.sleep(0.02)

    run(scenario())


def test_tools_of_the_program_that_a_server_was_are_not_shown(run: Run, shelf: Shelf) -> None:
    old = shelf.put("one", "a", "b")
    new = {**shelf.put("other", "c"), "name": "one"}

    async def scenario() -> None:
        await listed(config(old))
        async with Gateway.open(config(new)) as gateway:
            assert gateway.snapshot.tools == {}
            assert [tool.name for tool in await gateway.tools()] == ["mcp__one__c"]

    run(scenario())


def test_tools_of_the_program_that_a_server_was_are_not_shown_if_the_new_one_is_broken(
    run: Run, shelf: Shelf
) -> None:
    async def scenario() -> None:
        await listed(config(shelf.put("one", "a")))
        broken = {"name": "one", "command": "no-such-program"}
        async with Gateway.open(config(broken)) as gateway:
            assert await gateway.tools() == ()
            with pytest.raises(ToolNotFoundError, match="'no-such-program' was not found"):
                await gateway.inspect("mcp__one__a")

    run(scenario())


def test_tools_of_a_server_that_was_disabled_are_not_shown(run: Run, shelf: Shelf) -> None:
    server = shelf.put("one", "a")

    async def scenario() -> None:
        await listed(config(server))
        async with Gateway.open(config({**server, "disabled": True})) as gateway:
            assert await gateway.tools() == ()
            with pytest.raises(ToolNotFoundError):
                await gateway.call("mcp__one__a")

    run(scenario())


def test_a_refresh_says_what_was_added_removed_and_changed(run: Run, shelf: Shelf) -> None:
    def put(*tools: str) -> None:
        shelf.put("one", *tools)
        shelf.change("one", "b")

    async def refreshed() -> Changes:
        async with Gateway.open(settings) as gateway:
            return await gateway.refresh()

    async def scenario() -> None:
        assert await refreshed() == Changes(added=("mcp__one__a", "mcp__one__b"))
        await asyncio.to_thread(put, "a", "b", "c")
        assert await refreshed() == Changes(added=("mcp__one__c",), changed=("mcp__one__b",))
        await asyncio.to_thread(put, "a", "b")
        assert await refreshed() == Changes(removed=("mcp__one__c",))
        assert not await refreshed()

    settings = config(shelf.put("one", "a", "b"))
    run(scenario())


def test_a_refresh_of_one_server_is_about_that_one(run: Run, shelf: Shelf) -> None:
    settings = config(shelf.put("one", "a"), shelf.put("two", "b"))

    async def scenario() -> None:
        async with Gateway.open(settings) as gateway:
            assert await gateway.refresh("two") == Changes(added=("mcp__two__b",))

    run(scenario())


def test_a_refresh_keeps_the_tools_of_a_server_that_broke(run: Run, shelf: Shelf) -> None:
    settings = config(shelf.put("one", "a"))

    async def scenario() -> None:
        await listed(settings)
        await asyncio.to_thread(shelf.break_all)
        async with Gateway.open(settings) as gateway:
            assert not await gateway.refresh()
            assert [tool.name for tool in await gateway.tools()] == ["mcp__one__a"]

    run(scenario())


@pytest.mark.parametrize("pin", ["off", "warn"])
def test_a_changed_tool_can_be_called_unless_it_is_to_be_held(run: Run, shelf: Shelf, pin: str) -> None:
    settings = config(shelf.put("one", "a"), tools={"pin": pin})

    async def scenario() -> None:
        await listed(settings)
        await asyncio.to_thread(shelf.change, "one", "a")
        async with Gateway.open(settings) as gateway:
            await gateway.refresh()
            assert (await gateway.call("mcp__one__a")).text == "called a"
            assert gateway.snapshot.changed == ({} if pin == "off" else {"mcp__one__a": ("description",)})

    run(scenario())


def test_a_change_is_warned_of(run: Run, shelf: Shelf, caplog: pytest.LogCaptureFixture) -> None:
    settings = config(shelf.put("one", "a"))

    async def scenario() -> None:
        await listed(settings)
        await asyncio.to_thread(shelf.change, "one", "a")
        await listed(settings)

    run(scenario())
    assert "changed since they were accepted, 1 in all (mcp__one__a)" in caplog.text


def test_a_held_tool_is_refused_until_it_is_accepted(run: Run, shelf: Shelf) -> None:
    settings = config(shelf.put("one", "a", "b"), tools={"pin": "hold"})

    async def scenario() -> None:
        await listed(settings)
        await asyncio.to_thread(shelf.change, "one", "a")
        async with Gateway.open(settings) as gateway:
            await gateway.refresh()
            assert [tool.name for tool in await gateway.tools()] == ["mcp__one__b"]
            with pytest.raises(ToolHeldError, match="its description changed"):
                await gateway.call("mcp__one__a")
            assert (await gateway.inspect("mcp__one__a"))["changed"] == ["description"]
            assert await gateway.accept(["mcp__one__a"]) == ("mcp__one__a",)
            assert (await gateway.call("mcp__one__a")).text == "called a"

    run(scenario())


def test_a_held_tool_is_held_at_the_next_start_too(run: Run, shelf: Shelf) -> None:
    settings = config(shelf.put("one", "a"), tools={"pin": "hold"})

    async def scenario() -> None:
        await listed(settings)
        await asyncio.to_thread(shelf.change, "one", "a")
        await listed(settings)
        async with Gateway.open(settings) as gateway:
            assert gateway.snapshot.held == {"mcp__one__a"}

    run(scenario())


def test_an_accepted_change_is_accepted_at_the_next_start_too(run: Run, shelf: Shelf) -> None:
    settings = config(shelf.put("one", "a"), tools={"pin": "hold"})

    async def scenario() -> None:
        await listed(settings)
        await asyncio.to_thread(shelf.change, "one", "a")
        async with Gateway.open(settings) as gateway:
            await gateway.refresh()
            await gateway.accept(["mcp__one__a"])
        assert await listed(settings) == {"mcp__one__a": "a"}

    run(scenario())


def test_a_change_found_while_connecting_for_a_call_holds_that_call(run: Run, shelf: Shelf) -> None:
    settings = config(shelf.put("one", "a"), tools={"pin": "hold"})

    async def scenario() -> None:
        await listed(settings)
        await asyncio.to_thread(shelf.change, "one", "a")
        async with Gateway.open(settings) as gateway:
            assert gateway.snapshot.callable == ("mcp__one__a",)
            with pytest.raises(ToolHeldError):
                await gateway.call("mcp__one__a")
            (record,) = await gateway.recent_calls()
            assert record.outcome == "tool-held"

    run(scenario())


def test_a_change_found_while_reconnecting_for_a_call_holds_that_call(run: Run, shelf: Shelf) -> None:
    settings = config(shelf.put("one", "a"), tools={"pin": "hold"})

    async def scenario() -> None:
        async with Gateway.open(settings) as gateway:
            await gateway.call("mcp__one__a")
            (report,) = await gateway.reports()
            pid = report.status.pid
            assert pid is not None
            shelf.change("one", "a")
            os.kill(pid, signal.SIGKILL)
            # Our loop has no chance to notice before the call.
            eventually(lambda: not Path(f"/proc/{pid}").exists())
            with pytest.raises(ToolHeldError):
                await gateway.call("mcp__one__a")

    run(scenario())


def test_of_two_servers_that_collide_the_first_seen_keeps_the_name(run: Run, shelf: Shelf) -> None:
    older, newer = shelf.put("a_b", "t"), shelf.put("a-b", "t")

    async def scenario() -> None:
        assert await listed(config(older)) == {"mcp__a_b__t": "t"}
        # The newer one comes first in the configuration, and still renames nothing.
        async with Gateway.open(config(newer, older)) as gateway:
            await gateway.refresh()
            tools = {tool.name: tool.server for tool in await gateway.tools()}
            assert tools.pop("mcp__a_b__t") == "a_b"
            ((name, server),) = tools.items()
            assert server == "a-b"
            assert re.fullmatch(r"mcp__a_b__t_[0-9a-f]{6}", name)
            assert (await gateway.call(name)).text == "called t"

    run(scenario())


def test_a_collision_is_warned_of(run: Run, shelf: Shelf, caplog: pytest.LogCaptureFixture) -> None:
    run(listed(config(shelf.put("a-b", "t"), shelf.put("a_b", "t"))))
    assert "because its plain name belongs to another tool" in caplog.text


ODD_NAMES = [
    "with-dash",
    "with.dot",
    "with/slash",
    "with space",
    "größe",
    "你好",
    "é",
    "---",
    "_",
    "1",
    "x" * 300,
]


def test_odd_names_become_identifiers_and_can_be_called(run: Run, shelf: Shelf) -> None:
    settings = config(shelf.put("odd", *ODD_NAMES))

    async def scenario() -> None:
        names = await listed(settings)
        assert sorted(names.values()) == sorted(ODD_NAMES)
        assert all(re.fullmatch(r"mcp__[A-Za-z0-9_]+", name) for name in names)
        async with Gateway.open(settings) as gateway:
            for name, original in names.items():
                assert (await gateway.call(name)).text == f"called {original}"

    run(scenario())


def test_names_that_only_differ_in_odd_characters_are_told_apart(run: Run, shelf: Shelf) -> None:
    originals = ["a-b", "a.b", "a_b", "a b", "é", "è", ""]
    names = run(listed(config(shelf.put("odd", *originals))))
    # A tool without a name cannot be called, and is left out.
    assert sorted(names.values()) == sorted(originals[:-1])
    assert names["mcp__odd__a_b"] == "a-b"


def test_a_second_gateway_sees_the_same_names(run: Run, shelf: Shelf) -> None:
    settings = config(shelf.put("a-b", "t", "t-x", "t_x"), shelf.put("a_b", "t"))

    async def scenario() -> None:
        first = await listed(settings)
        async with Gateway.open(settings) as one, Gateway.open(settings) as other:
            for gateway in (one, other):
                assert {tool.name: tool.original_name for tool in await gateway.tools()} == first
            await other.refresh()
            assert {tool.name: tool.original_name for tool in await other.tools()} == first

    run(scenario())


def test_two_gateways_that_meet_new_servers_at_once_agree_on_names(run: Run, shelf: Shelf) -> None:
    settings = config(shelf.put("a-b", "t"), shelf.put("a_b", "t"))

    async def scenario() -> None:
        first, second = await asyncio.gather(listed(settings), listed(settings))
        assert first == second
        assert len(first) == 2

    run(scenario())


def test_a_blocked_tool_is_not_listed_and_cannot_be_called(run: Run, shelf: Shelf) -> None:
    settings = config(shelf.put("one", "a", "b"), tools={"block": ["mcp__one__a"]})

    async def scenario() -> None:
        async with Gateway.open(settings) as gateway:
            assert [tool.name for tool in await gateway.tools()] == ["mcp__one__b"]
            with pytest.raises(
                ToolBlockedError, match=r"`tools\.block: mcp__one__a` keeps it from being called"
            ):
                await gateway.call("mcp__one__a")
            assert (await gateway.inspect("mcp__one__a"))["blocked"] == "`tools.block: mcp__one__a`"

    run(scenario())


def test_what_is_not_allowed_cannot_be_called(run: Run, shelf: Shelf) -> None:
    settings = config(shelf.put("one", "a", "b"), tools={"allow": ["mcp__one__b"]})

    async def scenario() -> None:
        async with Gateway.open(settings) as gateway:
            await gateway.refresh()
            with pytest.raises(ToolBlockedError, match=r"`tools\.allow` \(which does not list it\) keeps it"):
                await gateway.call("mcp__one__a")
            assert (await gateway.call("mcp__one__b")).text == "called b"

    run(scenario())


def test_a_servers_instructions_are_shown_with_its_tools(run: Run) -> None:
    settings = config(python_server("echo", "echo.py", "--instructions", "Speak up, it is an echo."))

    async def scenario() -> None:
        async with Gateway.open(settings) as gateway:
            assert (await gateway.inspect("mcp__echo__add"))["instructions"] == "Speak up, it is an echo."

    run(scenario())


@pytest.mark.parametrize("entry", ["mcp__a-b__x", "mcp__a-b__*", "mcp__a_b__x"])
def test_a_rule_may_be_written_with_the_servers_own_spelling(run: Run, shelf: Shelf, entry: str) -> None:
    settings = config(shelf.put("a-b", "x"), tools={"block": [entry]})

    async def scenario() -> None:
        async with Gateway.open(settings) as gateway:
            await gateway.refresh()
            assert gateway.snapshot.callable == ()
            with pytest.raises(ToolBlockedError):
                await gateway.call("mcp__a_b__x")

    run(scenario())


def test_a_server_cannot_free_a_blocked_tool_by_taking_its_name_for_another(run: Run, shelf: Shelf) -> None:
    rules = {"block": ["mcp__s__delete_x"], "destructive": ["mcp__s__wipe_x"]}
    settings = config(shelf.put("s", "delete.x", "delete_x", "wipe.x", "wipe_x"), tools=rules)

    async def scenario() -> None:
        async with Gateway.open(settings) as gateway:
            await gateway.refresh()
            freed = {gateway.snapshot.tools[name].original_name for name in gateway.snapshot.callable}
            assert freed == {"wipe.x", "wipe_x"}
            for name in gateway.snapshot.callable:
                assert (await gateway.inspect(name))["annotations"]["destructive"] is True

    run(scenario())


def test_what_changed_is_shown_as_it_was(run: Run, shelf: Shelf) -> None:
    settings = config(shelf.put("one", "a"), tools={"pin": "hold"})

    async def scenario() -> None:
        async with Gateway.open(settings) as gateway:
            await gateway.refresh()
            await asyncio.to_thread(shelf.change, "one", "a")
        async with Gateway.open(settings) as gateway:
            await gateway.refresh()
            described = await gateway.inspect("mcp__one__a")
            assert described["description"] == "Tool a, changed."
            assert described["accepted"] == {"description": "Tool a."}
            assert "halflap trust --tool mcp__one__a" in described["held"]

    run(scenario())
