"""One tool for each thing that a client must cope with, over stdio, by hand and in the older era.

Without the library it starts in a tenth of the time; echo.py has the same tools on the library's server. Given FOLDER and
COUNT, it serves only when as many as that are started.
"""

import json
import os
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

REAL_STDOUT = os.dup(1)
PROGRESS_INTERVAL = 0.2
ONE_PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
INVALID_PARAMS = -32602


def tool(
    name: str,
    properties: dict[str, Any] | None = None,
    *,
    optional: tuple[str, ...] = (),
    output: dict[str, Any] | None = None,
    description: str = "",
) -> dict[str, Any]:
    properties = properties or {}
    required = [key for key in properties if key not in optional]
    definition: dict[str, Any] = {
        "name": name,
        "description": description or f"Test tool {name}.",
        "inputSchema": {"type": "object", "properties": properties, "required": required},
    }
    return definition if output is None else {**definition, "outputSchema": output}


TEXT, INTEGER, BOOLEAN = {"type": "string"}, {"type": "integer"}, {"type": "boolean"}
TOOLS = [
    tool("echo", {"text": TEXT}, description="Return the text that was given."),
    tool(
        "add",
        {"a": INTEGER, "b": INTEGER},
        output={"type": "object", "properties": {"result": INTEGER}, "required": ["result"]},
        description="Add two numbers.",
    ),
    tool("fail"),
    tool("crash", description="End the server process in the middle of the call."),
    tool("sleep", {"seconds": {"type": "number"}, "progress": BOOLEAN}, optional=("progress",)),
    tool("cancelled_count", description="How many calls of sleep were cancelled so far."),
    tool(
        "breach",
        output={"type": "object", "properties": {"count": INTEGER}, "required": ["count"]},
        description="Break the declared output schema.",
    ),
    tool("image"),
    tool("meta"),
    tool("pid"),
    tool("roots", description="Ask the client for its roots and return their URIs; only echo.py does."),
    tool("env", {"name": TEXT}),
    tool("big", {"bytes": INTEGER}),
    tool("noise", {"binary": BOOLEAN}, optional=("binary",)),
]


def text(value: str, **more: Any) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": value}], **more}


def structured(value: dict[str, Any]) -> dict[str, Any]:
    return text(json.dumps(value), structuredContent=value)


def noise(arguments: dict[str, Any]) -> dict[str, Any]:
    os.write(
        REAL_STDOUT,
        b'this is not JSON\n\n{"half": \n[1, 2, 3]\n{"jsonrpc": "2.0", "id": 987654, "result": {}}\n',
    )
    if arguments.get("binary"):
        os.write(REAL_STDOUT, b"\xff\xfe\x80 not UTF-8\n")
    os.write(2, b"noise on stderr\n\xff\xfe\n")
    return text("made noise")


PIXEL = {"type": "image", "data": ONE_PIXEL, "mimeType": "image/png"}
ANSWERS: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
    "echo": lambda given: text(given["text"]),
    "add": lambda given: structured({"result": given["a"] + given["b"]}),
    "fail": lambda _: text("this tool always fails", isError=True),
    "crash": lambda _: os._exit(3),
    "breach": lambda _: structured({"count": "many"}),
    "image": lambda _: {"content": [PIXEL, *text("one pixel")["content"]]},
    "meta": lambda _: text("see _meta", _meta={"halflap.test/answer": 42, "halflap.test/list": ["a"]}),
    "pid": lambda _: text(str(os.getpid())),
    "env": lambda given: text(json.dumps(os.environ.get(given["name"]))),
    "big": lambda given: text("x" * given["bytes"]),
    "noise": noise,
}


class Swift:
    def __init__(self) -> None:
        self.writing = threading.Lock()
        self.cancelled = 0
        self.running: dict[Any, threading.Event] = {}

    def send(self, **message: Any) -> None:
        data = json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n"
        with self.writing:
            while data:
                data = data[os.write(REAL_STDOUT, data) :]

    def serve(self, answer: Callable[[str, dict[str, Any]], dict[str, Any]]) -> None:
        for line in sys.stdin:
            message = json.loads(line)
            method, params, number = message.get("method"), message.get("params") or {}, message.get("id")
            if method == "notifications/cancelled" and params["requestId"] in self.running:
                self.running[params["requestId"]].set()
            elif method == "tools/call":
                self.running[number] = threading.Event()
                threading.Thread(target=self.call, args=(number, params), daemon=True).start()
            elif number is not None:
                self.send(id=number, **answer(method, params))

    def call(self, number: Any, params: dict[str, Any]) -> None:
        name, arguments = params["name"], params.get("arguments") or {}
        if name not in {tool["name"] for tool in TOOLS}:
            self.send(id=number, error={"code": INVALID_PARAMS, "message": f"Unknown tool: {name}"})
        elif name == "sleep":
            self.sleep(number, arguments, params.get("_meta") or {})
        else:
            try:
                result = self.result(name, arguments)
            except KeyError as missing:
                result = text(f"missing argument: {missing.args[0]}", isError=True)
            self.send(id=number, result=result)
        del self.running[number]

    def sleep(self, number: Any, arguments: dict[str, Any], meta: dict[str, Any]) -> None:
        seconds = float(arguments["seconds"])
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            if self.running[number].wait(min(left, PROGRESS_INTERVAL)):
                self.cancelled += 1
                return
            if arguments.get("progress") and "progressToken" in meta:
                done = min(seconds - (end - time.monotonic()), seconds)
                said = {"progress": done, "total": seconds, "message": "sleeping"}
                self.send(
                    method="notifications/progress", params={"progressToken": meta["progressToken"], **said}
                )
        self.send(id=number, result=text(f"slept {seconds:g} s"))

    def result(self, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        if name == "cancelled_count":
            return text(str(self.cancelled))
        return ANSWERS[name](arguments)


if __name__ == "__main__":
    if sys.argv[1:]:
        (Path(sys.argv[1]) / str(os.getpid())).touch()
        while len([*Path(sys.argv[1]).iterdir()]) < int(sys.argv[2]):
            time.sleep(0.02)
    from by_hand import offering  # type: ignore[import-not-found]

    Swift().serve(offering("swift", lambda: TOOLS, lambda *_: None))
