"""Find what a reference means, within its own document: nothing is ever fetched."""

from __future__ import annotations

from typing import Any
from urllib.parse import unquote

__all__ = ["MISSING", "References"]

MISSING = object()
"""What a reference means that leads nowhere, elsewhere, or to more than one place."""
_INDEXES = frozenset(map(str, range(1000)))


class References:
    """The parts of one schema that can be referred to."""

    def __init__(self, schema: Any) -> None:
        self._schema = schema
        self._names: tuple[dict[str, Any], dict[str, Any]] | None = None

    def find(self, reference: Any) -> Any:
        """Give the part that is meant, or MISSING."""
        if not isinstance(reference, str):
            return MISSING
        address, _, fragment = reference.partition("#")
        if address or (fragment and not fragment.startswith("/")):
            # Only such a reference needs names, and to collect them is to go through the whole document.
            if self._names is None:
                self._names = _names(self._schema)
            anchors, named = self._names
        else:
            anchors, named = {}, {}
        part = named.get(_tail(address), MISSING) if address else self._schema
        if part is MISSING or not fragment:
            return part
        if not fragment.startswith("/"):
            return anchors.get(unquote(fragment), MISSING)
        for token in unquote(fragment[1:]).split("/"):
            key = token.replace("~1", "/").replace("~0", "~")
            if isinstance(part, dict) and key in part:
                part = part[key]
            elif isinstance(part, list) and key in _INDEXES and int(key) < len(part):
                part = part[int(key)]
            else:
                return MISSING
        return part


def _names(schema: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """Find the parts that have a name: by anchor, and by the last word of their address."""
    anchors: dict[str, Any] = {}
    named: dict[str, Any] = {}
    rest = [schema]
    while rest:
        part = rest.pop()
        if isinstance(part, dict):
            for key in ("$anchor", "$dynamicAnchor"):
                if isinstance(part.get(key), str):
                    anchors[part[key]] = part
            address = part.get("$id")
            if isinstance(address, str):
                # Draft-07 names an anchor this way.
                table, word = (anchors, address[1:]) if address.startswith("#") else (named, _tail(address))
                # Two parts of one name: which is meant depends on where one stands.
                table[word] = part if word not in table else MISSING
            rest += part.values()
        elif isinstance(part, list):
            rest += part
    return anchors, named


def _tail(address: str) -> str:
    return address.partition("#")[0].rstrip("/").rpartition("/")[2]
