"""What a program shows reaches the model as content blocks, within limits of its own, and is noted in the record."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from halflap.sandbox.media import Media, for_model

if TYPE_CHECKING:
    from sandbox.desk import Desk

MEDIA = "image, text = await mcp__echo__image()\nM = type(image)\n"
PIXEL = "iVBORw0KGgo="


def recorded(desk: Desk, run: str) -> str | None:
    return desk.do(desk.gateway.run(run))[0].output


def test_an_image_is_a_small_object_with_its_bytes(desk: Desk) -> None:
    code = f"{MEDIA}print(text, image.kind, image.mime_type, image.data[:4], len(image.data) < 200)\nprint(image)"
    first, second = desk.output(code).splitlines()
    assert first == "one pixel image image/png b'\\x89PNG' True"
    assert second.startswith("<image image/png 70 bytes")


def test_what_is_shown_is_a_content_block_and_everything_else_is_printed(desk: Desk) -> None:
    resource = "M({'type': 'resource', 'resource': {'uri': 'x://y', 'text': 'read me'}})"
    wrapped = "M({'type': 'image', 'mimeType': 'image/png', 'data': 'iVBOR\\nw0KGgo=\\n'})"
    execution = desk.run(
        f"{MEDIA}print('before')\nshow([image, text])\nshow({{'a': 1}})\nshow({resource})\nshow({wrapped})"
    )
    assert execution.output == "before\none pixel\n{'a': 1}\nread me\n"
    assert [(block["type"], block["mimeType"]) for block in execution.shown] == [("image", "image/png")] * 2
    # A server may wrap base64.
    assert execution.shown[1]["data"] == PIXEL
    assert recorded(desk, execution.run) == (
        "before\n[shown: image image/png, 72 bytes]\none pixel\n{'a': 1}\nread me\n[shown: image image/png, 9 bytes]\n"
    )


def test_what_is_shown_beyond_a_limit_is_counted_with_the_limit(strict: Desk) -> None:
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


@pytest.mark.parametrize(
    "block",
    [
        {"type": "image", "mimeType": "image/png", "data": "no base64!"},
        {"type": "image", "mimeType": "image/png"},
        {"type": "image", "data": PIXEL},
        {"type": "image", "mimeType": "m" * 1_000_000, "data": PIXEL},
        {"type": "of another kind"},
        {"type": 5, "data": PIXEL},
        {},
    ],
)
def test_what_is_no_image_or_sound_cannot_be_shown(block: dict[str, object]) -> None:
    assert str(Media(block)).startswith("<")
    with pytest.raises(ValueError, match=r"cannot be shown|There is no data"):
        for_model(block)
