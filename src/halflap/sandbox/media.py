"""Images, sounds and resources in results, as programs see them, and what of them the model can be shown.

Only the standard library is used: the jail loads this module before it is locked.
"""

from __future__ import annotations

import base64
import io
from collections.abc import Mapping
from typing import Any

_MAX_MIME = 200


class Media:
    """Something that is not text. `.data` has its bytes; `show(it)` shows an image or a sound to the model."""

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
        summary = " ".join(part for part in parts if part)
        return (
            f"<{summary}; show() shows it to the model>"
            if self.kind in {"image", "audio"}
            else f"<{summary}>"
        )


_PICTURES = {
    b"\x89PNG\r\n\x1a\n": "image/png",
    b"\xff\xd8\xff": "image/jpeg",
    b"GIF8": "image/gif",
    b"RIFF": "image/webp",
}


def picture_of(value: object) -> Media | None:
    """Return the picture that a value is: a picture file as bytes, a matplotlib figure, or what Jupyter shows as PNG."""
    data: Any = value.getvalue() if isinstance(value, io.BytesIO) else value
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


def for_model(block: Mapping[str, Any]) -> dict[str, str]:
    """Return the content block of an image or a sound, with nothing else in it; raise `ValueError` if it is not one."""
    kind, mime = _text(block, "type"), _text(block, "mimeType")
    if kind not in {"image", "audio"}:
        raise ValueError(f"The {kind or 'value'} cannot be shown: only images and sounds can.")
    if mime is None or len(mime) > _MAX_MIME:
        raise ValueError(f"The {kind} cannot be shown: its type is missing.")
    return {"type": kind, "data": _base64(block.get("data")), "mimeType": mime}


def _text(source: Mapping[str, Any], key: str) -> str | None:
    value = source.get(key)
    return value if isinstance(value, str) else None


def _base64(data: Any) -> str:
    """Return base64 in one line; servers may wrap it."""
    try:
        plain = "".join(data.split())
        base64.b64decode(plain, validate=True)
    except (AttributeError, ValueError):
        raise ValueError("There is no data, or it is not base64.") from None
    return plain
