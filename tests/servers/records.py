"""A server that takes next to no time, whose results have fields: `one`, `many`, `odd` and `sometimes`.

Nothing is declared of what they return. `odd` returns whatever is asked for; `sometimes` is another tool once the
file exists that is given as the argument of the server: its definition and its results change.
"""

import json
import sys
from pathlib import Path
from typing import Any

NUMBER = {"type": "object", "properties": {"number": {"type": "integer"}}, "required": ["number"]}
ODD = {
    "type": "object",
    "properties": {"number": {"type": "integer"}, "result": {"type": "object"}},
    "required": ["result"],
}


def record(number: int) -> dict[str, Any]:
    return {
        "id": number,
        "name": f"customer {number}",
        "email": f"someone{number}@example.org",
        "since": "2026-03-02",
        "balance": number / 4,
        "active": number % 2 == 0,
        "tags": ["a", "b"],
        "address": {"street": "High Street", "city": "Ghent", "zip": "9000"},
    }


def structured(value: dict[str, Any]) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": json.dumps(value)}], "structuredContent": value}


def call(name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    number = arguments.get("number", 0)
    if name == "one":
        return structured(record(number))
    if name == "many":
        records = [record(number + each) for each in range(100)]
        return {"content": [{"type": "text", "text": json.dumps(records)}]}
    if name == "sometimes":
        return structured({"new": number} if changed() else {"old": number})
    given: dict[str, Any] = arguments["result"]
    return given


def changed() -> bool:
    return len(sys.argv) > 1 and Path(sys.argv[1]).exists()


def tools() -> list[dict[str, Any]]:
    told = "Another tool." if changed() else "A tool."
    return [
        {"name": "one", "description": "One record.", "inputSchema": NUMBER},
        {"name": "many", "description": "Many records.", "inputSchema": NUMBER},
        {"name": "odd", "description": "What is asked for.", "inputSchema": ODD},
        {"name": "sometimes", "description": told, "inputSchema": NUMBER},
    ]


if __name__ == "__main__":
    from by_hand import offering, serve  # type: ignore[import-not-found]

    serve(offering("records", tools, call))
