"""A server that says no: to its greeting or its list of tools, with words of its own; or that is no MCP server at all."""

import json
import os
import sys
import time
from typing import Any

KIND = sys.argv[1]


GREETED = {
    "protocolVersion": "2025-06-18",
    "capabilities": {"tools": {}},
    "serverInfo": {"name": "unwilling", "version": "1"},
}
KEY = os.environ.get("MYAPI_KEY")
TOOL = {"name": "use", "inputSchema": {"type": "object"}}
ANSWERS: dict[tuple[str, str], dict[str, Any]] = {
    ("greeting", "initialize"): {"error": {"code": -32603, "message": "API key missing: set FOO_API_KEY"}},
    ("bad-key", "initialize"): {"error": {"code": -32603, "message": f"{KEY} is not a key"}},
    ("list", "initialize"): {"result": GREETED},
    ("garbled", "initialize"): {"result": [1, 2]},
    ("old", "initialize"): {"result": {**GREETED, "protocolVersion": "1999-01-01"}},
    # The code that the library has for a closed connection.
    ("list", "tools/list"): {"error": {"code": -32000, "message": "upstream 500"}},
    ("leaky", "initialize"): {"result": GREETED},
    ("leaky", "tools/list"): {"result": {"tools": [TOOL]}},
    ("leaky", "tools/call"): {"error": {"code": -32603, "message": f"refused {KEY}"}},
}
UNKNOWN = {"error": {"code": -32601, "message": "Method not found"}}


def main() -> None:
    if KIND in {"leaky", "bad-key"}:
        sys.stderr.write(f"bad key {KEY}, password=hunter2hunter2\n")
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
            answer = ANSWERS.get((KIND, request["method"]), UNKNOWN)
            sys.stdout.write(json.dumps({"jsonrpc": "2.0", "id": request["id"], **answer}) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
