"""The tools of a server that does much of what the linter finds."""

import json
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
