"""A server that does much of what the linter finds: no library, so that it starts at once."""

import json
import sys
from typing import Any

ID = {
    "type": "object",
    "properties": {"order_id": {"type": "string", "description": "The order."}},
    "required": ["order_id"],
}
ORDER = {"type": "object", "properties": {"order_id": {"type": "string"}, "total": {"type": "string"}}}
IGNORE = "x-halflap-lint-ignore"
TOOLS: list[dict[str, Any]] = [
    {"name": "get_order", "description": "Get an order.", "inputSchema": ID, "outputSchema": ORDER},
    {"name": "find_order", "description": "Find an order.", "inputSchema": ID},
    {"name": "track_order", "description": "Track an order.", "inputSchema": ID},
    {"name": "track_order", "description": "Track it again.", "inputSchema": ID},
    {
        "name": "print_order",
        "description": "Print an order.",
        "inputSchema": ID,
        "_meta": {IGNORE: {"no-output-schema": "It is paper."}},
    },
]


def call(name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    if name == "get_order":
        order = {"order_id": arguments["order_id"], "total": 5}
        return {"content": [{"type": "text", "text": json.dumps(order)}], "structuredContent": order}
    if name == "find_order" and arguments["order_id"] == "none":
        return {"content": [{"type": "text", "text": "Error: no such order"}]}
    if name == "find_order":
        found = {"orders": [{"order_id": arguments["order_id"], "shipping_cost": 5}]}
        return {"content": [{"type": "text", "text": json.dumps(found)}]}
    return {"content": [{"type": "text", "text": f"Error: no order {arguments['order_id']}"}]}


def main() -> None:
    for line in sys.stdin:
        request = json.loads(line)
        method, params = request.get("method"), request.get("params") or {}
        if method == "initialize":
            result: dict[str, Any] = {
                "protocolVersion": "2025-06-18",
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "shop", "version": "1"},
            }
        elif method == "tools/list":
            result = {"tools": TOOLS}
        elif method == "tools/call":
            result = call(params["name"], params.get("arguments") or {})
        else:
            continue
        sys.stdout.write(json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": result}) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
