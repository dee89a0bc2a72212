"""Connections of single servers: protocol versions, delivery, reconnecting, closing."""

from __future__ import annotations

import os
import signal
import sys
from typing import TYPE_CHECKING

from mcp.client import session as client_session

from halflap import Gateway
from halflap.upstream.connection import Connection
from support import SERVERS, alive, comes, eventually, python_server

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


async def version(command: str, *args: str, **settings: object) -> str | None:
    """Return the version that is agreed on; the server has the tool `use`."""
    server = {"name": "x", "command": command, "args": args, **settings}
    async with Gateway.open({"servers": [server]}) as gateway:
        await gateway.refresh()
        assert list(gateway.snapshot.tools) == ["mcp__x__use"]
        (status,) = await gateway.statuses()
        return status.protocol_version


async def test_a_version_that_both_sides_know_is_found_also_after_an_upgrade(tmp_path: Path) -> None:
    for kind, spoken in (("future", "2025-06-18"), ("newer", "2026-07-28"), ("future", "2025-06-18")):
        command = [sys.executable, str(SERVERS / "unwilling.py"), kind]
        (tmp_path / "server").write_text(f"import os\nos.execv({sys.executable!r}, {command})")
        assert await version(sys.executable, str(tmp_path / "server")) == spoken


async def test_a_server_of_the_newer_era_may_take_longer_to_start_than_to_answer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(client_session, "DISCOVER_TIMEOUT_SECONDS", 0.01)
    script = str(SERVERS / "unwilling.py")
    assert await version(sys.executable, script, "newer", protocol="modern") == "2026-07-28"


def test_a_request_that_the_server_left_unread_did_not_arrive() -> None:
    connection = Connection(sent={1: 100, 2: 150}, written=150, unread=1)
    assert [connection.may_have_arrived(one) for one in (1, 2, 3)] == [True, False, False]
    connection.unread = 0
    assert connection.may_have_arrived(2)
    assert Connection().may_have_arrived(1)


async def test_a_server_that_is_killed_while_idle_is_reconnected_and_none_is_left_after_closing() -> None:
    async with Gateway.open({"servers": [python_server("x", "swift.py")]}) as gateway:

        async def pid() -> int:
            return int((await gateway.call("mcp__x__pid")).text)

        async def is_back() -> bool:
            (status,) = await gateway.statuses()
            return (status.state, status.starts, status.reason) == ("ready", 2, None)

        os.kill(await pid(), signal.SIGKILL)
        assert await comes(is_back)
        running = await pid()
    assert eventually(lambda: not alive(running))
