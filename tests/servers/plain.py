"""A server that starts at once, for tests of commands: a few tools that answer in different ways."""

import json
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


if __name__ == "__main__":
    from by_hand import offering, serve  # type: ignore[import-not-found]

    serve(offering("plain", lambda: TOOLS, call))
