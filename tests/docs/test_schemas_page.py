"""docs/schemas.md: signatures and problems are as shown."""

from __future__ import annotations

import re
from typing import Any

from halflap.core.values import Tool
from halflap.schema import parse_schema
from support import ROOT

PAGE = (ROOT / "docs" / "schemas.md").read_text()
EXAMPLES = re.findall(r"```text\n(.*?)\n```", PAGE, re.DOTALL)


def test_a_compact_signature_is_as_shown() -> None:
    takes = {"customer_id": {"type": "string"}, "limit": {"type": "integer", "default": 10}}
    row = {"properties": {"order_id": {"type": "string"}, "total": {"type": "number"}}}
    gives: dict[str, Any] = {
        "type": "object",
        "properties": {"orders": {"type": "array", "items": row}, "has_more": {"type": "boolean"}},
    }
    schema = {"properties": takes, "required": ["customer_id"]}
    orders = Tool("get_orders", "sales", "get_orders", "", schema, gives)
    assert parse_schema(orders).format_compact() == EXAMPLES[2]


def test_problems_are_as_shown() -> None:
    schema = {
        "properties": {
            "customer_id": {"type": "string"},
            "limit": {"type": "integer"},
            "mode": {"enum": ["fast", "slow"]},
            "tags": {"items": {"type": "string"}},
        },
        "required": ["customer_id"],
        "additionalProperties": False,
    }
    arguments = {"limit": True, "mode": "medium", "tags": ["a", 1], "custmer_id": "C1"}
    problems = parse_schema(Tool("t", "s", "t", "", schema)).validate_arguments(arguments)
    assert {str(problem) for problem in problems} == set(EXAMPLES[4].splitlines())
