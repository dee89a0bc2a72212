"""Read JSON-RPC messages leniently.

The SDK validates whole messages, several times over. Here only the envelope is checked: the content belongs to the
caller and may be large. A malformed or unreadable answer becomes an error of the one call that waits for it.
"""

from __future__ import annotations

import json
import re
from typing import Any

import mcp_types as types
import pydantic_core

__all__ = ["MALFORMED", "read_message"]

MALFORMED = "it answered something that is not the protocol"
_UNREADABLE = "its answer cannot be read: it is nested too deeply or has a number with too many digits"
_ID = re.compile(rb'"id"\s*:\s*(\d{1,18})\s*[,}]')
_ENVELOPE_BYTES = 200
"""Where the id of an unreadable answer is looked for: this much at its start and at its end."""


def read_message(line: bytes) -> types.JSONRPCMessage | None:
    """Return the message in a line of JSON, or None if the line is not a message."""
    try:
        raw = _parse(line)
    except json.JSONDecodeError:
        return None
    except (ValueError, RecursionError):
        return _unreadable(line)
    if not isinstance(raw, dict):
        return None
    return _request(raw) if "method" in raw else _answer(raw)


def _request(raw: dict[str, Any]) -> types.JSONRPCMessage | None:
    try:
        return types.jsonrpc_message_adapter.validate_python(raw, by_name=False)
    except pydantic_core.ValidationError:
        return None


def _answer(raw: dict[str, Any]) -> types.JSONRPCMessage | None:
    request_id, result = raw.get("id"), raw.get("result")
    if not isinstance(request_id, int | str) or request_id is True:
        return None
    if "error" not in raw and isinstance(result, dict):
        return types.JSONRPCResponse.model_construct(jsonrpc="2.0", id=request_id, result=result)
    return _error(request_id, raw.get("error", {"code": types.INTERNAL_ERROR, "message": MALFORMED}))


def _parse(line: bytes) -> Any:
    try:
        return pydantic_core.from_json(line)
    except ValueError:
        pass
    # Python's own reader goes deeper, and accepts half of a surrogate pair (a server cut a text in the middle of an
    # emoji). No other part of Halflap could write that half, so it becomes a question mark.
    text = json.dumps(json.loads(line.decode(errors="replace")), ensure_ascii=False)
    return json.loads(text.encode(errors="replace"))


def _unreadable(line: bytes) -> types.JSONRPCMessage | None:
    """Return an error for the request that an unreadable answer belongs to, so that its caller need not wait."""
    ends = line[:_ENVELOPE_BYTES], line[-_ENVELOPE_BYTES:]
    found = next((match for end in ends if (match := _ID.search(end))), None)
    if found is None:
        return None
    return _error(int(found[1]), {"code": types.INTERNAL_ERROR, "message": _UNREADABLE})


def _error(request_id: int | str, raw: Any) -> types.JSONRPCError:
    error = raw if isinstance(raw, dict) else {"message": f"{MALFORMED}: {raw!r}"[:500]}
    code, message = error.get("code"), error.get("message")
    if not isinstance(message, str) or not message:
        message = MALFORMED
    if not isinstance(code, int) or isinstance(code, bool):
        code, message = types.INTERNAL_ERROR, f"{message} (its code is {code!r})"
    return types.JSONRPCError(
        jsonrpc="2.0",
        id=request_id,
        error=types.ErrorData(code=code, message=message, data=error.get("data")),
    )
