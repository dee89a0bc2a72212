"""References within one schema document; nothing is ever fetched."""

from __future__ import annotations

from typing import Any
from urllib.parse import unquote

from halflap.core.text import clean_json

__all__ = ["MISSING", "References", "clean_schema"]

MISSING = object()
"""The target of a reference that leads nowhere, to another document, or to an ambiguous name."""
_INDEXES = frozenset(map(str, range(1000)))
_REFERENCES = ("$ref", "$dynamicRef")
_CUT = "… (cut)"


class References:
    """The parts of one schema that can be referred to."""

    def __init__(self, schema: Any) -> None:
        self._schema = schema
        self._names: tuple[dict[str, Any], dict[str, Any]] | None = None

    def find(self, reference: Any) -> Any:
        """Return the part that a reference leads to, or MISSING."""
        if not isinstance(reference, str):
            return MISSING
        address, _, fragment = reference.partition("#")
        if not address and (not fragment or fragment.startswith("/")):
            part = self._schema
        else:
            # Names are collected on first need only, since that takes a walk through the whole document.
            if self._names is None:
                self._names = _names(self._schema)
            anchors, documents = self._names
            part = documents.get(_last_segment(address), MISSING) if address else self._schema
            if part is not MISSING and fragment and not fragment.startswith("/"):
                return anchors.get(unquote(fragment), MISSING)
        return part if part is MISSING or not fragment else _follow(part, fragment)


def _follow(part: Any, pointer: str) -> Any:
    for token in unquote(pointer[1:]).split("/"):
        key = token.replace("~1", "/").replace("~0", "~")
        if isinstance(part, dict) and key in part:
            part = part[key]
        elif isinstance(part, list) and key in _INDEXES and int(key) < len(part):
            part = part[int(key)]
        else:
            return MISSING
    return part


def _names(schema: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """Collect the parts that have a name: by anchor, and by the last segment of their `$id`."""
    anchors: dict[str, Any] = {}
    documents: dict[str, Any] = {}
    rest = [schema]
    while rest:
        part = rest.pop()
        if isinstance(part, dict):
            for key in ("$anchor", "$dynamicAnchor"):
                if isinstance(part.get(key), str):
                    anchors[part[key]] = part
            address = part.get("$id")
            if isinstance(address, str):
                # Draft-07 writes an anchor as an `$id` that starts with #.
                is_anchor = address.startswith("#")
                table, name = (anchors, address[1:]) if is_anchor else (documents, _last_segment(address))
                table[name] = part if name not in table else MISSING
            rest += part.values()
        elif isinstance(part, list):
            rest += part
    return anchors, documents


def _last_segment(address: str) -> str:
    return address.partition("#")[0].rstrip("/").rpartition("/")[2]


def clean_schema(schema: Any, longest: int) -> tuple[Any, bool]:
    """Make a schema fit to be shown, as `clean_json` does, with no reference to a part that was cut away."""
    shown, has_hidden = clean_json(schema, longest)
    before, after = References(schema), References(shown)
    rest = [shown]
    while rest:
        part = rest.pop()
        if isinstance(part, dict):
            for key in _REFERENCES:
                target = part.get(key)
                was_there = isinstance(target, str) and before.find(target) is not MISSING
                if target == _CUT or (was_there and after.find(target) is MISSING):
                    del part[key]
                    part["$comment"] = _CUT
            rest += part.values()
        elif isinstance(part, list):
            rest += part
    return shown, has_hidden
