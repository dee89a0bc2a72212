"""Images, sounds and resources in results, as programs see them.

Only the standard library is used: the jail loads this module before it is locked.
"""

from __future__ import annotations

import base64
import io
from collections.abc import Mapping
from typing import Any

__all__ = ["Media", "for_model", "picture_of"]

_LONGEST_MIME = 200
_OF_A_LINK = ("uri", "name", "mimeType", "description", "title")
_OF_A_RESOURCE = ("uri", "mimeType", "text")


class Media:
    """Something that is not text. `show(it)` shows it to the model; `.data` has its bytes."""

    def __init__(self, block: Mapping[str, Any]) -> None:
        self.block = dict(block)
        """The content block as the server sent it."""
        resource = block.get("resource")
        source = resource if isinstance(resource, dict) else block
        # A server may send anything; only text counts as text.
        self.kind: str = _text(block, "type") or "unknown"
        self.mime_type: str | None = _text(source, "mimeType")
        self.uri: str | None = _text(source, "uri")
        self.name: str | None = _text(source, "name")
        self.text: str | None = _text(source, "text")
        self._encoded = source.get("data") or source.get("blob")

    @property
    def data(self) -> bytes:
        """Its bytes, or those of its text."""
        return base64.b64decode(_base64(self._encoded)) if self.text is None else self.text.encode()

    def __repr__(self) -> str:
        size = len(str(self._encoded or "").rstrip("=")) * 3 // 4 if self.text is None else len(self.text)
        parts = [self.kind, self.mime_type, self.uri, f"{size:,} bytes" if size else None]
        return f"<{' '.join(part for part in parts if part)}; show() shows it to the model>"


_PICTURES = {
    b"\x89PNG\r\n\x1a\n": "image/png",
    b"\xff\xd8\xff": "image/jpeg",
    b"GIF8": "image/gif",
    b"RIFF": "image/webp",
}


def picture_of(value: object) -> Media | None:
    """Return the picture that a value is: bytes of a picture file, a matplotlib figure, or what Jupyter shows as PNG."""
    data: Any = value
    if hasattr(value, "savefig"):
        file = io.BytesIO()
        value.savefig(file, format="png")
        data = file.getvalue()
    elif hasattr(type(value), "_repr_png_"):
        data = value._repr_png_()  # type: ignore[attr-defined]
    if not isinstance(data, bytes | bytearray):
        return None
    mime = next((mime for start, mime in _PICTURES.items() if data.startswith(start)), None)
    if mime is None or (mime == "image/webp" and data[8:12] != b"WEBP"):
        return None
    return Media({"type": "image", "data": base64.b64encode(data).decode(), "mimeType": mime})


def for_model(block: Mapping[str, Any]) -> dict[str, Any]:
    """Return a content block with nothing else in it; raise `ValueError` if it cannot be shown."""
    kind = _text(block, "type")
    try:
        return {"type": kind, **_shown(kind, block)}
    except ValueError as error:
        raise ValueError(f"The {kind or 'value'} cannot be shown: {error}") from None


def _shown(kind: str | None, block: Mapping[str, Any]) -> dict[str, Any]:
    if kind in {"image", "audio"}:
        mime = _text(block, "mimeType")
        if mime is None or len(mime) > _LONGEST_MIME:
            raise ValueError("its type is missing.")
        return {"data": _base64(block.get("data")), "mimeType": mime}
    if kind == "resource_link":
        kept = {key: block[key] for key in _OF_A_LINK if isinstance(block.get(key), str)}
        if "uri" not in kept or "name" not in kept:
            raise ValueError("it needs an address and a name.")
        return kept
    resource = block.get("resource")
    if kind != "resource" or not isinstance(resource, dict):
        raise ValueError("it is not an image, sound or resource.")
    kept = {key: resource[key] for key in _OF_A_RESOURCE if isinstance(resource.get(key), str)}
    if "uri" not in kept or ("text" in kept) == (resource.get("blob") is not None):
        raise ValueError("it needs an address, and either text or data.")
    if "text" not in kept:
        kept["blob"] = _base64(resource.get("blob"))
    return {"resource": kept}


def _text(source: Mapping[str, Any], key: str) -> str | None:
    value = source.get(key)
    return value if isinstance(value, str) else None


def _base64(data: object) -> str:
    """Return base64 in one line; servers may wrap it."""
    if not isinstance(data, str):
        raise ValueError("it has no data.")  # noqa: TRY004 -- any problem of a block is a wrong value
    plain = "".join(data.split())
    try:
        base64.b64decode(plain, validate=True)
    except ValueError:
        raise ValueError("its data is not base64.") from None
    return plain
