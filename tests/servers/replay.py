"""A server that offers real tool definitions from a file, to the letter; every call returns the tool's name.

The file has the form `{server: {description, category, tools: [...]}}`. No library is used, because the SDK drops
and reorders parts of some real definitions. All tools are in one list, the same name several times
where several servers have it.
"""

import json
import sys
from pathlib import Path
from typing import Any

VERSIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602


def answer(method: str, params: dict[str, Any], tools: list[dict[str, Any]]) -> dict[str, Any]:
    if method == "initialize":
        asked = params.get("protocolVersion")
        about: dict[str, Any] = {
            "protocolVersion": asked if asked in VERSIONS else VERSIONS[-1],
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "replay", "version": "1.0.0"},
        }
        return {"result": about}
    if method == "ping":
        return {"result": {}}
    if method == "tools/list":
        return {"result": {"tools": tools}}
    if method == "tools/call":
        for tool in tools:
            if tool["name"] == params["name"]:
                return {"result": {"content": [{"type": "text", "text": f"called {tool['name']}"}]}}
        return {"error": {"code": INVALID_PARAMS, "message": f"Unknown tool: {params['name']}"}}
    return {"error": {"code": METHOD_NOT_FOUND, "message": f"Method not found: {method}"}}


def main() -> None:
    servers: dict[str, dict[str, Any]] = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    tools = [tool for server in servers.values() for tool in server["tools"]]
    for line in sys.stdin:
        request = json.loads(line)
        if "id" in request and "method" in request:
            reply = answer(request["method"], request.get("params") or {}, tools)
            sys.stdout.write(json.dumps({"jsonrpc": "2.0", "id": request["id"], **reply}) + "\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
