"""A server that answers calls as they were answered before, and no others: `recorded.py TOOLS TRACES`.

TOOLS has the definitions, `{"tools": [...]}`; TRACES one call in a line, `{tool, arguments, result, is_error}`. What was
never asked in just this way is an error that says so. No library is used: it starts at once.
"""

import json
import sys
from pathlib import Path
from typing import Any

VERSION = "2025-11-25"
METHOD_NOT_FOUND = -32601


def key(tool: str, arguments: Any) -> tuple[str, str]:
    return tool, json.dumps(arguments or {}, sort_keys=True)


def read(traces: Path) -> dict[tuple[str, str], Any]:
    answers: dict[tuple[str, str], Any] = {}
    for line in traces.read_text(encoding="utf-8").splitlines():
        record = json.loads(line)
        if not record.get("is_error"):
            # Of several answers the first: nothing that is asked here changes anything.
            answers.setdefault(key(record["tool"], record["arguments"]), record["result"])
    return answers


def called(answers: dict[tuple[str, str], Any], params: dict[str, Any]) -> dict[str, Any]:
    asked = key(params["name"], params.get("arguments"))
    if asked not in answers:
        text = f"Nobody ever asked {asked[0]} for {asked[1]}"
        return {"content": [{"type": "text", "text": text}], "isError": True}
    result = answers[asked]
    text = result if isinstance(result, str) else json.dumps(result)
    return {"content": [{"type": "text", "text": text}]}


def main() -> None:
    tools = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))["tools"]
    answers = read(Path(sys.argv[2]))
    for line in sys.stdin:
        request = json.loads(line)
        if "id" not in request or "method" not in request:
            continue
        params = request.get("params") or {}
        reply: dict[str, Any]
        if request["method"] == "initialize":
            info = {"name": "recorded", "version": "1.0.0"}
            reply = {
                "result": {"protocolVersion": VERSION, "capabilities": {"tools": {}}, "serverInfo": info}
            }
        elif request["method"] == "tools/list":
            reply = {"result": {"tools": tools}}
        elif request["method"] == "tools/call":
            reply = {"result": called(answers, params)}
        elif request["method"] == "ping":
            reply = {"result": {}}
        else:
            reply = {"error": {"code": METHOD_NOT_FOUND, "message": "Method not found"}}
        sys.stdout.write(json.dumps({"jsonrpc": "2.0", "id": request["id"], **reply}) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
