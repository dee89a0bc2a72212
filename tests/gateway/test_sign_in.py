"""A server that wants a sign-in, used through Halflap: the error, the command, a link in the client, and several people."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import httpx2
import mcp_types as types
import pytest
from mcp import Client

from halflap.config import Config, HttpConfig
from halflap.config.models import TokenEntry
from halflap.core.errors import SignInNeededError
from halflap.core.values import CallContext, principal_of_person
from halflap.gateway import Gateway
from halflap.server import Front
from halflap.upstream import SignIn, credential_store
from servers.protected import protected

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from servers.protected import Protected

TOOL = "mcp__notes__who"


@pytest.fixture(scope="module")
def running() -> Iterator[Protected]:
    with protected() as server:
        yield server


@pytest.fixture
def server(running: Protected) -> Protected:
    running.reset()
    return running


@pytest.fixture
def config(server: Protected, home: Path) -> Config:
    found = Config.from_mapping({"servers": {"notes": {"url": server.url, "transport": "http"}}})
    return replace(found, data_dir=home / "data")


async def browse(url: str, _: object = None) -> None:
    async with httpx2.AsyncClient(follow_redirects=True, verify=False) as browser:
        await browser.get(url)


async def sign_in(config: Config, principal: str = "local") -> None:
    (server,) = config.servers
    await SignIn(server, principal, credential_store(config)).sign_in(browse)


async def test_the_error_names_the_command_and_after_it_the_same_gateway_goes_on(
    server: Protected, config: Config
) -> None:
    async with Gateway.open(config) as gateway:
        assert "halflap login notes" in (await gateway.examine())["findings"][0]["what"]
        await sign_in(config)
        await gateway.refresh()
        result = await gateway.call(TOOL)
        assert not result.is_error
        server.accounts.revoke()
        with pytest.raises(SignInNeededError, match="halflap login notes"):
            await gateway.call(TOOL)
        assert await gateway.sign_ins() == {}


async def test_a_client_that_can_show_links_signs_in_during_the_call(
    server: Protected, config: Config
) -> None:
    shown: list[str] = []

    async def answer(context: Any, params: Any) -> types.ElicitResult:
        del context
        shown.append(params.url)
        browser = asyncio.create_task(browse(params.url))
        browser.add_done_callback(lambda done: done.result())
        return types.ElicitResult(action="accept")

    await sign_in(config)
    async with Gateway.open(config) as gateway:
        await gateway.refresh()
        server.accounts.revoke()
        async with Client(Front(gateway).server, elicitation_callback=answer) as client:
            result = await client.call_tool("call_tool", {"name": TOOL, "arguments": {}})
    assert not result.is_error
    assert len(shown) == 1


async def test_people_who_share_a_gateway_have_their_own_sign_ins(config: Config) -> None:
    people = {name: TokenEntry(token=f"the-token-of-{name}-1234") for name in ("ann", "bob")}
    config = replace(config, http=HttpConfig(tokens=people))
    await sign_in(config)
    ann, bob = (CallContext(principal=principal_of_person(name)) for name in ("ann", "bob"))
    async with Gateway.open(config) as gateway:
        await gateway.refresh()
        with pytest.raises(SignInNeededError, match="--for ann"):
            await gateway.call_tool(TOOL, {}, ann)
        await sign_in(config, ann.principal)
        assert not (await gateway.call_tool(TOOL, {}, ann)).is_error
        with pytest.raises(SignInNeededError, match="--for bob"):
            await gateway.call_tool(TOOL, {}, bob)


async def test_tokens_are_in_no_file_but_that_of_the_sign_in_even_if_the_server_repeats_them(
    server: Protected, config: Config, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("DEBUG")
    await sign_in(config)
    tokens = {*server.accounts.access, *server.accounts.refresh}
    async with Gateway.open(config) as gateway:
        assert (await gateway.call("mcp__notes__leak")).text.endswith(next(iter(server.accounts.access)))
        for _ in range(2):
            server.accounts.expire()
            await gateway.call("mcp__notes__leak")
            tokens = tokens | {*server.accounts.access, *server.accounts.refresh}
        # A late result may still have the first of the tokens.
        results = [str(one.result).count("[redacted]") for one in await gateway.recent_calls()]
        assert results == [6, 4, 2]  # as text and as structured content
        examined = str(await gateway.examine())
    assert len(tokens) == 6

    def files() -> list[bytes]:
        paths = [
            path for path in config.data_dir.rglob("*") if path.is_file() and path.parent.name != "sign-ins"
        ]
        return [path.read_bytes() for path in paths]

    shown = [one.decode(errors="replace") for one in await asyncio.to_thread(files)]
    assert not [token for token in tokens for text in (*shown, caplog.text, examined) if token in text]


HALFLAP = [sys.executable, "-m", "halflap"]
BROWSER = """\
import sys, urllib.request
open(sys.argv[2], "w").write(" ".join(sys.argv))
urllib.request.urlopen(sys.argv[1])
"""


async def started(file: Path, *arguments: str, **env: str) -> asyncio.subprocess.Process:
    pipe = asyncio.subprocess.PIPE
    command = [*HALFLAP, *arguments, "--config", str(file), "--json"]
    return await asyncio.create_subprocess_exec(
        *command, stdin=pipe, stdout=pipe, stderr=pipe, env={**os.environ, **env}
    )


async def done(process: asyncio.subprocess.Process, given: bytes = b"") -> tuple[Any, str]:
    """Return what a command printed: JSON, and everything."""
    output, errors = await process.communicate(given)
    assert process.returncode == 0, errors
    return json.loads(output), (output + errors).decode()


@pytest.fixture
def file(server: Protected, home: Path) -> Path:
    path = home / "halflap.yaml"
    path.write_text(json.dumps({"servers": {"notes": {"url": server.url}}}))
    return path


@pytest.mark.slow
async def test_login_in_a_browser_is_shown_and_renewed_by_one_process_at_a_time(
    server: Protected, home: Path, file: Path
) -> None:
    (home / "browser.py").write_text(BROWSER)
    browser = f"{sys.executable} {home / 'browser.py'} %s {home / 'arguments'}"
    shown, printed = await done(await started(file, "login", "notes", BROWSER=browser, DISPLAY=":0"))
    until = shown["expiresAt"]
    health, _ = await done(await started(file, "doctor"))
    (row,) = health["servers"]
    assert (row["signIn"], row["signedIn"][0]["expiresAt"]) == ("accepted", until)
    _, listed = await done(await started(file, "list"))
    assert "Signed in to 'notes'" in listed
    tokens = {*server.accounts.access, *server.accounts.refresh}
    seen = printed + listed + str(health) + (home / "arguments").read_text()
    assert not any(token in seen for token in tokens)
    # Two processes need new tokens at the same time; each refresh token can be used once.
    server.accounts.expire()
    calls = await asyncio.gather(*(started(file, "call", TOOL) for _ in range(2)))
    await asyncio.gather(*map(done, calls))
    assert server.accounts.refreshes == 1


@pytest.mark.slow
async def test_login_with_a_pasted_address_and_logout(server: Protected, file: Path) -> None:
    login = await started(file, "login", "notes", "--no-browser")
    assert login.stderr is not None
    async with asyncio.timeout(30):
        while not (line := (await login.stderr.readline()).decode().strip()).startswith("http"):
            pass
    async with httpx2.AsyncClient() as browser:
        ended = (await browser.get(line)).headers["location"]
    shown, printed = await done(login, f"{ended}\n".encode())
    assert (shown["server"], shown["renewsItself"]) == ("notes", True)
    assert not any(token in printed for token in (*server.accounts.access, *server.accounts.refresh))
    gone, _ = await done(await started(file, "logout", "notes", "--for", "someone who has left"))
    assert gone == {"server": "notes", "signedOut": False}
    signed_out, _ = await done(await started(file, "logout", "notes"))
    assert signed_out == {"server": "notes", "signedOut": True}
    assert server.accounts.access == {}
