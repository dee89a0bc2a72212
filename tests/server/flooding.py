"""A server that pours out noise on stdout and stderr all the while, and answers in between."""

import json
import os
import sys
import threading
import time

TOOL = {"name": "calm", "description": "Be calm.", "inputSchema": {"type": "object"}}
LOCK = threading.Lock()


def flood() -> None:
    while True:
        with LOCK:
            os.write(1, b'not JSON at all\n{"jsonrpc": "2.0", "id": 987654, "result": {}}\n\xff\xfe\n' * 20)
        os.write(2, b"noise on stderr \x1b[31m\xff\n" * 20)
        time.sleep(0.02)


def main() -> None:
    threading.Thread(target=flood, daemon=True).start()
    for line in sys.stdin:
        request = json.loads(line)
        results = {
            "initialize": {
                "protocolVersion": "2025-06-18",
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "flooding", "version": "1"},
            },
            "tools/list": {"tools": [TOOL]},
        }
        if request.get("method") in results:
            reply = {"jsonrpc": "2.0", "id": request["id"], "result": results[request["method"]]}
            with LOCK:
                os.write(1, json.dumps(reply).encode() + b"\n")


if __name__ == "__main__":
    main()
