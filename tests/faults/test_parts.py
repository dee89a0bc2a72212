"""JSON with very many tiny parts is refused before it is parsed, wherever it comes from."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import httpx2
import mcp_types as types
import pytest

from halflap.sandbox.jail import messages
from halflap.sandbox.jail.protocol import MisuseError
from halflap.upstream.json_rpc import read_message
from sandbox.desk import Desk
from server.faces import served
from servers.memory import Memory, definition, text
from support import little_work

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

MANY = 600_000
CSV = "1,2,3\n" * 300_000
"""Many commas, but one part."""
PICTURE = b'{"type": "image", "data": "", "mimeType": "image/png", "more": [%s1]}' % (b"[]," * 2_000)


async def answer(name: str, _: dict[str, Any]) -> dict[str, Any]:
    return text(f"[{'[],' * MANY}1]" if name == "many" else CSV)


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    servers = {"data": Memory(definition("many"), definition("csv"), "take [items]", answer=answer)}
    folder = tmp_path_factory.mktemp("parts")
    (folder / "scripts").mkdir()
    code = f'def main() -> list:\n    """Return much."""\n    return [[]] * {MANY}\n'
    (folder / "scripts" / "many.py").write_text(code)
    with Desk({"execution": {"check": "off"}}, folder, servers) as opened:
        yield opened


@pytest.mark.parametrize(
    ("code", "calls"),
    [
        (f"await mcp__data__take(items=[[]] * {MANY})", 0),
        ("await mcp__data__many()", 1),
        ("await script__many()", 1),
    ],
    ids=["arguments", "result", "returned by a script"],
)
def test_a_program_is_told_that_a_value_has_too_many_parts(desk: Desk, code: str, calls: int) -> None:
    ran = desk.run(code)
    assert (ran.outcome, len(ran.calls)) == ("failed", calls)
    assert "500,000" in ran.text


def test_a_long_text_with_commas_is_handed_over(desk: Desk) -> None:
    assert desk.output("print(len(await mcp__data__csv()))") == f"{len(CSV)}\n"


@pytest.mark.parametrize(
    "read",
    [
        lambda: messages.read_shown(PICTURE),
        lambda: messages.read_call(b"[" + b"[]," * MANY + b"1]"),
    ],
)
def test_a_forged_frame_is_not_parsed(read: Any) -> None:
    with little_work(1.0), pytest.raises(MisuseError, match="parts"):
        read()


def test_an_answer_of_a_server_fails_for_its_caller_alone() -> None:
    line = b'{"jsonrpc": "2.0", "id": 7, "result": {"content": [], "x": [' + b"[]," * 8_000_000 + b"1]}}"
    with little_work(2.0):
        message = read_message(line)
    assert isinstance(message, types.JSONRPCError)
    assert message.id == 7
    assert "500,000" in message.error.message


@pytest.mark.slow
def test_the_body_of_a_request_is_refused(tmp_path: Path) -> None:
    def ask(arguments: Any) -> httpx2.Response:
        params = {"name": "call_tool", "arguments": {"name": "x", "arguments": arguments}}
        body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})
        kinds = {"accept": "application/json, text/event-stream", "content-type": "application/json"}
        headers = {"authorization": f"Bearer {face.token}", **kinds}
        return httpx2.post(face.url, content=body, headers=headers, timeout=60, trust_env=False)

    with served(tmp_path) as face:
        refused = ask({"x": [[]] * 200_000})
        assert (refused.status_code, refused.json()["code"]) == (413, "http-body")
        assert ask({"x": CSV}).status_code != 413
        assert face.ask().status_code == 200
