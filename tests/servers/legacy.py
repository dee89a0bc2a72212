"""A sloppy server of the first protocol version (2024-11-05), with no library, silent until it is initialized.

Before `initialize` it ignores every method it does not know, as some real servers do. Its list has one malformed
tool between good ones, and `sloppy` answers with a string for content and a list for structuredContent.
With `--array-output-schema` that tool also declares an array, which its protocol version did not allow.
With `--heard FILE` it writes down each method that it is asked for.
"""

import json
import sys
from pathlib import Path
from typing import Any

TOOLS: list[dict[str, Any]] = [
    {"name": "hello", "description": "Say hello.", "inputSchema": {"type": "object", "properties": {}}},
    {"name": 42, "description": "Malformed: its name is a number and it has no inputSchema."},
    {"name": "bare", "description": "Takes anything.", "inputSchema": {"type": "object"}},
    {
        "name": "sloppy",
        "description": "Answer in the wrong shape.",
        "inputSchema": {"type": "object", "properties": {}},
    },
]
ROWS = [{"id": 1, "name": "one"}, {"id": 2, "name": "two"}]
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602


class RefusedError(Exception):
    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


def call(name: object, arguments: dict[str, Any]) -> dict[str, Any]:
    if name == "hello":
        return {"content": [{"type": "text", "text": "hello"}]}
    if name == "bare" and "raw" in arguments:
        return arguments["raw"]  # type: ignore[no-any-return]  # whatever the test wants to see on the wire
    if name == "bare" and "surrogate" in arguments:
        return {"content": [{"type": "text", "text": "half \ud800 pair"}]}
    if name == "bare" and "code" in arguments:
        raise RefusedError(arguments["code"], "refused as asked")
    if name == "bare":
        return {"content": [{"type": "text", "text": json.dumps(arguments)}]}
    if name == "sloppy":
        return {"content": "just a string", "structuredContent": ROWS}
    raise RefusedError(INVALID_PARAMS, f"Unknown tool: {name}")


def answer(method: str, params: dict[str, Any]) -> dict[str, Any]:
    if method == "initialize":
        return {
            "protocolVersion": "2024-11-05",
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "legacy", "version": "0.1"},
        }
    if method == "ping":
        return {}
    if method == "tools/list":
        return {"tools": TOOLS}
    if method == "tools/call":
        return call(params["name"], params.get("arguments") or {})
    raise RefusedError(METHOD_NOT_FOUND, f"Method not found: {method}")


def main() -> None:
    if "--array-output-schema" in sys.argv[1:]:
        TOOLS[-1]["outputSchema"] = {"type": "array", "items": {"type": "object"}}
    heard = Path(sys.argv[-1]) if "--heard" in sys.argv[1:] else None
    initialized = False
    for line in sys.stdin:
        request = json.loads(line)
        if heard is not None:
            with heard.open("a") as file:
                file.write(f"{request.get('method')}\n")
        if "id" not in request or "method" not in request:
            continue
        try:
            reply = {"result": answer(request["method"], request.get("params") or {})}
        except RefusedError as error:
            if not initialized:
                continue
            reply = {"error": {"code": error.code, "message": str(error)}}
        initialized = initialized or request["method"] == "initialize"
        sys.stdout.write(json.dumps({"jsonrpc": "2.0", "id": request["id"], **reply}) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
