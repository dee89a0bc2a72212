"""How long it takes to lint the 70 real servers, and the worst definitions that we know of.

Two claims, in seconds of processor time: `halflap lint --file` over the 527 tools of 70 real servers takes less than 2 s, as
a whole process, from its start to its end; and a tool whose definition is written to harm takes less than 2 s.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from halflap.lint import lint, server_of

SHARED = Path(os.environ.get("HALFLAP_SHARED", Path(__file__).parents[2] / "shared"))
MOST_REAL = 2.0
MOST_HOSTILE = 2.0
ROUNDS = 3


def children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def measure_real() -> bool:
    data = SHARED / "data" / "live_tools.json"
    if not data.exists():
        print(f"  skipped: needs {data.name} in {data.parent}")
        return True
    command = [sys.executable, "-m", "halflap", "lint", "--file", str(data), "--json", "--fail-on", "never"]
    best, findings = float("inf"), 0
    for _ in range(ROUNDS):
        before = children()
        done = subprocess.run(command, capture_output=True, check=True)
        best = min(best, children() - before)
        findings = sum(len(one["findings"]) for one in json.loads(done.stdout)["servers"])
    print(
        f"  {'70 real servers, the whole command':<40} {best:6.2f} s   {findings} findings   under {MOST_REAL:g} s"
    )
    return best < MOST_REAL


def hostile() -> dict[str, Any]:
    deep: dict[str, Any] = {"type": "number"}
    for _ in range(300):
        deep = {"type": "object", "properties": {"price": deep, "order_id": {"type": "string"}}}
    names = [f"amount_{at}" for at in range(100_000)]
    node = {f"p{each}": {"$ref": "#/$defs/n"} for each in range(30)}
    described = [("amount", "number"), ("start_date", "string"), ("mode", "string"), ("order_id", "string")]
    choices = [{"type": "object", "properties": {f"price_{at}": {"type": "number"}}} for at in range(3_000)]
    return {
        "300 levels": deep,
        "100,000 properties": {"type": "object", "properties": {name: {"type": "number"} for name in names}},
        "itself, in 30 ways": {"type": "object", "$defs": {"n": {"properties": node}}, "properties": node},
        "3,000 choices": {"type": "object", "anyOf": choices},
        "descriptions of 10 MB": {
            "type": "object",
            "properties": {
                name: {"type": kind, "description": "'a', or " * 1_250_000} for name, kind in described
            },
        },
        "400 dates and amounts": {
            "type": "object",
            "properties": {
                f"{name}_{at}_{name}": {"type": kind} for at in range(100) for name, kind in described
            },
        },
    }


def measure_hostile() -> bool:
    holds = True
    for name, schema in hostile().items():
        text = f"Args{' ' * 20_000}x\n" if name == "300 levels" else "Amount. Date. " * 50_000
        one = {"name": "get_it", "description": text, "inputSchema": schema, "outputSchema": schema}
        began = time.process_time()
        lint([server_of("shop", [one])])
        took = time.process_time() - began
        holds = holds and took < MOST_HOSTILE
        print(f"  {name:<40} {took:6.2f} s   under {MOST_HOSTILE:g} s")
    return holds


def main() -> int:
    print("Linting, processor time:")
    real, worst = measure_real(), measure_hostile()
    return 0 if real and worst else 1


if __name__ == "__main__":
    sys.exit(main())
