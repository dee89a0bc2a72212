"""A server that says no: to its greeting or its list of tools, with words of its own; or that is no MCP server at all."""

import os
import sys
import threading
import time
from typing import Any

from by_hand import serve  # type: ignore[import-not-found]

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
    ("falls-silent", "initialize"): {"result": GREETED},
    ("garbled", "initialize"): {"result": [1, 2]},
    ("old", "initialize"): {"result": {**GREETED, "protocolVersion": "1999-01-01"}},
    # The code that the library has for a closed connection.
    ("list", "tools/list"): {"error": {"code": -32000, "message": "upstream 500"}},
    ("future", "server/discover"): {
        "result": {"supportedVersions": ["2099-01-01"], "capabilities": {}, "resultType": "complete"}
    },
    ("future", "initialize"): {"result": GREETED},
    ("future", "tools/list"): {"result": {"tools": [TOOL]}},
    ("newer", "initialize"): {
        "error": {
            "code": -32022,
            "message": "Unsupported protocol version",
            "data": {"supported": ["2026-07-28"], "requested": "2025-11-25"},
        }
    },
    ("newer", "server/discover"): {
        "result": {
            "supportedVersions": ["2026-07-28"],
            "capabilities": {"tools": {}},
            "resultType": "complete",
            "ttlMs": 0,
            "cacheScope": "private",
        }
    },
    ("newer", "tools/list"): {
        "result": {"tools": [TOOL], "resultType": "complete", "ttlMs": 0, "cacheScope": "private"}
    },
    ("floods", "initialize"): {"result": GREETED},
    ("floods", "tools/list"): {"result": {"tools": [TOOL]}},
    ("leaky", "initialize"): {"result": GREETED},
    ("leaky", "tools/list"): {"result": {"tools": [TOOL]}},
    ("leaky", "tools/call"): {"error": {"code": -32603, "message": f"refused {KEY}"}},
}
UNKNOWN = {"error": {"code": -32601, "message": "Method not found"}}


def flood() -> None:
    while True:
        os.write(1, b'not JSON at all\n{"jsonrpc": "2.0", "id": 987654, "result": {}}\n\xff\xfe\n' * 20)
        os.write(2, b"noise on stderr \x1b[31m\xff\n" * 20)
        time.sleep(0.02)


def answer(method: str, _: dict[str, Any]) -> dict[str, Any] | None:
    silent = KIND in {"silent", "falls-silent"}
    return ANSWERS.get((KIND, method), None if silent else UNKNOWN)


def main() -> None:
    if KIND == "floods":
        threading.Thread(target=flood, daemon=True).start()
    if KIND == "fails":
        sys.exit("\n".join(sys.argv[2:]))
    if KIND == "dies":
        sys.stderr.write("dies_at_start: the licence file is missing\n")
        sys.exit(7)
    if KIND in {"leaky", "bad-key"}:
        sys.stderr.write(f"bad key {KEY}, password=hunter2hunter2\n")
        sys.stderr.flush()
    if KIND == "text":
        sys.stdout.write("Welcome!\nlistening on 3000\n")
        sys.stdout.flush()
        time.sleep(1000)
    serve(answer)


if __name__ == "__main__":
    main()
