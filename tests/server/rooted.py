"""A server of the handshake era that asks for the roots whenever it is told that they changed."""

import json
import sys
from typing import Any

NOTHING = {"type": "object", "properties": {}}
TOOLS = [
    {"name": "heard", "description": "What was answered to each question for roots.", "inputSchema": NOTHING}
]


def send(message: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def main() -> None:
    heard: list[list[str]] = []
    for line in sys.stdin:
        message = json.loads(line)
        method = message.get("method")
        if method == "initialize":
            result: dict[str, Any] = {
                "protocolVersion": "2025-06-18",
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "rooted", "version": "1"},
            }
            send({"id": message["id"], "result": result})
        elif method == "tools/list":
            send({"id": message["id"], "result": {"tools": TOOLS}})
        elif method == "tools/call":
            content = [{"type": "text", "text": json.dumps(heard)}]
            send({"id": message["id"], "result": {"content": content}})
        elif method == "notifications/roots/list_changed":
            send({"id": "roots", "method": "roots/list"})
        elif message.get("id") == "roots":
            heard.append([root["uri"] for root in message["result"]["roots"]])


if __name__ == "__main__":
    main()
