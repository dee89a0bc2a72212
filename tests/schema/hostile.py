"""Hostile definitions, and a program that bounds the time, memory and output of each step with one of them."""

from __future__ import annotations

import json
import resource
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from halflap.calls import Policy
from halflap.config import Config
from halflap.core.values import Tool
from halflap.gateway.tools import describe
from halflap.schema import compile_schema, parse_schema

if TYPE_CHECKING:
    from collections.abc import Callable

MANY = 100_000
MOST_SECONDS = 2.0
"""Each step takes a tenth of this, on a machine that is not busy."""
MOST_BYTES = 200_000_000
MOST_LETTERS = 7_000_000
"""Two schemas of a megabyte, indented."""


def nested(levels: int, key: str, bottom: Any) -> Any:
    for _ in range(levels):
        bottom = {key: bottom} if key else [bottom]
    return bottom


def fanned(levels: int, join: Callable[[dict[str, str]], dict[str, Any]]) -> dict[str, Any]:
    """Make a schema whose last part is reached in 2 ** levels ways."""
    parts: dict[str, Any] = {"d0": {"type": "string"}}
    for level in range(1, levels + 1):
        parts[f"d{level}"] = join({"$ref": f"#/$defs/d{level - 1}"})
    return {"$defs": parts, "properties": {"a": {"$ref": f"#/$defs/d{levels}"}}}


def many_times(part: dict[str, Any], count: int = 2_500) -> dict[str, Any]:
    """Make a schema that has one part under very many names."""
    return {
        "$defs": {"d": part},
        "properties": {f"p{number}": {"$ref": "#/$defs/d"} for number in range(count)},
    }


def properties(count: int, part: Callable[[int], Any]) -> dict[str, Any]:
    return {"type": "object", "properties": {f"p{number}": part(number) for number in range(count)}}


HOSTILE: dict[str, Callable[[], tuple[Any, Any]]] = {
    "10^5 properties": lambda: (properties(MANY, lambda _: {"type": "string"}), {"p1": 1}),
    "nested deep": lambda: (nested(900, "items", {"type": "string"}), {"a": nested(90, "", 1)}),
    "contains itself": lambda: (
        {"properties": {name: {"$ref": "#"} for name in "abcdefgh"}, "additionalProperties": False},
        nested(90, "a", {"x": 1}),
    ),
    "$ref bomb, allOf": lambda: (fanned(60, lambda part: {"allOf": [part, dict(part)]}), {"a": 1}),
    "every key meets every choice": lambda: (
        {
            **properties(1_400, lambda _: {"type": "string"}),
            "anyOf": [
                {"anyOf": [{"properties": {f"q{one}_{two}": {}}} for two in range(15)]} for one in range(100)
            ],
        },
        {"p1": 1},
    ),
    "regex bombs": lambda: (
        {"items": {"allOf": [{"pattern": rf"^(a|aa)+(?!x{number})\1$"} for number in range(60)]}},
        ["a" * 1_000 + "!"] * 1_000,
    ),
    "a regex of megabytes": lambda: ({"properties": {"a": {"pattern": "[a-z]" * 1_000_000}}}, {"a": "x"}),
    "regexes for keys": lambda: (
        {"patternProperties": {rf"^(a|aa)+(?!x{number})\1$": {"type": "null"} for number in range(200)}},
        {"a" * 500 + str(number): 1 for number in range(500)},
    ),
    "huge enum, very many times": lambda: (many_times({"enum": [*range(200_000)]}), {"p1": "x"}),
    "huge default, very many times": lambda: (
        {"properties": {f"p{number}": LARGE for number in range(2_000)}},
        {},
    ),
    "huge name": lambda: ({"properties": {str(one) + "n" * 2_000_000: {} for one in range(5)}}, {"a": 1}),
    "very many reasons for a large value": lambda: (
        {"allOf": [{"required": [f"q{number}"]} for number in range(1_000)]},
        {f"k{number}": "v" for number in range(10_000)},
    ),
}  # fmt: skip
LARGE: dict[str, Any] = {"default": [{"k": "v" * 1_000}] * 1_000}


def main(name: str) -> None:
    schema, value = HOSTILE[name]()
    policy = Policy(Config.from_mapping({"servers": []}))
    tool = Tool("mcp__s__t", "s", "t", schema.get("description", ""), schema, schema)
    compile_schema({"type": "string"})
    parsed = parse_schema(tool)
    validator = compile_schema(schema)
    steps: list[Callable[[], Any]] = [
        lambda: parse_schema(tool),
        parsed.format_for_llm,
        parsed.format_compact,
        lambda: compile_schema(schema),
        lambda: str(validator and [str(problem) for problem in validator.problems(value)]),
        lambda: json.dumps(describe(tool, policy), indent=2),
    ]
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    most = pages * resource.getpagesize() + MOST_BYTES
    resource.setrlimit(resource.RLIMIT_AS, (most, most))
    for number, step in enumerate(steps):
        began = time.process_time()
        result = step()
        assert time.process_time() - began < MOST_SECONDS, f"step {number} takes too long"
        assert not isinstance(result, str) or len(result) < MOST_LETTERS, f"step {number} writes too much"


if __name__ == "__main__":
    main(sys.argv[1])
