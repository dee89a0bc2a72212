from __future__ import annotations

import re
from typing import Any

from halflap.schema import parse_schema
from halflap.values import Tool
from support import ROOT

PAGE = (ROOT / "docs" / "schemas.md").read_text()
EXAMPLES = re.findall(r"```text\n(.*?)\n```", PAGE, re.DOTALL)

BOOK = Tool(
    "book_flights",
    "airline",
    "book_flights",
    "Book flights for a customer",
    {
        "type": "object",
        "properties": {
            "customer_id": {"type": "string", "description": "Who travels"},
            "flights": {
                "type": "array",
                "description": "What to book",
                "items": {
                    "type": "object",
                    "properties": {
                        "flight_number": {"type": "string", "description": "As search_flights gives it"},
                        "cabin": {
                            "enum": ["economy", "business"],
                            "default": "economy",
                            "description": "Where to sit",
                        },
                    },
                    "required": ["flight_number"],
                },
            },
            "insurance": {"type": "boolean"},
        },
        "required": ["customer_id", "flights"],
    },
)
TEXT = {"type": "string"}
SEND: dict[str, Any] = {
    "type": "object",
    "properties": {
        "content": {
            "oneOf": [
                {
                    "type": "object",
                    "properties": {"type": {"const": kind}, key: TEXT},
                    "required": ["type", key],
                }
                for kind, key in (("text", "text"), ("image", "url"))
            ]
        },
        "to": {
            "type": "object",
            "properties": {"id": TEXT, "email": TEXT},
            "oneOf": [{"required": ["id"]}, {"required": ["email"]}],
        },
        "labels": {"type": "object", "additionalProperties": TEXT},
    },
    "required": ["content"],
}
ORDERS: dict[str, Any] = {
    "type": "object",
    "properties": {
        "orders": {
            "type": "array",
            "items": {"properties": {"order_id": {"type": "string"}, "total": {"type": "number"}}},
        },
        "has_more": {"type": "boolean"},
    },
}


def test_the_text_for_a_model_is_as_shown() -> None:
    assert parse_schema(BOOK).format_for_llm() == EXAMPLES[0]


def test_choices_and_any_keys_are_shown_as_shown() -> None:
    tool = Tool("send", "s", "send", "", SEND)
    assert parse_schema(tool).parameter_lines() == EXAMPLES[1].splitlines()


def test_problems_with_choices_are_as_shown() -> None:
    arguments = {"content": {"type": "image", "url": 5}, "to": {}}
    problems = parse_schema(Tool("send", "s", "send", "", SEND)).validate_arguments(arguments)
    assert [str(problem) for problem in problems] == EXAMPLES[5].splitlines()


def test_the_lines_are_as_shown() -> None:
    properties = {"customer_id": {"type": "string"}, "limit": {"type": "integer", "default": 10}}
    orders = Tool(
        "get_orders",
        "sales",
        "get_orders",
        "",
        {"properties": properties, "required": ["customer_id"]},
        ORDERS,
    )
    assert parse_schema(orders).format_compact() == EXAMPLES[2]
    assert parse_schema(BOOK).format_compact() == EXAMPLES[3]


def test_the_problems_are_as_shown() -> None:
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
    tool = Tool("t", "s", "t", "", schema)
    arguments = {"limit": True, "mode": "medium", "tags": ["a", 1], "custmer_id": "C1"}
    problems = parse_schema(tool).validate_arguments(arguments)
    assert {str(problem) for problem in problems} == set(EXAMPLES[4].splitlines())


def test_letters_that_cannot_be_seen_are_written_as_shown() -> None:
    schema = {
        "properties": {"na\u200bme": {"type": "string"}, "mode": {"enum": ["x\u202ey", "z"]}},
        "required": ["na\u200bme"],
    }
    parsed = parse_schema(Tool("find", "s", "find", "", schema))
    problems = [str(problem) for problem in parsed.validate_arguments({"mode": "xy"})]
    line, *told = EXAMPLES[6].splitlines()
    assert parsed.format_compact() == line
    assert sorted(problems) == sorted(told)
