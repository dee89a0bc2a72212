"""A server with one tool `t` that behaves as it is told: `ok`, `fail`, `refuse`, `die` or `hang`.

It claims that the tool is idempotent, and writes a line into a file for each call that reaches it. No library is
used, so it starts at once.
"""

import json
import os
import sys
from pathlib import Path
from typing import Any

SCHEMA = {"type": "object", "properties": {"text": {"type": "string"}}}
TOOL = {"name": "t", "inputSchema": SCHEMA, "annotations": {"idempotentHint": True}}


def answer(method: str, behaviour: str) -> dict[str, Any]:
    if method == "initialize":
        return {
            "result": {
                "protocolVersion": "2025-06-18",
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "odd", "version": "1"},
            }
        }
    if method == "tools/list":
        return {"result": {"tools": [TOOL]}}
    if behaviour == "refuse":
        return {"error": {"code": -32602, "message": "I would rather not."}}
    return {"result": {"content": [], "isError": behaviour == "fail"}}


def main() -> None:
    behaviour, notes = sys.argv[1], Path(sys.argv[2])
    for line in sys.stdin:
        request = json.loads(line)
        if "id" not in request:
            continue
        if request["method"] == "tools/call":
            with notes.open("a") as file:
                file.write("call\n")
            if behaviour == "die":
                os._exit(3)
            if behaviour == "hang":
                continue
        reply = {"jsonrpc": "2.0", "id": request["id"], **answer(request["method"], behaviour)}
        sys.stdout.write(json.dumps(reply) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
