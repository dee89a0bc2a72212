"""Unusual but valid JSON costs at most the tool or the call that it belongs to."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from halflap import Gateway
from halflap.core.errors import ToolFailedError
from halflap.upstream.json_rpc import read_message
from servers.extreme import Extreme
from servers.web import Handler, serving
from support import python_server


def extreme(depth: int, *tools: str) -> dict[str, Any]:
    limits = {"start_timeout_seconds": 60, "call_timeout_seconds": 60}
    server = python_server("x", "extreme.py", str(depth), *tools, protocol="legacy", **limits)
    return {"servers": [server]}


async def test_tools_with_unusual_schemas_are_kept_and_can_be_called() -> None:
    names = ["deep", "half", "large", "nan"]
    async with Gateway.open(extreme(80, *names)) as gateway:
        assert [tool.original_name for tool in await gateway.tools()] == sorted([*names, "good"])
        for name in names:
            assert (await gateway.inspect(f"mcp__x__{name}"))["originalName"] == name
            assert (await gateway.call(f"mcp__x__{name}")).structured_content["value"]


async def test_a_result_that_cannot_be_read_fails_its_call_alone() -> None:
    names = ("answers_deep", "answers_digits", "good")
    async with Gateway.open(extreme(3_000, *names[:-1])) as gateway:
        deep, digits, good = await asyncio.gather(
            *(gateway.call(f"mcp__x__{name}") for name in names), return_exceptions=True
        )
        assert isinstance(deep, ToolFailedError)
        assert isinstance(digits, ToolFailedError)
        assert good.structured_content == {"value": "fine"}  # type: ignore[union-attr]
        (status,) = await gateway.statuses()
        assert (status.state, status.starts) == ("ready", 1)


async def test_over_http_an_unusual_tool_costs_no_other_either() -> None:
    odd = Extreme(80, "deep", "half", "nan")

    class OverHttp(Handler):
        def post(self) -> None:
            reply = odd.answer(self.body()).encode()
            self.send(200 if reply else 202, reply, content_type="application/json")

    with serving(OverHttp) as url:
        server = {"name": "x", "url": url, "protocol": "legacy", "start_timeout_seconds": 60}
        async with Gateway.open({"servers": [server]}) as gateway:
            assert [tool.original_name for tool in await gateway.tools()] == ["deep", "good", "half", "nan"]


def test_half_a_surrogate_pair_becomes_a_question_mark_and_whole_pairs_stay() -> None:
    line = json.dumps({"id": 7, "result": {"\ud800": ["\udc00x", {"a": "😀"}]}}).encode()
    message: Any = read_message(line)
    assert message.result == {"?": ["?x", {"a": "😀"}]}


def test_an_unreadable_answer_becomes_an_error_of_its_request() -> None:
    deep = "[" * 100_000 + "]" * 100_000
    for line in (f'{{"id": 7, "result": {deep}}}', f'{{"result": {deep}, "id": 7}}'):
        message: Any = read_message(line.encode())
        assert (message.id, message.error.code) == (7, -32603)


@given(st.binary(max_size=200) | st.text(max_size=200).map(str.encode))
def test_any_line_is_a_message_or_none(line: bytes) -> None:
    read_message(line)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
KEYS = st.sampled_from(["jsonrpc", "id", "method", "params", "result", "error", "code", "message", "x"])


@given(st.dictionaries(KEYS, JSON | st.dictionaries(KEYS, JSON, max_size=3), max_size=5))
def test_any_object_is_a_message_or_none_and_keeps_its_id(value: dict[str, Any]) -> None:
    message: Any = read_message(json.dumps(value).encode())
    if message is not None and hasattr(message, "id"):
        assert message.id == value["id"]
