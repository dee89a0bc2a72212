"""Read what a server wrote, line by line, losing nothing that can be understood.

The library's own reading validates a message as a whole, several times over. Here only its outer form is
looked at: what is within is the caller's, and may be large. An answer of a form that the protocol does not
know becomes an error for the one call that waits for it, and so does one that cannot be held here.
"""

from __future__ import annotations

import json
import re
import sys
from typing import Any

import mcp_types as types
import pydantic_core

__all__ = ["CUT", "NOT_THE_PROTOCOL", "read_message", "tame"]

CUT = "halflap/cut"
"""A key of a result of which something could not be read; the value says why."""

NOT_THE_PROTOCOL = "it answered something that is not the protocol"
_DEEPEST = 500
"""Far above what is kept of a definition, and far below where Python's own reader gives up."""
_STRUCTURE = re.compile(r'"(?:[^"\\]++|\\.)*+"|[\[\]{}]')
_HALVES = re.compile("[\ud800-\udfff]")


def read_message(line: bytes) -> types.JSONRPCMessage | None:
    """Give the message; None for what is none. `ValueError` for what is not even JSON."""
    raw = _loaded(line)
    if not isinstance(raw, dict):
        return None
    if "method" in raw:
        return _asked(raw)
    identity = raw.get("id")
    return _answered(identity, raw) if isinstance(identity, int | str) and identity is not True else None


def _asked(raw: dict[str, Any]) -> types.JSONRPCMessage | None:
    try:
        return types.jsonrpc_message_adapter.validate_python(raw, by_name=False)
    except pydantic_core.ValidationError:
        return None


def _answered(identity: int | str, raw: dict[str, Any]) -> types.JSONRPCMessage:
    if "error" in raw:
        return _error(identity, raw["error"])
    if isinstance(raw.get("result"), dict):
        return types.JSONRPCResponse.model_construct(jsonrpc="2.0", id=identity, result=raw["result"])
    return _error(identity, {"code": types.INTERNAL_ERROR, "message": NOT_THE_PROTOCOL})


def tame(message: Any) -> Any:
    """Make numbers fit that the library would fail on, and end the connection with it: progress of 10**400."""
    params = getattr(message, "params", None)
    if getattr(message, "method", None) == "notifications/progress" and isinstance(params, dict):
        for key in ("progress", "total"):
            value = params.get(key)
            if isinstance(value, int) and abs(value) > sys.float_info.max:
                params[key] = sys.float_info.max if value > 0 else -sys.float_info.max
    return message


def _loaded(line: bytes) -> Any:
    try:
        return pydantic_core.from_json(line)
    except ValueError:
        # Nested deeper than that reader goes; or half of a surrogate pair, which JSON can name and text
        # cannot hold.
        pass
    text = line.decode(errors="replace")
    too_long = False

    def whole_number(digits: str) -> int:
        nonlocal too_long
        try:
            return int(digits)
        except ValueError:
            # Longer than Python reads or writes: whoever tries to write this one notices.
            too_long = True
            return int(10 ** len(digits))

    too_deep = False
    try:
        raw = json.loads(text, parse_int=whole_number)
    except RecursionError:
        too_deep = True
        raw = json.loads(_shallow(text), parse_int=whole_number)
    if (too_deep or too_long) and isinstance(raw, dict) and isinstance(raw.get("result"), dict):
        raw["result"][CUT] = "is nested too deeply" if too_deep else "has a number of too many digits"
    return _without_halves(raw)


def _shallow(text: str) -> str:
    """Write `null` for everything that lies too deep."""
    kept: list[str] = []
    depth = start = 0
    for found in _STRUCTURE.finditer(text):
        sign = found[0]
        if sign in "[{":
            depth += 1
            if depth == _DEEPEST:
                kept += [text[start : found.start()], "null"]
        elif sign in "]}":
            if depth == _DEEPEST:
                start = found.end()
            depth -= 1
    return "".join([*kept, text[start:]])


def _without_halves(value: Any) -> Any:
    """Put a mark for each half of a surrogate pair; in loops, because the value may be deep."""
    whole = [value]
    parts: list[Any] = [whole]
    while parts:
        part = parts.pop()
        if isinstance(part, dict):
            if any(_HALVES.search(key) for key in part):
                content = {_HALVES.sub("?", key): inner for key, inner in part.items()}
                part.clear()
                part.update(content)
            entries: Any = part.items()
        else:
            entries = enumerate(part)
        for key, inner in list(entries):
            if isinstance(inner, str):
                if _HALVES.search(inner):
                    part[key] = _HALVES.sub("?", inner)
            elif isinstance(inner, dict | list):
                parts.append(inner)
    return whole[0]


def _error(identity: int | str, raw: Any) -> types.JSONRPCError:
    told = raw if isinstance(raw, dict) else {"message": f"{NOT_THE_PROTOCOL}: {raw!r}"[:500]}
    code, message = told.get("code"), told.get("message")
    if isinstance(code, float) and code.is_integer():
        code = int(code)
    sound = isinstance(code, int) and not isinstance(code, bool)
    words = message if isinstance(message, str) and message else NOT_THE_PROTOCOL
    return types.JSONRPCError(
        jsonrpc="2.0",
        id=identity,
        error=types.ErrorData(
            code=int(code) if sound and code is not None else types.INTERNAL_ERROR,
            message=words if sound else f"{words} (its code is {code!r})",
            data=told.get("data"),
        ),
    )
