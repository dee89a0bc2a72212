"""A server that offers real tool definitions from a file, to the letter; every call returns the tool's name.

The file has the form `{server: {tools: [...]}}`. All tools are in one list, the same name several times where several
servers have it.
"""

import json
import sys
from pathlib import Path
from typing import Any

from by_hand import INVALID_PARAMS, RefusedError, offering, serve  # type: ignore[import-not-found]

SERVERS: dict[str, dict[str, Any]] = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
TOOLS = [tool for server in SERVERS.values() for tool in server["tools"]]


def call(name: str, _: dict[str, Any]) -> dict[str, Any]:
    if not any(tool["name"] == name for tool in TOOLS):
        raise RefusedError(INVALID_PARAMS, f"Unknown tool: {name}")
    return {"content": [{"type": "text", "text": f"called {name}"}]}


if __name__ == "__main__":
    serve(offering("replay", lambda: TOOLS, call))
