"""An MCP server that starts in milliseconds, with one tool for each way in which a tool can answer."""

import json
import sys
from typing import Any

NUMBER = {"type": "integer"}
TEXT = {"type": "string"}


def takes(*required: str, **properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(required)}


TOOLS: list[dict[str, Any]] = [
    {
        "name": "add",
        "description": "Add two numbers.",
        "inputSchema": takes("a", "b", a=NUMBER, b=NUMBER),
        "outputSchema": takes("result", result=NUMBER),
        "annotations": {"readOnlyHint": True},
    },
    {"name": "echo", "description": "Return the text.", "inputSchema": takes("text", text=TEXT)},
    {"name": "customer", "description": "Look up a customer.", "inputSchema": takes("id", id=NUMBER)},
    {
        "name": "count",
        "description": "Count the parts in stock.",
        "inputSchema": takes(),
        "outputSchema": takes("parts", parts=NUMBER),
    },
    {"name": "fail", "description": "Always fail.", "inputSchema": takes()},
    {"name": "image", "description": "Show one pixel.", "inputSchema": takes()},
    {
        "name": "erase",
        "description": "Erase a customer for good.",
        "inputSchema": takes("id", id=NUMBER),
        "annotations": {"destructiveHint": True},
    },
    {"name": "secret", "description": "Blocked by the configuration.", "inputSchema": takes()},
    {
        "name": "read_file",
        "description": "Read contents of a file",
        "inputSchema": takes(
            "path",
            path={"type": "string", "description": "File path to read"},
            encoding={
                "type": "string",
                "description": "File encoding",
                "default": "utf-8",
                "enum": ["utf-8", "ascii", "latin-1"],
            },
        ),
    },
]
CUSTOMERS: dict[int, dict[str, Any]] = {
    1: {"id": 1, "name": "Ada", "balance": 10, "email": "ada@example.com"},
    2: {"id": 2, "name": "Bob", "balance": 2.5},
    3: {"id": 3, "name": "Cy", "balance": 7, "tags": ["new"]},
}


def text(value: str) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": value}]}


def structured(value: Any) -> dict[str, Any]:
    return {**text(json.dumps(value)), "structuredContent": value}


def call(name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    match name:
        case "add":
            return structured({"result": arguments["a"] + arguments["b"]})
        case "customer":
            return text(json.dumps(CUSTOMERS[arguments["id"]]))
        case "count":
            # It breaks its declaration, as real servers do.
            return structured({"parts": "three"})
        case "image":
            return {"content": [{"type": "image", "data": "eA==", "mimeType": "image/png"}]}
        case "echo" | "erase":
            return text(str(arguments.get("text", "erased")))
    return {**text("this tool always fails"), "isError": True}


def main() -> None:
    for line in sys.stdin:
        request = json.loads(line)
        params = request.get("params") or {}
        match request.get("method"):
            case "initialize":
                result: dict[str, Any] = {
                    "protocolVersion": "2025-06-18",
                    "capabilities": {"tools": {}},
                    "serverInfo": {"name": "workshop", "version": "1"},
                }
            case "tools/list":
                result = {"tools": TOOLS}
            case "tools/call":
                result = call(params["name"], params.get("arguments") or {})
            case _:
                continue
        sys.stdout.write(json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": result}) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
