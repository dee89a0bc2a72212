"""A server that offers real tool definitions from a file, to the letter; every call returns the tool's name.

The file has the form `{server: {description, category, tools: [...]}}`. No library is used, because the SDK drops
and reorders parts of some real definitions. Without `--server` all tools are in one list, the same name several
times where several servers have it.
"""

import argparse
import json
import sys
from pathlib import Path
from typing import Any

VERSIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602


def answer(
    method: str, params: dict[str, Any], *, name: str, description: str | None, tools: list[dict[str, Any]]
) -> dict[str, Any]:
    if method == "initialize":
        asked = params.get("protocolVersion")
        result: dict[str, Any] = {
            "protocolVersion": asked if asked in VERSIONS else VERSIONS[-1],
            "capabilities": {"tools": {}},
            "serverInfo": {"name": name, "version": "1.0.0"},
        }
        return {"result": result | ({"instructions": description} if description else {})}
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
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", type=Path)
    parser.add_argument("--server", metavar="NAME", help="only the tools of this server in the file")
    options = parser.parse_args()
    servers: dict[str, dict[str, Any]] = json.loads(options.file.read_text(encoding="utf-8"))
    name, description = "replay", None
    if options.server is not None:
        if options.server not in servers:
            parser.error(f"{options.file} has no server {options.server!r}; it has: {', '.join(servers)}")
        name, description = options.server, servers[options.server].get("description")
        servers = {name: servers[name]}
    tools = [tool for server in servers.values() for tool in server["tools"]]

    for line in sys.stdin:
        request = json.loads(line)
        if "id" in request and "method" in request:
            params = request.get("params") or {}
            reply = answer(request["method"], params, name=name, description=description, tools=tools)
            sys.stdout.write(json.dumps({"jsonrpc": "2.0", "id": request["id"], **reply}) + "\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
