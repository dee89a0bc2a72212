"""What a program shows counts: its text as output, its data against limits of its own, and the record has it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from halflap.config import ExecutionConfig
from halflap.sandbox.run.output import Output
from support import eventually

if TYPE_CHECKING:
    from halflap.sandbox.run.report import Execution
    from sandbox.desk import Desk

MEDIA = "image, text = await mcp__echo__image()\nM = type(image)\n"
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


def characters_for_the_model(execution: Execution) -> int:
    return len(execution.text) + sum(len(str(block)) for block in execution.shown)


def test_an_image_is_a_small_object_with_its_bytes(desk: Desk) -> None:
    code = f"{MEDIA}print(text, image.kind, image.mime_type, image.data[:4], len(image.data) < 200)\nprint(image)"
    first, second = desk.output(code).splitlines()
    assert first == "one pixel image image/png b'\\x89PNG' True"
    assert second.startswith("<image image/png 70 bytes")


def test_what_is_shown_is_a_content_block_and_text_is_printed(desk: Desk) -> None:
    execution = desk.run(f"{MEDIA}print('before')\nshow([image, text])\nshow({{'a': 1}})")
    assert execution.output == "before\none pixel\n{'a': 1}\n"
    (block,) = execution.shown
    assert (block["type"], block["mimeType"]) == ("image", "image/png")
    assert recorded(desk, execution) == "before\n[shown: image image/png, 72 bytes]\none pixel\n{'a': 1}\n"


def test_the_text_of_a_resource_is_cut_like_output_and_recorded_whole(desk: Desk) -> None:
    execution = desk.run(MEDIA + showing("'wombat ' * 100_000"))
    assert characters_for_the_model(execution) < 70_000
    assert execution.is_truncated
    assert recorded(desk, execution).count("wombat ") == 100_000


def test_no_field_of_a_link_is_a_way_around(desk: Desk) -> None:
    for field in ("uri", "description"):
        execution = desk.run(
            f"{MEDIA}block = {{'type': 'resource_link', 'uri': 'x://y', 'name': 'n'}}\n"
            f"block['{field}'] = 'wombat ' * 100_000\nshow(M(block))"
        )
        assert characters_for_the_model(execution) < 70_000
        assert recorded(desk, execution).count("wombat ") >= 100_000


def test_what_is_shown_beyond_a_limit_is_told_once_with_the_limit(strict: Desk) -> None:
    execution = strict.run(f"{MEDIA}for _ in range(5000): show(image)\nprint('end')")
    assert len(execution.shown) == 2
    lines = execution.output.splitlines()
    assert (lines[0], len(lines)) == ("end", 2)
    assert "4,998" in lines[1]
    assert "`execution.max_shown`" in lines[1]
    large = "show(M({'type': 'image', 'mimeType': 'image/png', 'data': 'AAAA' * 50}))\n"
    execution = strict.run(f"{MEDIA}{large}{large}")
    assert len(execution.shown) == 1
    assert "`execution.max_shown_bytes`" in execution.output


def test_a_flood_of_resources_keeps_no_more_than_the_limit() -> None:
    kept = Output(ExecutionConfig(max_kept_output_bytes=10_000))
    block = {"type": "resource", "resource": {"uri": "x://y", "text": "x" * 3_000}}
    for _ in range(10_000):
        assert kept.show(block)
    assert (len(kept.shown), len(kept.recorded) < 10_500) == (3, True)


def test_base64_in_lines_is_shown_and_read(desk: Desk) -> None:
    execution = desk.run(
        f"{MEDIA}i = M({{'type': 'image', 'mimeType': 'image/png', 'data': 'iVBOR\\nw0KGgo=\\n'}})\nshow(i)\nprint(i.data)"
    )
    assert [block["data"] for block in execution.shown] == [PIXEL]
    assert execution.output == "b'\\x89PNG\\r\\n\\x1a\\n'\n"


def test_what_cannot_be_shown_is_an_error_that_can_be_caught(desk: Desk) -> None:
    blocks = f"""[
    {{"type": "image", "mimeType": "image/png", "data": "no base64!"}},
    {{"type": "image", "data": {PIXEL!r}}},
    {{"type": "image", "mimeType": "m" * 1_000_000, "data": {PIXEL!r}}},
    {{"type": "resource", "resource": {{"uri": "x://y"}}}},
    {{"type": "resource_link", "uri": "x://y"}},
    {{"type": "of another kind"}},
    {{"type": "resource", "resource": {{"uri": "x://y", "text": "\\n" * 5_000_000}}}},
]"""
    execution = desk.run(
        f"{MEDIA}for block in {blocks}:\n    try:\n        show(M(block))\n    except ValueError:\n        print('caught')"
    )
    assert (execution.output, execution.shown) == ("caught\n" * 7, ())
