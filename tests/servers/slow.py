"""A server that takes SECONDS to start and then has one tool; by hand, so that it takes no longer than that."""

import json
import sys
import time
from typing import Any

OK = {"name": "ok", "description": "Say ok.", "inputSchema": {"type": "object", "properties": {}}}
RESULTS: dict[str, dict[str, Any]] = {
    "initialize": {
        "protocolVersion": "2025-11-25",
        "capabilities": {"tools": {}},
        "serverInfo": {"name": "slow", "version": "1.0.0"},
    },
    "tools/list": {"tools": [OK]},
    "tools/call": {"content": [{"type": "text", "text": "ok"}]},
}
METHOD_NOT_FOUND = -32601


def serve() -> None:
    for line in sys.stdin:
        request = json.loads(line)
        if "id" not in request:
            continue
        result = RESULTS.get(request["method"])
        unknown = {"code": METHOD_NOT_FOUND, "message": f"Method not found: {request['method']}"}
        answer = {"error": unknown} if result is None else {"result": result}
        sys.stdout.write(json.dumps({"jsonrpc": "2.0", "id": request["id"], **answer}) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    time.sleep(float(sys.argv[1]))
    serve()
