"""What a program gets from a call."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from halflap.core.values import Result, Tool
from halflap.schema import read_result, reading_of

if TYPE_CHECKING:
    from sandbox.desk import Desk

PIXEL = {"type": "image", "data": "aGk=", "mimeType": "image/png"}


def text(*texts: str) -> list[dict[str, Any]]:
    return [{"type": "text", "text": one} for one in texts]


def read(declared: dict[str, Any] | None = None, **wire: Any) -> Any:
    tool = Tool("mcp__s__t", "s", "t", "", {"type": "object"}, declared)
    return read_result(Result.from_wire(wire), reading_of(tool), lambda block: ("media", block))


def wrapper(inner: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": {"result": inner}, "required": ["result"]}


@pytest.mark.parametrize(
    ("wire", "value"),
    [
        ({"structuredContent": {"a": 1}, "content": text("other")}, {"a": 1}),
        ({"structuredContent": None, "content": text("a")}, "a"),
        ({"structuredContent": False, "content": text("a")}, False),
        ({"content": text('{"a": 1}')}, {"a": 1}),
        ({"content": text(" [1, 2]\n")}, [1, 2]),
        ({"content": text("42")}, "42"),
        ({"content": text("{not json")}, "{not json"),
        ({"content": text("[" * 100_000)}, "[" * 100_000),
        ({"content": text("a", "b")}, "a\nb"),
        ({"content": text('{"a": 1}', '{"a": 2}')}, [{"a": 1}, {"a": 2}]),
        ({"content": text("a", "[1]")}, ["a", [1]]),
        ({"content": []}, None),
        ({"content": [PIXEL]}, ("media", PIXEL)),
        ({"content": [*text("see"), PIXEL]}, ["see", ("media", PIXEL)]),
        ({"content": [PIXEL], "structuredContent": {"width": 1}}, ("media", PIXEL)),
    ],
)
def test_structured_content_is_first_else_each_block_is_read_on_its_own(
    wire: dict[str, Any], value: Any
) -> None:
    assert read(**wire) == value


def test_a_wrapper_is_taken_off_if_declared_and_there() -> None:
    declared = wrapper({"type": "integer"})
    assert read(declared, structuredContent={"result": 3}) == 3
    assert read(declared, structuredContent={"result": 3, "more": 1}) == {"result": 3, "more": 1}
    assert read(None, structuredContent={"result": 3}) == {"result": 3}
    assert read({"type": "object"}, structuredContent={"result": 3}) == {"result": 3}


def test_a_declared_string_is_never_read_as_anything_else_and_an_object_is() -> None:
    for declared in (
        {"type": "string"},
        wrapper({"type": ["string", "null"]}),
        wrapper({"enum": ["{}", "[]"]}),
    ):
        assert read(declared, content=text("[]")) == "[]"
    assert read({"type": "object", "properties": {"a": {}}}, content=text('{"a": 1}')) == {"a": 1}


# Through the whole path -----------------------------------------------------------------------------------


def test_values_arrive_in_the_program_as_they_are(desk: Desk) -> None:
    odd = '{"big": 123456789012345678901234567890, "float": 1.5, "none": null, "text": "é\\u0000\\ud83d\\ude00", "deep": [[[{}]]]}'
    assert desk.output(f"print(await mcp__echo__echo(text={odd!r}))") == (
        "{'big': 123456789012345678901234567890, 'float': 1.5, 'none': None, 'text': 'é\\x00😀', 'deep': [[[{}]]]}\n"
    )


def test_a_wrapper_is_gone_and_a_result_that_breaks_its_declaration_arrives_all_the_same(desk: Desk) -> None:
    assert desk.output("print(await mcp__echo__add(a=2, b=3) + 1, await mcp__echo__breach())") == (
        "6 {'count': 'many'}\n"
    )
