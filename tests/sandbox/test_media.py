"""What is not text among results, as programs see it, whatever a server sends."""

from __future__ import annotations

from typing import Any

import pytest

from halflap.sandbox.media import Media, for_model

ODD: list[Any] = [5, None, {}, [], {"a": 1}, True, 2.5]


@pytest.mark.parametrize("field", ["type", "mimeType", "uri", "name", "text", "data", "blob", "resource"])
def test_a_field_that_is_no_text_is_none(field: str) -> None:
    for odd in ODD:
        link = {
            "type": "resource_link",
            "uri": "file:///a",
            "name": "a",
            "mimeType": "text/plain",
            field: odd,
        }
        for block in (link, {"type": "resource", "resource": link}):
            media = Media(block)
            assert isinstance(media, Media)
            fields = (media.mime_type, media.uri, media.name, media.text)
            assert all(one is None or isinstance(one, str) for one in fields)
            assert str(media).startswith(f"<{media.kind}")
            assert media.block == block


def test_what_does_not_say_what_it_is_is_unknown_and_cannot_be_shown() -> None:
    assert Media({}).kind == "unknown"
    for odd in ODD:
        block = {"type": odd, "data": "aGk="}
        assert Media(block).kind == "unknown"
        with pytest.raises(ValueError, match="cannot be shown"):
            for_model(block)
