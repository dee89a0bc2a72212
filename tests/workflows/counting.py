"""A server whose tools write down that they were called; one waits as long as a file is there."""

import json
import sys
import threading
import time
from pathlib import Path
from typing import Any

FOLDER = Path(sys.argv[1])
TEXT = {"type": "string"}
TAKES: dict[str, dict[str, Any]] = {
    "say": {"what": TEXT},
    "slow": {"what": TEXT},
    "wait": {"what": TEXT},
    "fail": {"what": TEXT},
    "ticket": {"what": TEXT},
    "pay": {"what": TEXT, "number": {"type": "integer"}},
    "known": {"what": TEXT},
    "keep": {"what": {}},
}
SAID = {"known": {"idempotentHint": True}}
WRITING = threading.Lock()
TOGETHER = 3
"""So many calls of `slow` wait for each other: none ends before all have begun."""


def send(message: dict[str, Any]) -> None:
    with WRITING:
        sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        sys.stdout.flush()


def log(line: str) -> int:
    with WRITING, (FOLDER / "log").open("a+") as stream:
        stream.write(f"{line}\n")
        stream.seek(0)
        return stream.read().split("\n").count(line)


def answer(request: dict[str, Any]) -> None:
    name, given = request["params"]["name"], request["params"]["arguments"]
    times = log(" ".join([name, *(str(given[key]) for key in TAKES[name])]))
    if name == "slow":
        while sum(one.startswith("slow ") for one in (FOLDER / "log").read_text().split("\n")) < TOGETHER:
            time.sleep(0.01)
        log(f"end {given['what']}")
    while name == "wait" and (FOLDER / "closed").exists():
        time.sleep(0.01)
    while name == "ticket" and times == 1 and not (FOLDER / "second").exists():
        # The first one is answered last.
        time.sleep(0.01)
    failed = (name == "fail" or (name == "known" and times == 2)) and (FOLDER / "closed").exists()
    value = {"what": given.get("what"), "times": times, "flags": {"odd": times % 2 == 1}}
    text = "it does not work now" if failed else json.dumps(value)
    send({"id": request["id"], "result": {"content": [{"type": "text", "text": text}], "isError": failed}})
    if name == "ticket" and times > 1:
        time.sleep(0.2)
        (FOLDER / "second").touch()


for line in sys.stdin:
    asked = json.loads(line)
    method = asked.get("method")
    if method == "initialize":
        told: dict[str, Any] = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}}
        send({"id": asked["id"], "result": {**told, "serverInfo": {"name": "counting", "version": "1"}}})
    elif method == "tools/list":
        tools = [
            {
                "name": name,
                "description": f"{name}.",
                "inputSchema": {"type": "object", "properties": fields, "required": list(fields)},
                "annotations": SAID.get(name, {}),
            }
            for name, fields in TAKES.items()
        ]
        send({"id": asked["id"], "result": {"tools": tools}})
    elif method == "tools/call":
        threading.Thread(target=answer, args=(asked,), daemon=True).start()
