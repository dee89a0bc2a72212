"""`halflap serve --http`: who gets in, both eras, and how it ends."""

from __future__ import annotations

import asyncio
import signal
import socket
import stat
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from mcp import MCPError

from cli.program import OLD, halflap
from halflap.core.errors import ServeError, UsageError
from halflap.core.values import principal_of_token
from halflap.server.http import bind, parse_address
from halflap.server.tokens import stored_token
from server.faces import Served, client_of, served
from support import PATIENCE, alive, children_of, eventually

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="module")
def face(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    home = tmp_path_factory.mktemp("face")
    http = {"allowed_hosts": ["halflap.example"], "allowed_origins": ["https://app.example"]}
    with served(home, OLD, http=http) as face:
        yield face


def test_answers_are_sent_without_waiting_for_more_to_send() -> None:
    with bind("127.0.0.1", 0) as listener, socket.create_connection(listener.getsockname()):
        accepted, _ = listener.accept()
        with accepted:
            assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY) == 1


@pytest.mark.parametrize("authorization", ["", "Basic {token}", "{token}", "Bearer {token}x"])
def test_requests_without_the_token_are_refused(face: Served, authorization: str) -> None:
    answer = face.ask(Authorization=authorization.format(token=face.token))
    assert answer.status_code == 401
    assert answer.json()["code"] == "http-token"
    assert answer.headers["www-authenticate"].startswith("Bearer")


@pytest.mark.parametrize("path", ["/mcp", "//mcp", "/%6dcp"])
def test_every_path_and_method_is_guarded(face: Served, path: str) -> None:
    for method in ("GET", "POST", "PUT", "DELETE", "OPTIONS", "HEAD"):
        assert face.ask(path, method, Authorization="Bearer wrong").status_code == 401


def test_a_web_socket_is_guarded_too(face: Served) -> None:
    upgrade = {"Connection": "Upgrade", "Upgrade": "websocket", "Sec_WebSocket_Version": "13"}
    answer = face.ask("/mcp", "GET", Authorization="", Sec_WebSocket_Key="dGhlIHNhbXBsZQ==", **upgrade)
    assert answer.status_code == 401


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example", "evil.example:8765", "", "[::1"])
def test_a_foreign_host_is_refused_even_with_the_token(face: Served, host: str) -> None:
    assert face.ask(Host=host).status_code == 421


def test_own_and_configured_hosts_and_origins_are_accepted(face: Served) -> None:
    assert face.token in face.said
    for host in ("localhost", "127.0.0.1:1", "LOCALHOST:8765", "[::1]:80", "halflap.example"):
        assert face.ask(Host=host).status_code == 200
    for origin in ("http://localhost:3000", "http://[::1]:5173", "https://app.example"):
        assert face.ask(Origin=origin).status_code == 200


def test_a_foreign_origin_is_refused_even_with_the_token(face: Served) -> None:
    foreign = ("null", "http://localhost.evil.example", "http://127.0.0.1@evil.example", "file://", "")
    for origin in ("https://evil.example", *foreign):
        assert face.ask(Origin=origin).status_code == 403


def test_the_token_file_is_the_owners_alone(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    token, file, _ = stored_token(folder)
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    file.chmod(0o644)
    assert stored_token(folder)[0] == token
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert token not in principal_of_token(token)


@pytest.mark.slow
def test_the_token_stays_the_same_and_a_signal_ends_it_although_a_stream_is_open(tmp_path: Path) -> None:
    async def end(face: Served) -> list[int]:
        async with client_of(face, "legacy") as client:
            await client.call_tool("list_callable_tools", {})
            children = children_of(face.process.pid)
            face.process.send_signal(signal.SIGTERM)
            # The client holds it open for longer.
            assert await asyncio.to_thread(face.process.wait, PATIENCE) == 0
            return children

    token, _, _ = stored_token(tmp_path / "data")
    with served(tmp_path, OLD) as face:
        assert face.token == token
        assert token not in face.said
        assert str(tmp_path / "data" / "http_token") in face.said
        children = asyncio.run(end(face))
        assert len(children) >= 2
        assert eventually(lambda: not any(alive(pid) for pid in children))
        assert face.process.stderr is not None
        assert "Traceback" not in face.process.stderr.read()


def test_an_address_that_others_can_reach_is_warned_about(tmp_path: Path) -> None:
    with served(tmp_path, address="0.0.0.0:0") as face:
        assert "put a proxy with TLS in front" in face.said


def test_an_address_that_cannot_be_used_is_an_error() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        for address in (taken.getsockname(), ("no-such-host.invalid", 8765)):
            with pytest.raises(ServeError):
                bind(*address)


def test_an_address_needs_a_port_and_without_a_host_is_this_machine() -> None:
    for address in ("localhost", "", ":65536", ":http", "http://127.0.0.1:8765/mcp", ":-1", ":٣"):
        with pytest.raises(UsageError):
            parse_address(address)
    assert parse_address("8765") == parse_address(":8765") == ("127.0.0.1", 8765)
    assert parse_address("[::1]:0") == ("::1", 0)
    assert parse_address("localhost:80") == ("localhost", 80)


@pytest.mark.parametrize("content", [None, b"", b"\xff\xfe"])
def test_a_token_file_that_cannot_be_used_is_an_error(tmp_path: Path, content: bytes | None) -> None:
    file = tmp_path / "http_token"
    if content is None:
        file.mkdir()
    else:
        file.write_bytes(content)
    with pytest.raises(ServeError, match="http_token"):
        stored_token(tmp_path)


ANN, BOB = "ann-has-this-token", "bob-has-another-one"


@pytest.mark.slow
def test_people_with_tokens_of_their_own_see_their_own_runs(tmp_path: Path) -> None:
    async def scenario(face: Served) -> None:
        ann, bob = replace(face, token=ANN), replace(face, token=BOB)
        async with client_of(ann, "legacy") as client:
            result = await client.call_tool("execute_program", {"code": "print('of ann')"})
            assert result.meta is not None
            run = f"halflap://runs/{result.meta['halflap']['run']}/output"
        async with client_of(ann, "legacy", scheme="bearer  ") as client:
            (contents,) = (await client.read_resource(run)).contents
            assert getattr(contents, "text", "") == "of ann\n"
        async with client_of(bob, "legacy") as client:
            assert (await client.list_resources()).resources == []
            with pytest.raises(MCPError, match="no resource"):
                await client.read_resource(run)

    with served(tmp_path, http={"tokens": {"ann": ANN, "bob": BOB}}) as face:
        assert face.token == "", "no token was made that lets everybody in"
        for wrong in ("-", "ann", f"{ANN}x", ANN[:-1]):
            assert face.ask(Authorization=f"Bearer {wrong}").status_code == 401
        asyncio.run(scenario(face))
    done = halflap("runs", "--json", home=tmp_path)
    assert [run["principal"] for run in done.json] == ["person:ann"]
