"""The protocol between the gateway and a locked program: frames with a kind, a length and a body.

Both sides import this. What the program sends is untrusted: `read_…` raise `MisuseError` for what no honest program sends.
"""

from __future__ import annotations

import json
import marshal
import math
import struct
from collections.abc import Iterator, Mapping
from typing import Any, Final

from halflap.core.json_bounds import MAX_PARTS, check_parts
from halflap.sandbox.media import Media
from halflap.sandbox.sandbox import Ending, Failure, Program, ToolRefusal

# To a fork server.
ORDER: Final = struct.Struct("!cI")
"""What to do, and the number of the child."""
FORK: Final = b"F"
"""Comes with the child's end of its channel."""
KILL: Final = b"K"

_HEADER: Final = struct.Struct("!cI")
NUMBER: Final = struct.Struct("!Q")
"""The number of a call, which precedes what is about one."""
CHUNK: Final = 65_536
"""The most bytes of output in a frame."""
LONGEST_FAILURE: Final = 524_288
"""Four texts of 20,000 characters, each of which may take six bytes as an escape."""
BROKEN: Final = 70
"""Exit status of a process whose program has broken what the process itself uses."""
_PARTS_OF_SHOWN: Final = 1_000
"""Far more than a picture or resource has: it is parsed at once, while others wait."""

# To the program.
PROGRAM: Final = b"P"
VALUE: Final = b"V"
"""What a call returned: its number, then the value as the same interpreter marshals it."""
ERROR: Final = b"F"
"""How a call failed: its number, then a message in UTF-8."""

# To the gateway, as JSON unless said otherwise.
READY: Final = b"R"
"""The process is locked: nothing, or as text why it could not be."""
CALL: Final = b"C"
"""A number, then name and arguments."""
CANCEL: Final = b"X"
"""The number alone."""
OUTPUT: Final = b"O"
"""Text in UTF-8."""
SHOW: Final = b"S"
RETURNED: Final = b"T"
"""What a script's `main` returned: any JSON, at most once."""
DONE: Final = b"D"
"""How it failed, or null."""


def limits(largest: int) -> dict[bytes, int]:
    """Return what a program may send, and the most bytes of each kind."""
    return {
        OUTPUT: CHUNK,
        CALL: NUMBER.size + largest,
        CANCEL: NUMBER.size,
        SHOW: largest,
        RETURNED: largest,
        DONE: LONGEST_FAILURE,
    }


class MisuseError(Exception):
    """Something came through the channel that no honest program sends."""


def frame(kind: bytes, *parts: bytes | memoryview) -> bytes:
    return b"".join((_HEADER.pack(kind, sum(map(len, parts))), *parts))


class Frames:
    """Received bytes, cut into frames; with `limits`, only of these kinds and up to these sizes."""

    def __init__(self, limits: Mapping[bytes, int] | None = None) -> None:
        self._limits = limits
        self._received = bytearray()
        self.missing = 0
        """How many bytes the frame that has begun still needs."""

    def add(self, data: bytes) -> Iterator[tuple[bytes, bytes]]:
        """Take bytes, and return the frames that are complete now."""
        self._received += data
        while len(self._received) >= _HEADER.size:
            kind, length = _HEADER.unpack_from(self._received)
            if self._limits is not None:
                most = self._limits.get(kind)
                if most is None:
                    raise MisuseError(f"a frame of the unknown kind {kind!r}")
                if length > most:
                    raise MisuseError(
                        f"a frame of {length:,} bytes; at most {most:,} are possible for its kind"
                    )
            end = _HEADER.size + length
            self.missing = end - len(self._received)
            if self.missing > 0:
                return
            body = bytes(memoryview(self._received)[_HEADER.size : end])
            del self._received[:end]
            yield kind, body


def write_program(program: Program) -> bytes:
    entry = program.entry
    order = {
        "code": program.code,
        "tools": dict(program.tools),
        "entry": None if entry is None else {"name": entry.name, "arguments": dict(entry.arguments)},
    }
    return frame(PROGRAM, json.dumps(order).encode())


def write_value(name: str, value: Any, largest: int) -> bytes:
    """Write the result of a call in the form that the same interpreter reads fastest."""
    try:
        answer = marshal.dumps(_portable(value))
    except ValueError:
        raise ToolRefusal(f"The result of {name!r} is nested too deeply to be handed over.") from None
    if len(answer) > largest:
        raise ToolRefusal(
            f"The call was made, but the result of {name!r} is {len(answer):,} bytes; at most {largest:,} are "
            "possible (`execution.max_value_bytes`). Ask the tool for less, or for a part."
        )
    return answer


def _portable(value: Any) -> Any:
    """Replace media by a pair, which JSON does not have."""
    if isinstance(value, Media):
        return ("media", value.block)
    if type(value) is list and any(isinstance(part, Media) for part in value):
        return [_portable(part) for part in value]
    return value


def value_from(answer: memoryview) -> Any:
    """Read in the program what `write_value` wrote."""
    return _with_media(marshal.loads(answer))  # noqa: S302 -- from the gateway, which is trusted here


def _with_media(value: Any) -> Any:
    if type(value) is tuple:
        return Media(value[1])
    if type(value) is list and any(type(part) is tuple for part in value):
        return [_with_media(part) for part in value]
    return value


def read_value(body: bytes, most: int = MAX_PARTS) -> Any:
    """Parse JSON whose texts can be encoded and whose numbers are finite."""
    read = _read(body, most)
    if b"\\ud" in body or b"\\uD" in body:
        # Half characters can only come as escapes, and crash whatever encodes them later.
        try:
            json.dumps(read, ensure_ascii=False).encode()
        except UnicodeEncodeError:
            raise MisuseError("a frame with half a character") from None
    return read


def read_shown(body: bytes) -> dict[str, Any]:
    return _object(read_value(body, _PARTS_OF_SHOWN))


def read_ending(body: bytes) -> Ending:
    """Parse how a program ended: with texts, whatever characters its messages are made of."""
    if body == b"null":
        return Ending("ok")
    read = _object(_read(body))
    is_exhausted = read.pop("is_exhausted", False)
    texts = {key: read.get(key) or "" for key in ("type", "message", "traceback", "hint", "unknown")}
    if not all(isinstance(text, str) for text in texts.values()) or not isinstance(is_exhausted, bool):
        raise MisuseError("a failure that is not text")
    kind, message, traceback, hint, unknown = (
        text.encode("utf-8", "backslashreplace").decode() for text in texts.values()
    )
    failure = Failure(kind, message, traceback, hint or None, unknown or None, is_exhausted)
    return Ending("memory" if is_exhausted else "failed", failure)


def read_number(body: bytes) -> int:
    """Return the number of the call that a frame is about."""
    if len(body) < NUMBER.size:
        raise MisuseError("a frame that is too short")
    number: int = NUMBER.unpack_from(body)[0]
    return number


def read_call(body: bytes) -> tuple[str, dict[str, Any]]:
    """Return the name of the tool to call, and the arguments."""
    order = _object(read_value(body[NUMBER.size :]))
    name, arguments = order.get("name"), order.get("arguments")
    if not isinstance(name, str) or not isinstance(arguments, dict):
        raise MisuseError("a call without a name or arguments")
    return name, arguments


def _read(body: bytes, most: int = MAX_PARTS) -> Any:
    try:
        check_parts(body, most)
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
        raise ValueError(f"{text[:20]} is not a JSON number")
    return number
