"""A server that says no: to its greeting or its list of tools, with words of its own; or that is no MCP server at all."""

import json
import os
import sys
import time
from typing import Any

KIND = sys.argv[1]


def answer(request: dict[str, Any]) -> dict[str, Any]:
    if request["method"] == "initialize" and KIND == "bad-key":
        return {"error": {"code": -32603, "message": f"{os.environ['MYAPI_KEY']} is not a key"}}
    if request["method"] == "initialize" and KIND != "greeting":
        return {
            "result": {
                "protocolVersion": "2025-06-18",
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "unwilling", "version": "1"},
            }
        }
    if request["method"] == "initialize":
        return {"error": {"code": -32603, "message": "API key missing: set FOO_API_KEY"}}
    if KIND == "leaky" and request["method"] == "tools/list":
        return {"result": {"tools": [{"name": "use", "inputSchema": {"type": "object"}}]}}
    if request["method"] == "tools/call":
        return {"error": {"code": -32603, "message": f"refused {os.environ['MYAPI_KEY']}"}}
    if request["method"] == "tools/list":
        # The code that the library has for a closed connection.
        return {"error": {"code": -32000, "message": "upstream 500"}}
    return {"error": {"code": -32601, "message": "Method not found"}}


def main() -> None:
    if KIND in {"leaky", "bad-key"}:
        sys.stderr.write(f"bad key {os.environ['MYAPI_KEY']}, password=hunter2hunter2\n")
        sys.stderr.flush()
    if KIND == "text":
        sys.stdout.write("Welcome!\nlistening on 3000\n")
        sys.stdout.flush()
        time.sleep(1000)
    for line in sys.stdin:
        request = json.loads(line)
        if KIND == "echo":
            sys.stdout.write(line)
        elif "id" in request:
            sys.stdout.write(json.dumps({"jsonrpc": "2.0", "id": request["id"], **answer(request)}) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
