"""What a program sends, parsed without trusting it, and results, serialized for it.

Nothing is parsed in a thread: the parser holds the interpreter's lock, so other tasks would wait all the same. The number of
values bounds the time.
"""

from __future__ import annotations

import json
import marshal
import math
from typing import Any

from halflap.core.json_bounds import MAX_PARTS, check_parts
from halflap.sandbox.functions import ToolError
from halflap.sandbox.jail.protocol import NUMBER, MisuseError
from halflap.sandbox.media import Media
from halflap.sandbox.sandbox import Ending

_MAX_PARTS_SHOWN = 1_000
"""Far more than an image or a sound has."""
_MAX_LINE = 1_000_000
_MAX_NUMBER = 1 << 53


def read_number(body: bytes) -> int:
    """Return the number of the call that a frame is about."""
    if len(body) < NUMBER.size:
        raise MisuseError("a frame that is too short")
    number: int = NUMBER.unpack_from(body)[0]
    return number


def read_call(body: bytes) -> tuple[str, dict[str, Any], int | None]:
    """Return the name of the tool to call, the arguments, and the line of the program."""
    match _read_object(body):
        case {"name": str(name), "arguments": dict(arguments), **more}:
            line = more.get("line")
            return name, arguments, line if type(line) is int and 0 < line <= _MAX_LINE else None
    raise MisuseError("a call without a name or arguments")


def read_shown(body: bytes) -> dict[str, Any]:
    """Return what is claimed to be a content block."""
    return _read_object(body, _MAX_PARTS_SHOWN)


def read_ending(body: bytes) -> Ending:
    """Return how a program claims to have ended."""
    match _read_object(body):
        case {
            "outcome": "ok" | "failed" | "memory" as outcome, "error": str(error),
            "cpu_seconds": float(cpu), "memory_bytes": int(memory), **more,
        } if 0 <= cpu <= _MAX_NUMBER and 0 <= memory <= _MAX_NUMBER:  # fmt: skip
            hint = more.get("hint")
            return Ending(
                outcome, error, hint if isinstance(hint, str) else None, more.get("value"), cpu, memory
            )
    raise MisuseError("a final message without an outcome, or with impossible numbers")


def _read_object(body: bytes, max_parts: int = MAX_PARTS) -> dict[str, Any]:
    """Parse a JSON object whose texts can be encoded and whose numbers are finite."""
    try:
        check_parts(body, max_parts)
        value = _DECODER.decode(body.decode())
        if b"\\ud" in body or b"\\uD" in body:
            # Lone surrogates can only come as escapes, and crash whatever encodes them later.
            json.dumps(value, ensure_ascii=False).encode()
    except (ValueError, RecursionError) as error:
        raise MisuseError(f"a frame that is not JSON: {error}") from None
    if not isinstance(value, dict):
        raise MisuseError("a frame that is not an object")
    return value


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{text[:20]} is not a JSON number")
    return number


_DECODER = json.JSONDecoder(parse_constant=_finite, parse_float=_finite)


def write_value(name: str, value: Any, max_bytes: int) -> bytes:
    """Serialize the result of a call in the form that the same interpreter reads fastest. Raises `ToolError`."""
    try:
        answer = marshal.dumps(_without_media(value))
    except ValueError:
        raise ToolError(f"The result of {name!r} is nested too deeply to be passed on.") from None
    if len(answer) > max_bytes:
        raise ToolError(
            f"The call was made, but the result of {name!r} is {len(answer):,} bytes; at most {max_bytes:,} are "
            "possible (`execution.max_value_bytes`). Ask the tool for less, or for a part."
        )
    return answer


def _without_media(value: Any) -> Any:
    """Replace each media object by a pair, which JSON does not have."""
    if isinstance(value, Media):
        return ("media", value.block)
    if type(value) is list and any(isinstance(part, Media) for part in value):
        return [_without_media(part) for part in value]
    return value
