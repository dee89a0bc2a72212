"""Read what a server wrote, line by line, losing nothing that can be understood.

The library's own reading validates a message as a whole, several times over. Here only its outer form is
looked at: what is within is the caller's, and may be large. An answer of a form that the protocol does not
know becomes an error for the one call that waits for it.
"""

from __future__ import annotations

import json
from typing import Any

import mcp_types as types
import pydantic_core

__all__ = ["read_message"]

_NOT_THE_PROTOCOL = "it answered something that is not the protocol"


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
    return _error(identity, {"code": types.INTERNAL_ERROR, "message": _NOT_THE_PROTOCOL})


def _loaded(line: bytes) -> Any:
    try:
        return pydantic_core.from_json(line)
    except ValueError:
        # Nested deeper than that reader goes; or half of a surrogate pair, which JSON can name and text
        # cannot hold.
        value = json.loads(line.decode(errors="replace"))
        text = json.dumps(value, ensure_ascii=False)
        if not any("\ud800" <= letter <= "\udfff" for letter in text):
            return value
        return json.loads(text.encode(errors="replace"))


def _error(identity: int | str, raw: Any) -> types.JSONRPCError:
    told = raw if isinstance(raw, dict) else {"message": f"{_NOT_THE_PROTOCOL}: {raw!r}"[:500]}
    code, message = told.get("code"), told.get("message")
    if isinstance(code, float) and code.is_integer():
        code = int(code)
    sound = isinstance(code, int) and not isinstance(code, bool)
    words = message if isinstance(message, str) and message else _NOT_THE_PROTOCOL
    return types.JSONRPCError(
        jsonrpc="2.0",
        id=identity,
        error=types.ErrorData(
            code=int(code) if sound and code is not None else types.INTERNAL_ERROR,
            message=words if sound else f"{words} (its code is {code!r})",
            data=told.get("data"),
        ),
    )
