"""What a profile leaves out does not exist for its people, whichever way they ask; asked over HTTP by real clients."""

from __future__ import annotations

import asyncio
import json
import re
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import httpx2
import pytest
from mcp import Client, MCPError
from mcp.server.mcpserver import MCPServer
from mcp_types import ToolAnnotations

from cli.program import OLD, halflap
from halflap.config import token_hash
from server.faces import HANDSHAKE, client_of, served, write_script
from server.passthrough.fronts import TOKENS, gateway_of, http_client, over_http
from support import PATIENCE, comes

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
    from pathlib import Path

HIDDEN, MISSING = "mcp__vault__open_vault", "mcp__tower__open_vault"
SECRET = "the secret of the vault"
SETTINGS: Mapping[str, Any] = {
    "profiles": {"reader": {"servers": ["shop", "script"], "read_only": True, "max_calls": 3}},
    "http": {
        "tokens": {
            "ann": {"hash": token_hash(TOKENS["ann"]), "profile": "reader"},
            "bob": {"hash": token_hash(TOKENS["bob"])},
        }
    },
    "tools": {"read_only": ["mcp__shop__find_order"]},
    "server": {"expose": ["mcp__*"]},
}


def shop() -> MCPServer[Any]:
    server: MCPServer[Any] = MCPServer("shop")

    @server.tool(description="Find an order by its number.")
    def find_order(number: str) -> str:
        return f"order {number}"

    @server.tool(description="Cancel an order.", annotations=ToolAnnotations(read_only_hint=True))
    def cancel_order(number: str) -> str:
        return f"cancelled {number}"

    return server


def vault() -> MCPServer[Any]:
    server: MCPServer[Any] = MCPServer("vault")

    @server.tool(description="Open the vault of the orders.")
    def open_vault() -> str:
        return SECRET

    @server.prompt()
    def ask_vault() -> str:
        return SECRET

    @server.resource("vault://secret")
    def secret() -> str:
        return SECRET

    return server


@asynccontextmanager
async def serving(home: Path, **more: Any) -> AsyncIterator[str]:
    script = f'async def main() -> str:\n    """Open it."""\n    return await {HIDDEN}()\n'
    await asyncio.to_thread(write_script, home, "burgle", script)
    settings = {**SETTINGS, **more}
    servers = {"shop": shop(), "vault": vault()}
    async with gateway_of(home, servers, settings) as gateway, over_http(gateway) as address:
        await gateway.settle()
        yield address


def tool(name: str, /, **arguments: Any) -> Callable[[Client], Awaitable[Any]]:
    return lambda client: client.call_tool(name, arguments)


def program(code: str) -> Callable[[Client], Awaitable[Any]]:
    return tool("execute_program", code=code)


WAYS: Mapping[str, Callable[[Client, str], Awaitable[Any]]] = {
    "found": lambda client, name: tool("search_tools", query=name)(client),
    "found by its words": lambda client, _: tool("search_tools", query="open the vault")(client),
    "found on its server": lambda client, name: tool("search_tools", query="open", server=name[5:-12])(client),
    "listed": lambda client, _: tool("list_callable_tools")(client),
    "inspected": lambda client, name: tool("inspect_tool", tool_name=name)(client),
    "called": lambda client, name: tool("call_tool", name=name, arguments={})(client),
    "called by its own name": lambda client, name: tool(name)(client),
    "called by a program": lambda client, name: program(f"print(await {name}())")(client),
    "called by a computed name": lambda client, name: program(f"print(await call_tool('{name}', {{}}))")(client),
    "mistyped in a program": lambda client, name: program(f"print(await {name[:-1]}())")(client),
    "suggested": lambda client, name: tool("suggest_workflow", want=name)(client),
    "suggested for words": lambda client, _: tool("suggest_workflow", goal="open the vault")(client),
    "read": lambda client, name: client.read_resource(f"{name[5:-12]}://secret"),
    "read by its server": lambda client, name: client.read_resource(f"halflap://servers/{name[5:-12]}/x%3A%2F%2Fy"),
    "got as a prompt": lambda client, name: client.get_prompt(f"{name[5:-12]}__ask_vault"),
    "exposed": lambda client, _: client.list_tools(),
    "listed as prompts": lambda client, _: client.list_prompts(),
    "listed as resources": lambda client, _: client.list_resources(),
}  # fmt: skip

NAMED = frozenset(
    {
        "found",
        "found by its words",
        "listed",
        "suggested for words",
        "exposed",
        "listed as prompts",
        "listed as resources",
    }
)
"""Of these, those that do not name it in the question."""


async def told(way: str, client: Client, name: str) -> str:
    """Return everything that a client is told, with both servers called the same."""
    try:
        answer = await WAYS[way](client, name)
        code = (answer.meta or {}).get("halflap", {}).get("code")
        text = f"{code} {answer.model_dump_json(exclude={'meta'})}"
    except MCPError as error:
        text = f"{error.error.message} {error.error.data}"
    text = re.sub(r'score(\\?": ?)[0-9.]+', "", text)  # of the other words in the query
    return text.replace("tower", "vault")


async def differing(client: Client) -> set[str]:
    """Return the ways in which the hidden tool is told from one that does not exist, and in which the secret is got."""
    found = set()
    for way in WAYS:
        of_hidden, of_missing = [await told(way, client, name) for name in (HIDDEN, MISSING)]
        if of_hidden != of_missing or SECRET in of_hidden:
            found.add(way)
    return found


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_what_a_profile_leaves_out_cannot_be_told_from_what_does_not_exist(
    home: Path, mode: str
) -> None:
    async with serving(home) as address, http_client(f"{address}/mcp", "ann", mode) as ann:
        found = await differing(ann)
        listed = await told("listed", ann, HIDDEN)
        named = [await told(way, ann, HIDDEN) for way in NAMED]
    assert found == set()
    assert "find_order" in listed
    assert not any(hidden in text for text in named for hidden in ("vault", "cancel_order"))


async def test_without_a_profile_each_of_these_ways_reaches_it(home: Path) -> None:
    async with serving(home) as address, http_client(f"{address}/mcp", "bob", "auto") as bob:
        found = await differing(bob)
        named = [await told(way, bob, HIDDEN) for way in NAMED]
    assert found == WAYS.keys() - NAMED - {"mistyped in a program"}  # both are taken for the one there is
    assert all("vault" in text for text in named)


async def test_a_program_that_was_checked_for_another_is_checked_again(home: Path) -> None:
    mistaken = program("print(await mcp__shop__find_order(number='1'), await open_vault())")
    async with serving(home) as address:
        async with http_client(f"{address}/mcp", "bob", "auto") as bob:
            assert f"Did you mean {HIDDEN}?" in (await mistaken(bob)).model_dump_json()
        async with http_client(f"{address}/mcp", "ann", "auto") as ann:
            assert "vault__" not in (await mistaken(ann)).model_dump_json()


async def test_a_server_that_cannot_start_is_named_only_to_people_who_may_use_it(home: Path) -> None:
    named = {}
    async with serving(home, mcpServers={"cellar": {"command": "/nowhere/cellar"}}) as address:
        for who in ("ann", "bob"):
            async with http_client(f"{address}/mcp", who, "auto") as client:
                named[who] = "cellar" in await told("listed", client, HIDDEN)
    assert named == {"ann": False, "bob": True}


async def test_a_script_calls_only_what_its_caller_may(home: Path) -> None:
    burgle = program("print(await script__burgle())")
    async with serving(home) as address:
        async with http_client(f"{address}/mcp", "ann", "auto") as ann:
            refused = await burgle(ann)
        async with http_client(f"{address}/mcp", "bob", "auto") as bob:
            allowed = await burgle(bob)
    assert (refused.is_error, allowed.is_error) == (True, False)
    assert SECRET not in refused.model_dump_json()
    assert SECRET in allowed.model_dump_json()


async def test_a_read_only_profile_has_what_is_known_to_change_nothing(home: Path) -> None:
    # The claim of a server that is not trusted does not count.
    cancel = {"name": "mcp__shop__cancel_order", "arguments": {"number": "1"}}
    find = {"name": "mcp__shop__find_order", "arguments": {"number": "1"}}
    async with serving(home) as address, http_client(f"{address}/mcp", "ann", "auto") as ann:
        assert (await ann.call_tool("call_tool", cancel)).is_error
        assert not (await ann.call_tool("call_tool", find)).is_error


async def test_limits_of_a_profile_hold_for_its_people_alone(home: Path) -> None:
    many = program("for at in range(4):\n    print(await mcp__shop__find_order(number=str(at)))")
    async with serving(home) as address:
        async with http_client(f"{address}/mcp", "ann", "auto") as ann:
            assert "3 calls limit" in (await many(ann)).model_dump_json()
        async with http_client(f"{address}/mcp", "bob", "auto") as bob:
            assert not (await many(bob)).is_error


async def test_paths_of_hidden_servers_and_figures_are_not_there(home: Path) -> None:
    profiles = {"reader": {"servers": ["shop"]}, "monitor": {"servers": [], "metrics": True}}
    people = {**SETTINGS["http"]["tokens"], "eve": {"token": "token-of-eve-0123456789", "profile": "monitor"}}
    async with (
        serving(home, profiles=profiles, http={"tokens": people}) as address,
        httpx2.AsyncClient(timeout=60, trust_env=False) as http,
    ):
        codes = {}
        for who, token in {**TOKENS, "eve": "token-of-eve-0123456789"}.items():
            headers = {"Authorization": f"Bearer {token}"}
            for path in ("/metrics", "/servers/vault/mcp", "/servers/tower/mcp"):
                codes[who, path] = (await http.get(address + path, headers=headers)).status_code
    assert [codes[who, "/metrics"] for who in ("ann", "bob", "eve")] == [404, 200, 200]
    assert [codes[who, "/servers/vault/mcp"] for who in ("ann", "eve")] == [404, 404]
    assert codes["bob", "/servers/vault/mcp"] not in {404, codes["bob", "/servers/tower/mcp"]}


def test_a_client_over_stdio_can_have_a_profile(tmp_path: Path) -> None:
    profiles = {"few": {"tools": ["mcp__old__hello"]}}
    with served(tmp_path, OLD, profiles=profiles, arguments=("--profile", "few")) as face:

        async def listed() -> Any:
            async with client_of(face, "auto") as client:
                return (await client.call_tool("list_callable_tools", {})).structured_content

        assert asyncio.run(listed()) == {"result": ["mcp__old__hello"]}
    config = str(tmp_path / "halflap-test.json")
    assert [row["name"] for row in halflap(
        "list", "-c", config, "--profile", "few", "--json", home=tmp_path
    ).json] == ["mcp__old__hello"]  # fmt: skip
    assert halflap("serve", "-c", config, "--profile", "none", home=tmp_path).code == 2


def test_tokens_are_made_replaced_and_revoked_while_the_server_runs(tmp_path: Path) -> None:
    def token(*arguments: str) -> Any:
        done = halflap("token", *arguments, "-c", config, "--json", home=tmp_path)
        assert done.code == 0, done.err
        return done.json

    config = str(tmp_path / "halflap-test.json")
    with served(tmp_path, OLD, profiles={"few": {"tools": ["mcp__old__hello"]}}) as face:
        first = token("add", "ann", "--profile", "few")["token"]
        assert first not in (tmp_path / "halflap-test.json").read_text()
        second = asyncio.run(_replaced(face, first, lambda: str(token("add", "ann", "--force")["token"])))
        asyncio.run(_revoked(face, second, lambda: token("remove", "ann")))
        log = [json.loads(line) for line in (tmp_path / "data" / "audit.jsonl").read_text().splitlines()]
    calls = [line for line in log if line.get("about") == "mcp__old__hello"]
    assert {(line["who"], line["outcome"]) for line in calls} == {("ann", "ok")}
    assert [line["outcome"] for line in log if "who" not in line] == ["refused: token"]
    assert not any(secret in json.dumps(log) for secret in (first, second, "Bearer"))


HELLO = {"name": "mcp__old__hello", "arguments": {"name": "you"}}


async def _status(url: str, token: str) -> int:
    headers = {"Authorization": f"Bearer {token}", "Accept": "application/json, text/event-stream"}
    request = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": HANDSHAKE}
    async with httpx2.AsyncClient(timeout=PATIENCE, trust_env=False) as http:
        return (await http.post(url, headers=headers, json=request)).status_code


async def _replaced(face: Any, first: str, replace: Callable[[], str]) -> str:
    """Use a token and replace it: the new one works, the old one does not; return the new one."""

    async def works(token: str) -> bool:
        return await _status(face.url, token) == 200

    assert await comes(lambda: works(first))
    second = await asyncio.to_thread(replace)
    assert await comes(lambda: works(second))
    assert not await works(first)
    return second


async def _revoked(face: Any, token: str, revoke: Callable[[], Any]) -> None:
    """Revoke a token while a client of the older era has a session and an open stream: both end."""
    headers = {"Authorization": f"Bearer {token}", "Accept": "application/json, text/event-stream"}
    request = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": HANDSHAKE}
    call = {
        "jsonrpc": "2.0",
        "id": 2,
        "method": "tools/call",
        "params": {"name": "call_tool", "arguments": HELLO},
    }
    async with httpx2.AsyncClient(headers=headers, timeout=PATIENCE, trust_env=False) as http:
        opened = await http.post(face.url, json=request)
        session = {"mcp-session-id": opened.headers["mcp-session-id"]}
        await http.post(
            face.url, json={"jsonrpc": "2.0", "method": "notifications/initialized"}, headers=session
        )
        assert (await http.post(face.url, json=call, headers=session)).status_code == 200
        async with http.stream("GET", face.url, headers=session) as stream:
            assert stream.status_code == 200
            reading = asyncio.create_task(_read(stream))
            await asyncio.to_thread(revoke)
            await asyncio.wait_for(reading, PATIENCE)
        assert (await http.post(face.url, json=call, headers=session)).status_code == 401


async def _read(stream: httpx2.Response) -> None:
    """Read a stream until it ends, however it does."""
    try:
        async for _ in stream.aiter_bytes():
            pass
    except httpx2.RemoteProtocolError:
        pass
