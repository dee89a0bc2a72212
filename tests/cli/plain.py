"""A server that starts at once, for tests of commands: no library, and a few tools that answer in different ways."""

import json
import sys
from typing import Any

TEXT = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
NUMBER = {"type": "integer"}
TOOLS: list[dict[str, Any]] = [
    {"name": "echo", "description": "Return the text that was given.", "inputSchema": TEXT},
    {
        "name": "add",
        "description": "Add two numbers.",
        "inputSchema": {"type": "object", "properties": {"a": NUMBER, "b": NUMBER}, "required": ["a", "b"]},
        "outputSchema": {"type": "object", "properties": {"result": NUMBER}, "required": ["result"]},
    },
    {"name": "fail", "description": "Always fail.", "inputSchema": {"type": "object"}},
    {"name": "image", "description": "Show one pixel.", "inputSchema": {"type": "object"}},
    {"name": "secret", "description": "Blocked in these tests.", "inputSchema": {"type": "object"}},
]


def text(value: str) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": value}]}


def call(name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    if name == "echo":
        return text(arguments["text"])
    if name == "add":
        result = {"result": arguments["a"] + arguments["b"]}
        return {**text(json.dumps(result)), "structuredContent": result}
    if name == "image":
        image = {"type": "image", "data": "eA==", "mimeType": "image/png"}
        return {"content": [image, *text("one pixel")["content"]]}
    return {**text("this tool always fails"), "isError": True}


def main() -> None:
    for line in sys.stdin:
        request = json.loads(line)
        method, params = request.get("method"), request.get("params") or {}
        if method == "initialize":
            result: dict[str, Any] = {
                "protocolVersion": "2025-06-18",
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "plain", "version": "1"},
            }
        elif method == "tools/list":
            result = {"tools": TOOLS}
        elif method == "tools/call":
            result = call(params["name"], params.get("arguments") or {})
        else:
            continue
        sys.stdout.write(json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": result}) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
