"""What a program shows counts: its text as output, its data against limits of its own, and the record has it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from halflap.config import ExecutionConfig
from halflap.execution.output import Output
from support import eventually

if TYPE_CHECKING:
    from collections.abc import Callable

    from execution.desk import Desk
    from halflap.execution import Execution

MEDIA = "M = type((await mcp__echo__image())[0])\n"
PIXEL = "iVBORw0KGgo="


def showing(text: str) -> str:
    return f"show(M({{'type': 'resource', 'resource': {{'uri': 'x://y', 'text': {text}}}}}))\n"


def recorded(desk: Desk, execution: Execution) -> str:
    # Much of it takes a while to redact, and follows.
    kept: list[str | None] = []

    def is_there() -> bool:
        run, _ = desk.do(desk.gateway.run(execution.run))
        kept.append(run.output)
        return run.output is not None

    assert eventually(is_there)
    return kept[-1] or ""


def words_for_the_model(execution: Execution) -> int:
    return len(execution.text) + sum(len(str(block)) for block in execution.shown)


def test_the_text_of_a_resource_is_cut_like_output_and_recorded_whole(desk: Desk) -> None:
    execution = desk.run(MEDIA + showing("'wombat ' * 500_000"))
    assert words_for_the_model(execution) < 70_000
    (block,) = execution.shown
    assert block["resource"]["text"].endswith("\n... (truncated)")
    assert "\n... (truncated)\nThe output is 3,500,005 bytes; 65,536 of them" in execution.text
    assert execution.is_truncated
    assert recorded(desk, execution).count("wombat ") == 500_000


def test_a_resource_that_is_short_is_a_content_block_as_it_is(desk: Desk) -> None:
    execution = desk.run(f"{MEDIA}print('a', end='')\n" + showing("'some text'") + "print('b')")
    assert execution.shown == ({"type": "resource", "resource": {"uri": "x://y", "text": "some text"}},)
    assert execution.output == "ab\n"
    assert recorded(desk, execution) == "a\n[shown: resource x://y]\nsome text\nb\n"


def test_what_is_printed_has_the_room_first(desk_with: Callable[..., Desk]) -> None:
    desk = desk_with(max_output_bytes=100)
    execution = desk.run(MEDIA + showing("'é' * 30") + "print('p' * 80)")
    assert "p" * 80 in execution.text
    assert execution.shown[0]["resource"]["text"] == "é" * 7 + "\n... (truncated)"
    execution = desk.run(
        MEDIA + showing("'é' * 30") + "show((await mcp__echo__image())[0])\nprint('p' * 101)"
    )
    assert [block["type"] for block in execution.shown] == ["image"]
    assert "... (truncated)" in execution.text


@pytest.mark.parametrize("field", ["uri", "name", "description", "title", "mimeType"])
def test_no_field_of_a_link_is_a_way_around(desk: Desk, field: str) -> None:
    execution = desk.run(
        f"{MEDIA}block = {{'type': 'resource_link', 'uri': 'x://y', 'name': 'n'}}\n"
        f"block['{field}'] = 'wombat ' * 100_000\nshow(M(block))"
    )
    assert words_for_the_model(execution) < 70_000
    assert recorded(desk, execution).count("wombat ") >= 100_000 or field == "mimeType"


def test_an_image_is_noted_in_the_record(desk: Desk) -> None:
    execution = desk.run("show((await mcp__echo__image())[0])")
    assert recorded(desk, execution) == "[shown: image image/png, 72 bytes]\n"


def test_what_is_shown_beyond_the_number_is_said_once(desk_with: Callable[..., Desk]) -> None:
    desk = desk_with(max_shown=2)
    execution = desk.run("i = (await mcp__echo__image())[0]\nfor _ in range(5000): show(i)\nprint('end')")
    assert len(execution.shown) == 2
    assert execution.output == (
        "end\n(not shown: 4,998 of what show() was given; the limit is `execution.max_shown`, 2)\n"
    )


def test_so_is_what_has_more_data_or_text_than_there_may_be(desk_with: Callable[..., Desk]) -> None:
    desk = desk_with(max_shown_bytes=150, max_kept_output_bytes=1_000)
    execution = desk.run(
        f"{MEDIA}i = (await mcp__echo__image())[0]\nshow(i)\nshow(i)\n" + showing("'x' * 2_000")
    )
    assert len(execution.shown) == 1
    assert (
        "not shown: 1 of what show() was given; the limit is `execution.max_shown_bytes`, 150"
        in execution.output
    )
    assert "`execution.max_kept_output_bytes`, 1,000" in execution.output


def test_a_flood_of_resources_keeps_no_more_than_the_limit() -> None:
    kept = Output(ExecutionConfig(max_kept_output_bytes=10_000))
    block = {"type": "resource", "resource": {"uri": "x://y", "text": "x" * 3_000}}
    for _ in range(10_000):
        assert kept.show(block)
    assert (len(kept.shown), len(kept.recorded) < 10_500) == (3, True)


@pytest.mark.parametrize(
    "data",
    ["iVBOR\nw0KGgo=\n", "iVBORw0KGgo", "_-8=", "_-8"],
    ids=["with lines", "unpadded", "as in addresses", "both"],
)
def test_data_that_a_server_writes_in_its_own_way_is_shown_and_read(desk: Desk, data: str) -> None:
    execution = desk.run(
        f"{MEDIA}i = M({{'type': 'image', 'mimeType': 'image/png', 'data': {data!r}}})\nshow(i)\nprint(i.data)"
    )
    assert execution.ok, execution.text
    assert execution.shown[0]["data"] in {PIXEL, "/+8="}
    assert execution.output in {"b'\\x89PNG\\r\\n\\x1a\\n'\n", "b'\\xff\\xef'\n"}


@pytest.mark.parametrize(
    "block",
    [
        {"type": "image", "mimeType": "image/png", "data": "no base64!"},
        {"type": "image", "data": PIXEL},
        {"type": "image", "mimeType": "m" * 1_000_000, "data": PIXEL},
        {"type": "resource", "resource": {"uri": "x://y"}},
        {"type": "resource_link", "uri": "x://y"},
        {"type": "of another kind"},
        {"type": "resource", "resource": {"uri": "x://y", "text": "\n" * 5_000_000}},
    ],
    ids=[
        "no base64",
        "no type",
        "a type without end",
        "empty",
        "no name",
        "another kind",
        "too large as JSON",
    ],
)
def test_what_cannot_be_shown_is_an_error_that_can_be_caught(desk: Desk, block: object) -> None:
    code = f"{MEDIA}b = {block!r}\n" if len(repr(block)) < 10_000 else f"{MEDIA}b = {_short(block)}\n"
    execution = desk.run(
        f"{code}try:\n    show(M(b))\nexcept ValueError as error:\n    print('caught', error)"
    )
    assert execution.ok, execution.text
    assert execution.output.startswith("caught ")


def _short(block: object) -> str:
    return (
        repr(block)
        .replace(repr("m" * 1_000_000), "'m' * 1000000")
        .replace(repr("\n" * 5_000_000), "'\\n' * 5000000")
    )
