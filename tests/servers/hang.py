"""A server that never answers, or answers `initialize` and then never again."""

import json
import sys


def main() -> None:
    answers_initialize = "--after-initialize" in sys.argv[1:]
    for line in sys.stdin:
        request = json.loads(line)
        if answers_initialize and request.get("method") == "initialize":
            result = {
                "protocolVersion": request["params"]["protocolVersion"],
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "hang", "version": "1.0.0"},
            }
            sys.stdout.write(json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": result}) + "\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
