"""Messages between the gateway and a locked program: write ours, read and distrust theirs."""

from __future__ import annotations

import json
import marshal
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from halflap.sandbox.jail import frames
from halflap.sandbox.sandbox import Failure, Media, ToolRefusal

if TYPE_CHECKING:
    from halflap.sandbox.sandbox import Program

__all__ = [
    "Exit",
    "MisuseError",
    "Verdict",
    "read_call",
    "read_failure",
    "read_number",
    "read_object",
    "read_value",
    "write_program",
    "write_refusal",
    "write_value",
]


class MisuseError(Exception):
    """Something came through the channel that no honest program sends."""


@dataclass(frozen=True, slots=True)
class Exit:
    """How a process ended, according to the kernel; all None if the fork server was lost."""

    code: int | None = None
    cpu_seconds: float | None = None
    memory_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class Verdict:
    """How the conversation with a program ended."""

    kind: str
    """`done`, `silent` (the channel closed before it was done), `misused`, or `output` (too much of it)."""
    failure: Failure | None = None
    detail: str = ""
    value: Any = None


def write_program(program: Program) -> bytes:
    entry = program.entry
    order = {
        "code": program.code,
        "tools": dict(program.tools),
        "entry": None if entry is None else {"name": entry.name, "arguments": dict(entry.arguments)},
    }
    return json.dumps(order).encode()


def write_refusal(refusal: ToolRefusal) -> bytes:
    return json.dumps({"message": str(refusal)}).encode()


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
        return ("media", dict(value.block))
    if type(value) is list and any(isinstance(part, Media) for part in value):
        return [_portable(part) for part in value]
    return value


def read_object(body: bytes) -> dict[str, Any]:
    """Parse a JSON object whose texts can be encoded and whose numbers are finite."""
    return _object(read_value(body))


def read_value(body: bytes) -> Any:
    """Parse a JSON value with the same conditions."""
    read = _read(body)
    if b"\\ud" in body or b"\\uD" in body:
        # Half characters can only come as escapes, and crash whatever encodes them later.
        try:
            json.dumps(read, ensure_ascii=False).encode()
        except UnicodeEncodeError:
            raise MisuseError("a frame with half a character") from None
    return read


def read_failure(body: bytes) -> Failure | None:
    """Parse how a program failed: texts, whatever characters its messages are made of."""
    if body == b"null":
        return None
    read = _object(_read(body))
    texts = {key: read.get(key) for key in ("type", "message", "traceback", "hint", "unknown")}
    is_exhausted = read.get("is_exhausted", False)
    if not all(text is None or isinstance(text, str) for text in texts.values()) or not isinstance(
        is_exhausted, bool
    ):
        raise MisuseError("a failure that is not text")
    clean = {key: text and text.encode("utf-8", "backslashreplace").decode() for key, text in texts.items()}
    return Failure(
        type=clean["type"] or "",
        message=clean["message"] or "",
        traceback=clean["traceback"] or "",
        hint=clean["hint"],
        unknown=clean["unknown"],
        is_exhausted=is_exhausted,
    )


def read_number(body: bytes) -> int:
    """Return the number of the call that a frame is about."""
    if len(body) < frames.NUMBER.size:
        raise MisuseError("a frame that is too short")
    number: int = frames.NUMBER.unpack_from(body)[0]
    return number


def read_call(body: bytes) -> tuple[str, dict[str, Any]]:
    """Return the name of the tool to call, and the arguments."""
    order = read_object(memoryview(body)[frames.NUMBER.size :].tobytes())
    name, arguments = order.get("name"), order.get("arguments")
    if not isinstance(name, str) or not isinstance(arguments, dict):
        raise MisuseError("a call without a name or arguments")
    return name, arguments


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
        raise ValueError(f"{text[:20]} is not a JSON number")
    return number
