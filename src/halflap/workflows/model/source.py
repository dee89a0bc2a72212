"""A workflow as it stands in a file: the text of its bytes, and the JSON of that text."""

from __future__ import annotations

import json
import re
from typing import Any, NoReturn

from halflap.core.errors import WorkflowError

__all__ = ["decoded", "parse_json"]

_MARKS = {b"\xef\xbb\xbf": "utf-8", b"\xff\xfe": "utf-16", b"\xfe\xff": "utf-16"}
_ENCODINGS = {
    "utf-8": "utf-8",
    "us-ascii": "ascii",
    "ascii": "ascii",
    "iso-8859-1": "latin-1",
    "windows-1252": "cp1252",
}
"""Encodings an XML declaration may name. Python knows more, and some take hours for a few megabytes."""
_DECLARED = re.compile(rb"\s*<\?xml[^>]{0,200}?encoding\s*=\s*[\"']([\w.:\-]{1,40})[\"']")


def decoded(data: bytes) -> str:
    """Return the text of a file: by its byte order mark or its XML declaration, else UTF-8."""
    declared = _DECLARED.match(data)
    name = "utf-8" if declared is None else declared[1].decode("ascii", "replace")
    mark = next((encoding for mark, encoding in _MARKS.items() if data.startswith(mark)), None)
    encoding = mark or _ENCODINGS.get(name.lower())
    if encoding is None:
        raise _unreadable(f"Its encoding ({name}) is not supported. Save it as UTF-8.")
    try:
        return data.decode(encoding).removeprefix("\ufeff")
    except UnicodeError:
        raise _unreadable(f"It is not {encoding.upper()}. Save it as UTF-8.") from None


def parse_json(text: str) -> Any:
    """Parse JSON without duplicate keys, NaN or infinity."""
    if not text.strip():
        raise _unreadable("It is empty. A workflow is a JSON object, or YAWL's XML.")
    try:
        return _parse(text)
    except ValueError as error:
        raise _unreadable(f"It is neither JSON nor XML: {error}.") from None
    except RecursionError:
        raise _unreadable("It is nested too deeply.") from None


def _unreadable(message: str) -> WorkflowError:
    return WorkflowError([("", message)])


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise ValueError(f"the key {twice!r} occurs twice in one object")
    return found


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"JSON has no {name}")


_parse = json.JSONDecoder(object_pairs_hook=_object, parse_constant=_no_constant).decode
