"""Read what comes from a program: JSON as strict as what an honest one sends, or it is misuse."""

from __future__ import annotations

import json
import math
from typing import Any

from halflap.sandbox.jail import frames
from halflap.sandbox.sandbox import Failure

__all__ = ["MisuseError", "read_call", "read_failure", "read_number", "read_object", "read_value"]


class MisuseError(Exception):
    """Something came through the channel that no honest program sends."""


def read_object(body: bytes) -> dict[str, Any]:
    """Read an object whose every text can be encoded and whose every number is one."""
    return _object(read_value(body))


def read_value(body: bytes) -> Any:
    """Read any value, as strictly."""
    read = _read(body)
    if b"\\ud" in body or b"\\uD" in body:
        # Halves of a character can only come in as escapes, and crash whoever encodes them later.
        try:
            json.dumps(read, ensure_ascii=False).encode()
        except UnicodeEncodeError:
            raise MisuseError("a frame with half a character") from None
    return read


def read_failure(body: bytes) -> Failure | None:
    """Read how a program failed: texts, whatever characters its messages are made of."""
    if body == b"null":
        return None
    read = _object(_read(body))
    texts = {key: read.get(key) for key in ("type", "message", "traceback", "hint", "unknown")}
    if not all(text is None or isinstance(text, str) for text in texts.values()):
        raise MisuseError("a failure that is not told in words")
    is_exhausted = read.get("is_exhausted", False)
    if not isinstance(is_exhausted, bool):
        raise MisuseError("a failure that is not told in words")
    return Failure(
        type=_clean(texts["type"]) or "",
        message=_clean(texts["message"]) or "",
        traceback=_clean(texts["traceback"]) or "",
        hint=_clean(texts["hint"]),
        unknown=_clean(texts["unknown"]),
        is_exhausted=is_exhausted,
    )


def read_number(body: bytes) -> int:
    """Read the number of the call that a frame is about."""
    if len(body) < frames.NUMBER.size:
        raise MisuseError("a frame that is too short")
    number: int = frames.NUMBER.unpack_from(body)[0]
    return number


def read_call(body: bytes) -> tuple[str, dict[str, Any]]:
    """Read what is to be called, and with what."""
    order = read_object(memoryview(body)[frames.NUMBER.size :].tobytes())
    name, arguments = order.get("name"), order.get("arguments")
    if not isinstance(name, str) or not isinstance(arguments, dict):
        raise MisuseError("a call without a name or arguments")
    return name, arguments


def _clean(text: str | None) -> str | None:
    return None if text is None else text.encode("utf-8", "backslashreplace").decode()


def _read(body: bytes) -> Any:
    try:
        return json.loads(body.decode(), parse_constant=_finite, parse_float=_finite)
    except (ValueError, RecursionError) as error:
        raise MisuseError(f"a frame that is not JSON: {error}") from None


def _object(read: Any) -> dict[str, Any]:
    if not isinstance(read, dict):
        raise MisuseError("a frame that is not an object")
    return read


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{text[:20]} is not a number of JSON")
    return number
