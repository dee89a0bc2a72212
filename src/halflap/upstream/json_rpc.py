"""Read HTTP bodies up to a limit, and messages so leniently that a malformed one fails only its own call."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import mcp_types as types
import pydantic_core

from halflap.core.json_bounds import MAX_PARTS, TooManyPartsError, check_parts

if TYPE_CHECKING:
    import httpx2

MALFORMED = "its answer is not MCP"
_UNREADABLE = "its answer cannot be read: it is nested too deeply or has a number with too many digits"
_TOO_MANY = f"its answer cannot be read: it has more than {MAX_PARTS:,} values. Ask for less, or for a page."
_ID = re.compile(rb'"id"\s*:\s*(\d{1,18})\s*[,}]')
_ENVELOPE_BYTES = 200
"""The id of an unreadable answer is searched for in this many bytes at its start and end."""


class TooLargeError(Exception):
    """A body is larger than the limit."""


async def read_body(response: httpx2.Response, most: int) -> None:
    """Read a body up to a limit, so that the HTTP client does not read it without one; with 0, discard it."""
    body = bytearray()
    if most:
        async for part in response.aiter_bytes():
            body += part
            if len(body) > most:
                raise TooLargeError(f"more than {most >> 20} MiB")
    await response.aclose()
    response._content = bytes(body)  # noqa: SLF001 -- there is no public way


def read_message(line: bytes) -> types.JSONRPCMessage | None:
    """Return the message in a line of JSON, or None if the line is not a message."""
    try:
        check_parts(line)
        raw = pydantic_core.from_json(line)
    except TooManyPartsError:
        raw = _unread(line, _TOO_MANY)
    except ValueError:
        raw = _repaired(line)
    if not isinstance(raw, dict):
        return None
    request_id, result = raw.get("id"), raw.get("result")
    is_answer = "method" not in raw and isinstance(request_id, int | str) and request_id is not True
    if is_answer and isinstance(result, dict) and "error" not in raw:
        # Validation would take seven times as long, and the content belongs to the caller.
        return types.JSONRPCResponse.model_construct(jsonrpc="2.0", id=request_id, result=result)
    try:
        return types.jsonrpc_message_adapter.validate_python({"jsonrpc": "2.0", **raw}, by_name=False)
    except pydantic_core.ValidationError:
        return _error(request_id, raw.get("error")) if is_answer else None


def _repaired(line: bytes) -> Any:
    """Read JSON that the fast parser rejects.

    A server may cut a text in the middle of an emoji. A lone surrogate becomes a question mark, because it cannot be
    encoded later.
    """
    try:
        text = json.dumps(json.loads(line.decode(errors="replace")), ensure_ascii=False)
        return pydantic_core.from_json(text.encode(errors="replace"))
    except json.JSONDecodeError:
        return None
    except (ValueError, RecursionError):
        return _unread(line, _UNREADABLE)


def _unread(line: bytes, why: str) -> Any:
    """Return an error for the request that an answer belongs to, so that its caller does not wait until the timeout."""
    found = _ID.search(line[:_ENVELOPE_BYTES]) or _ID.search(line[-_ENVELOPE_BYTES:])
    error = {"code": types.INTERNAL_ERROR, "message": why}
    return None if found is None else {"id": int(found[1]), "error": error}


def _error(request_id: Any, error: Any) -> types.JSONRPCError:
    message = MALFORMED if error is None else f"{MALFORMED}: {error!r}"[:500]
    data = types.ErrorData(code=types.INTERNAL_ERROR, message=message)
    return types.JSONRPCError(jsonrpc="2.0", id=request_id, error=data)
