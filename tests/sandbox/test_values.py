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


def wrapper(inner: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": {"result": inner}, "required": ["result"]}


NUMBER, STRING = wrapper({"type": "integer"}), {"type": "string"}


@pytest.mark.parametrize(
    ("declared", "wire", "value"),
    [
        # Structured content comes first, else each block is read on its own.
        (None, {"structuredContent": {"a": 1}, "content": text("other")}, {"a": 1}),
        (None, {"structuredContent": None, "content": text("a")}, "a"),
        (None, {"structuredContent": False, "content": text("a")}, False),
        (None, {"content": text(" [1, 2]\n")}, [1, 2]),
        (None, {"content": text("42")}, "42"),
        (None, {"content": text("{not json")}, "{not json"),
        (None, {"content": text("[" * 100_000)}, "[" * 100_000),
        (None, {"content": text("a", "b")}, "a\nb"),
        (None, {"content": text("a", "[1]")}, ["a", [1]]),
        (None, {"content": []}, None),
        (None, {"content": [*text("see"), PIXEL]}, ["see", ("media", PIXEL)]),
        (None, {"content": [PIXEL], "structuredContent": {"width": 1}}, ("media", PIXEL)),
        # A wrapper is taken off if it is declared and there.
        (NUMBER, {"structuredContent": {"result": 3}}, 3),
        (NUMBER, {"structuredContent": {"result": 3, "more": 1}}, {"result": 3, "more": 1}),
        ({"type": "object"}, {"structuredContent": {"result": 3}}, {"result": 3}),
        # A declared string is never parsed.
        (STRING, {"content": text("[]")}, "[]"),
        (wrapper({"type": ["string", "null"]}), {"content": text("[]")}, "[]"),
        (wrapper({"enum": ["{}", "[]"]}), {"content": text("[]")}, "[]"),
    ],
)
def test_a_result_is_read_as_what_it_means(
    declared: dict[str, Any] | None, wire: dict[str, Any], value: Any
) -> None:
    tool = Tool("mcp__s__t", "s", "t", "", {"type": "object"}, declared)
    assert read_result(Result.from_wire(wire), reading_of(tool), lambda block: ("media", block)) == value


def test_values_arrive_in_the_program_as_they_are(desk: Desk) -> None:
    odd = '{"big": 123456789012345678901234567890, "float": 1.5, "none": null, "text": "é\\u0000\\ud83d\\ude00", "deep": [[[{}]]]}'
    assert desk.output(f"print(await mcp__echo__echo(text={odd!r}))") == (
        "{'big': 123456789012345678901234567890, 'float': 1.5, 'none': None, 'text': 'é\\x00😀', 'deep': [[[{}]]]}\n"
    )


def test_a_result_that_breaks_its_declaration_arrives_all_the_same(desk: Desk) -> None:
    code = "print(await mcp__echo__add(a=2, b=3) + 1, await mcp__echo__breach())"
    assert desk.output(code) == "6 {'count': 'many'}\n"
