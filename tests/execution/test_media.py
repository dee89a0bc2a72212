"""What is not text among results, as programs see it, whatever a server sends."""

from __future__ import annotations

from typing import Any

import pytest

from halflap.execution.jail.inside.media import from_gateway
from halflap.execution.media import Media, for_model

ODD: list[Any] = [5, None, {}, [], {"a": 1}, True, 2.5]


@pytest.mark.parametrize("odd", ODD)
@pytest.mark.parametrize("field", ["type", "mimeType", "uri", "name", "text", "data", "blob", "resource"])
def test_a_field_that_is_no_text_is_none(field: str, odd: Any) -> None:
    link = {"type": "resource_link", "uri": "file:///a", "name": "a", "mimeType": "text/plain", field: odd}
    for block in (link, {"type": "resource", "resource": link}):
        media = from_gateway(("media", block))
        assert isinstance(media, Media)
        fields = (media.mime_type, media.uri, media.name, media.text)
        assert all(one is None or isinstance(one, str) for one in fields)
        assert str(media).startswith(f"<{media.kind} ") or str(media).startswith(f"<{media.kind};")
        assert media.block is block


@pytest.mark.parametrize("odd", ODD)
def test_what_does_not_say_what_it_is_is_something_unknown_that_cannot_be_shown(odd: Any) -> None:
    block = {"type": odd, "data": "aGk="}
    assert str(Media(block)) == "<unknown 2 bytes; show() puts it before the model>"
    assert Media({}).kind == "unknown"
    with pytest.raises(ValueError, match="Only images, sounds and resources"):
        for_model(block)


@pytest.mark.parametrize("odd", [5, {"a": 1}, [1]])
def test_data_that_is_no_text_is_no_data(odd: Any) -> None:
    media = Media({"type": "image", "mimeType": "image/png", "data": odd})
    assert str(media) == "<image image/png; show() puts it before the model>"
    with pytest.raises(ValueError, match="no data"):
        _ = media.data
