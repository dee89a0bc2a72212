"""Unusual but valid JSON costs at most the tool or the call that it belongs to."""

from __future__ import annotations

import asyncio
import json
import re
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, ClassVar

from hypothesis import given
from hypothesis import strategies as st

from halflap import Gateway
from halflap.core.errors import ToolFailedError
from halflap.upstream.json_rpc import read_message
from servers.web import Handler, serving

if TYPE_CHECKING:
    from collections.abc import Iterator


def nested_schema(depth: int) -> str:
    return '{"type":"object","properties":{"a":' * depth + "{}" + "}}" * depth


SCHEMAS = {
    "deep": nested_schema(80),
    "nan": '{"type":"object","properties":{"a":{"default":NaN}}}',
    "half": '{"type":"object","properties":{"a":{"description":"\\ud800"}}}',
    "large": '{"type":"object","properties":{"a":{"maximum":1' + "0" * 400 + "}}}",
}
VALUES = {
    "answers_deep": "[" * 3_000 + "]" * 3_000,
    "answers_digits": "9" * 5_000,
    "answers_half": '"\\ud800"',
}


class Unusual(Handler):
    """Answers to the letter, without a library."""

    def post(self) -> None:
        request = json.loads(self.body())
        if request["method"] == "tools/list":
            names = [*SCHEMAS, *VALUES, "good"]
            tools = (f'{{"name":"{name}","inputSchema":{SCHEMAS.get(name, "{}")}}}' for name in names)
            result = f'{{"tools":[{",".join(tools)}],"ttlMs":1{"0" * 400}}}'
        elif request["method"] == "tools/call":
            value = VALUES.get(request["params"]["name"], '"fine"')
            result = f'{{"content":[],"structuredContent":{{"value":{value}}}}}'
        else:
            about = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}}
            result = json.dumps(about | {"serverInfo": {"name": "unusual", "version": "1"}})
        answer = f'{{"jsonrpc":"2.0","id":{json.dumps(request.get("id"))},"result":{result}}}'
        is_answered = "id" in request
        self.send(200 if is_answered else 202, answer.encode() * is_answered, content_type="application/json")


@contextmanager
def unusual() -> Iterator[dict[str, Any]]:
    with serving(Unusual) as url:
        yield {"servers": [{"name": "x", "url": url, "transport": "http", "protocol": "legacy"}]}


async def test_tools_with_unusual_schemas_are_kept_and_can_be_called() -> None:
    with unusual() as config:
        async with Gateway.open(config) as gateway:
            assert len(await gateway.tools()) == len(SCHEMAS) + len(VALUES) + 1
            for name in SCHEMAS:
                assert (await gateway.inspect(f"mcp__x__{name}"))["originalName"] == name
                assert (await gateway.call(f"mcp__x__{name}")).structured_content == {"value": "fine"}


async def test_a_result_that_cannot_be_read_fails_its_call_alone() -> None:
    with unusual() as config:
        async with Gateway.open(config) as gateway:
            names = (*VALUES, "good")
            deep, digits, half, good = await asyncio.gather(
                *(gateway.call(f"mcp__x__{name}") for name in names), return_exceptions=True
            )
            assert isinstance(deep, ToolFailedError)
            assert isinstance(digits, ToolFailedError)
            assert half.structured_content == {"value": "?"}  # type: ignore[union-attr]
            assert good.structured_content == {"value": "fine"}  # type: ignore[union-attr]
            (status,) = await gateway.statuses()
            assert (status.state, status.starts) == ("ready", 1)


JSON_TYPE = "application/json"


class Refusing(Handler):
    """Answers as load balancers and API gateways do."""

    answers: ClassVar = {
        "limited": (429, b'{"message": "slow down"}', {"content_type": JSON_TYPE}),
        "page": (502, b"<html>", {"content_type": "text/html"}),
        "other": (200, b'{"message": "hello"}', {"content_type": JSON_TYPE}),
        "undecodable": (200, b"{}", {"content_type": JSON_TYPE, "content_encoding": "gzip"}),
    }
    tools = tuple(answers)

    def call(self, name: str, _identifier: Any) -> None:
        status, body, headers = self.answers[name]
        self.send(status, body, **headers)


async def test_an_answer_that_is_not_of_the_server_fails_its_call_alone_and_is_explained() -> None:
    with serving(Refusing) as url:
        async with Gateway.open({"servers": [{"name": "x", "url": url}]}) as gateway:
            await gateway.refresh()
            failed = await asyncio.gather(
                *(gateway.call(f"mcp__x__{name}") for name in Refusing.tools), return_exceptions=True
            )
            for said, error in zip(("429.*slow down", "502", "not MCP", "decompress"), failed, strict=True):
                assert re.search(said, str(error))
            (status,) = await gateway.statuses()
            assert (status.state, status.starts) == ("ready", 1)


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
