"""The loop of a server without a library: it starts at once, and answers to the letter, valid or not."""

from __future__ import annotations

import json
import os
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    Answer = Callable[[str, dict[str, Any]], dict[str, Any] | None]

METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602


class RefusedError(Exception):
    """Answer the request with a protocol error."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


def offering(
    name: str,
    tools: Callable[[], Sequence[Any]],
    call: Callable[[str, dict[str, Any]], Any],
    version: str = "2025-11-25",
) -> Answer:
    """Return what answers for a server that only has tools."""

    def answer(method: str, params: dict[str, Any]) -> dict[str, Any]:
        if method == "initialize":
            info = {"name": name, "version": "1.0.0"}
            return {"result": {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": info}}
        if method == "tools/list":
            return {"result": {"tools": tools()}}
        if method == "ping":
            return {"result": {}}
        if method != "tools/call":
            return {"error": {"code": METHOD_NOT_FOUND, "message": f"Method not found: {method}"}}
        try:
            return {"result": call(params["name"], params.get("arguments") or {})}
        except RefusedError as refused:
            return {"error": {"code": refused.code, "message": str(refused)}}

    return answer


def serve(answer: Answer) -> None:
    """Serve over stdio. What is answered with None stays unanswered."""
    for line in sys.stdin:
        request = json.loads(line)
        if "id" in request and "method" in request:
            reply = answer(request["method"], request.get("params") or {})
            if reply is not None:
                data = json.dumps({"jsonrpc": "2.0", "id": request["id"], **reply}).encode() + b"\n"
                while data:
                    data = data[os.write(1, data) :]
