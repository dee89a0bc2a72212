"""Images, sounds and resources among results, as programs see them: small objects.

The standard library alone: the jail loads this before the locks, too.
"""

from __future__ import annotations

import base64
from typing import Any

__all__ = ["Media"]


class Media:
    """Something that is not text. `show(it)` puts it before the model; `.data` are its bytes."""

    def __init__(self, block: dict[str, Any]) -> None:
        self._block = block
        resource = block.get("resource")
        source = resource if isinstance(resource, dict) else block
        self.kind: str = block["type"]
        self.mime_type: str | None = source.get("mimeType")
        self.uri: str | None = source.get("uri")
        self.name: str | None = source.get("name")
        self.text: str | None = source.get("text")
        self._encoded = source.get("data") or source.get("blob") or ""

    @property
    def data(self) -> bytes:
        """Its bytes; those of its text, if that is what it is."""
        if self.text is not None:
            return self.text.encode()
        return base64.b64decode(self._encoded)

    @property
    def block(self) -> dict[str, Any]:
        """What came from the server."""
        return self._block

    def __repr__(self) -> str:
        padding = self._encoded[-2:].count("=")
        size = len(self._encoded) * 3 // 4 - padding if self.text is None else len(self.text)
        parts = [self.kind, self.mime_type, self.uri, f"{size:,} bytes" if size else None]
        return f"<{' '.join(part for part in parts if part)}; show() puts it before the model>"
