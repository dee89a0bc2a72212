"""A sloppy server of the first protocol version (2024-11-05), with no library, silent until it is initialized.

Before `initialize` it ignores every method it does not know, as some real servers do. Its list has one malformed
tool between good ones, and `sloppy` answers with a string for content and a list for structuredContent.
With `--heard FILE` it writes down each method that it is asked for.
"""

import json
import sys
from pathlib import Path
from typing import Any

from by_hand import INVALID_PARAMS, RefusedError, offering, serve  # type: ignore[import-not-found]

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


def main() -> None:
    heard = Path(sys.argv[-1]) if "--heard" in sys.argv[1:] else None
    plain = offering("legacy", lambda: TOOLS, call, "2024-11-05")
    initialized = False

    def answer(method: str, params: dict[str, Any]) -> dict[str, Any] | None:
        nonlocal initialized
        if heard is not None:
            with heard.open("a") as file:
                file.write(f"{method}\n")
        initialized = initialized or method == "initialize"
        reply: dict[str, Any] = plain(method, params)
        return reply if initialized or "result" in reply else None

    serve(answer)


if __name__ == "__main__":
    main()
