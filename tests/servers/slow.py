"""A server with one tool, by hand, so that it starts at once; given FOLDER and COUNT, only when as many as that are started."""

import json
import os
import sys
import time
from pathlib import Path
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


def wait_for_others(folder: Path, count: int) -> None:
    (folder / str(os.getpid())).touch()
    while len([*folder.iterdir()]) < count:
        time.sleep(0.02)


if __name__ == "__main__":
    if sys.argv[1:]:
        wait_for_others(Path(sys.argv[1]), int(sys.argv[2]))
    serve()
