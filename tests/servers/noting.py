"""A server that writes its process id to a file at each call, and then does as asked: `noting.py ok|die|hang FILE`."""

import os
import sys
import time
from pathlib import Path
from typing import Any

from by_hand import offering, serve  # type: ignore[import-not-found]

HOW, NOTES = sys.argv[1], Path(sys.argv[2])
SCHEMA = {"type": "object", "properties": {"text": {"type": "string"}}}
TOOL = {"name": "t", "inputSchema": SCHEMA, "annotations": {"idempotentHint": True}}


def call(_name: str, _arguments: dict[str, Any]) -> dict[str, Any]:
    with NOTES.open("a") as file:
        file.write(f"call {os.getpid()}\n")
    if HOW == "die":
        os._exit(3)
    if HOW == "hang":
        time.sleep(1_000)
    return {"content": []}


if __name__ == "__main__":
    serve(offering("noting", lambda: [TOOL], call))
