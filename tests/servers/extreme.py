"""A server whose answers are all valid JSON, and too much for most readers: deep, long, odd. No library is used.

It lists the tools that it is told to, and `good`. What is odd about a tool is its schema or, if it is called
`answers_…`, what it answers.
"""

from __future__ import annotations

import json
import sys
from typing import Any

PLAIN = '{"type":"object"}'
ABOUT = '{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"extreme","version":"1"}}'


def nested(depth: int, kind: str) -> str:
    before, after = {"object": ('{"type":"object","properties":{"a":', "}}"), "array": ("[", "]")}[kind]
    return before * depth + '{"type":"string"}' + after * depth


class Extreme:
    def __init__(self, depth: int, *listed: str) -> None:
        self.listed = [*listed, "good"]
        self.schemas = {
            "deep": nested(depth, "object"),
            "nan": '{"type":"object","properties":{"a":{"default":NaN}}}',
            "half": '{"type":"object","properties":{"a":{"description":"\\ud800"}}}',
            "large": '{"type":"object","properties":{"a":{"maximum":1' + "0" * 400 + "}}}",
        }
        self.values = {
            "deep": nested(depth, "array"),
            "digits": "9" * 5_000,
            "nan": "NaN",
            "half": '"\\ud800"',
            "large": "1" + "0" * 400,
        }

    def answer(self, line: str | bytes) -> str:
        """Return the answer to a request; nothing to a notification."""
        request: dict[str, Any] = json.loads(line)
        if "id" not in request:
            return ""
        if request["method"] == "initialize":
            result = ABOUT
        elif request["method"] == "tools/list":
            tools = (
                f'{{"name":"{name}","inputSchema":{self.schemas.get(name, PLAIN)}}}' for name in self.listed
            )
            result = f'{{"tools":[{",".join(tools)}],"ttlMs":1{"0" * 400}}}'
        else:
            value = self.values.get(request["params"]["name"].removeprefix("answers_"), '"fine"')
            result = f'{{"content":[],"structuredContent":{{"value":{value}}}}}'
        return f'{{"jsonrpc":"2.0","id":{json.dumps(request["id"])},"result":{result}}}'


if __name__ == "__main__":
    server = Extreme(int(sys.argv[1]), *sys.argv[2:])
    for line in sys.stdin:
        if reply := server.answer(line):
            sys.stdout.write(reply + "\n")
            sys.stdout.flush()
