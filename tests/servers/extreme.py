"""A server whose answers are all valid JSON, and too much for most readers: deep, long, odd. No library is used.

It lists the tools that it is told to, and `good`. What is odd about a tool is its schema or, if it is called
`answers_…`, what it answers.
"""

import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

HTTP = sys.argv[1] == "--http"
DEPTH = int(sys.argv[1 + HTTP])
LISTED = sys.argv[2 + HTTP :]
PLAIN = '{"type":"object"}'


def nested(depth: int, kind: str) -> str:
    before, after = {"object": ('{"type":"object","properties":{"a":', "}}"), "array": ("[", "]")}[kind]
    return before * depth + '{"type":"string"}' + after * depth


SCHEMAS = {
    "deep": nested(DEPTH, "object"),
    "nan": '{"type":"object","properties":{"a":{"default":NaN}}}',
    "half": '{"type":"object","properties":{"a":{"description":"\\ud800"}}}',
    "large": '{"type":"object","properties":{"a":{"maximum":1' + "0" * 400 + "}}}",
}
VALUES = {
    "deep": nested(DEPTH, "array"),
    "digits": "9" * 5_000,
    "nan": "NaN",
    "half": '"\\ud800"',
    "large": "1" + "0" * 400,
    "good": '"fine"',
}


def answer(request: dict[str, Any]) -> str | None:
    if "id" not in request:
        return None
    if request["method"] == "initialize":
        result = (
            '{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},'
            '"serverInfo":{"name":"extreme","version":"1"}}'
        )
    elif request["method"] == "tools/list":
        tools = ",".join(
            f'{{"name":"{name}","inputSchema":{SCHEMAS.get(name, PLAIN)}}}' for name in [*LISTED, "good"]
        )
        result = f'{{"tools":[{tools}],"ttlMs":1{"0" * 400}}}'
    else:
        name = request["params"]["name"]
        value = VALUES.get(name.removeprefix("answers_"), VALUES["good"])
        result = f'{{"content":[],"structuredContent":{{"value":{value}}}}}'
    return f'{{"jsonrpc":"2.0","id":{json.dumps(request["id"])},"result":{result}}}'


class Handler(BaseHTTPRequestHandler):
    """The same over HTTP, for those who ask with POST."""

    def do_POST(self) -> None:
        request = json.loads(self.rfile.read(int(self.headers["content-length"])))
        body = (answer(request) or "").encode()
        self.send_response(200 if body else 202)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


def said(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def main() -> None:
    if HTTP:
        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        said(f"http://127.0.0.1:{server.server_port}/mcp")
        server.serve_forever()
    for line in sys.stdin:
        reply = answer(json.loads(line))
        if reply is not None:
            said(reply)


if __name__ == "__main__":
    main()
