"""docs/schemas.md: texts, signatures and problems are as shown."""

from __future__ import annotations

import re
from typing import Any

from halflap.core.values import Tool
from halflap.schema import ToolSchema, parse_schema
from support import ROOT

PAGE = (ROOT / "docs" / "schemas.md").read_text()
PARCELS, CHOICES, ORDERS, PARCELS_COMPACT, PROBLEMS, CHOICE_PROBLEMS, HIDDEN = re.findall(
    r"```text\n(.*?)\n```", PAGE, re.DOTALL
)
STRING = {"type": "string"}


def parsed(name: str, takes: dict[str, Any], gives: Any = None, description: str = "") -> ToolSchema:
    return parse_schema(Tool(name, "s", name, description, takes, gives))


def of(*required: str, **properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, **({"required": list(required)} if required else {})}


def problems(schema: ToolSchema, arguments: dict[str, Any]) -> set[str]:
    return {str(problem) for problem in schema.validate_arguments(arguments)}


def test_a_tool_written_for_a_model_is_as_shown() -> None:
    service = {"enum": ["standard", "express"], "default": "standard", "description": "How fast"}
    parcel = of("order_id", order_id={**STRING, "description": "As list_orders returns it"}, service=service)
    takes = of(
        "customer_id",
        "parcels",
        customer_id={**STRING, "description": "Who gets them"},
        parcels={"type": "array", "description": "What to send.", "items": parcel},
        states={"type": "array", "items": {"enum": ["open", "closed"]}},
        insurance={"type": "boolean"},
    )
    schema = parsed("send_parcels", takes, description="Send parcels to a customer")
    assert schema.format_for_llm() == PARCELS
    # A default in a nested object is not part of the signature.
    assert schema.format_compact() == PARCELS_COMPACT


def test_alternatives_are_as_shown() -> None:
    content = [
        of("type", key, type={"const": kind}, **{key: STRING})
        for kind, key in (("text", "text"), ("image", "url"))
    ]
    to = {**of(id=STRING, email=STRING), "oneOf": [{"required": ["id"]}, {"required": ["email"]}]}
    labels = {"type": "object", "additionalProperties": STRING}
    schema = parsed("t", of("content", content={"oneOf": content}, to=to, labels=labels))
    assert "\n".join(schema.parameter_lines()) == CHOICES
    found = problems(schema, {"content": {"type": "image", "url": 5}, "to": {}})
    assert found == set(CHOICE_PROBLEMS.splitlines())


def test_a_compact_signature_is_as_shown() -> None:
    row = of(order_id=STRING, total={"type": "number"})
    gives = of(orders={"type": "array", "items": row}, has_more={"type": "boolean"})
    takes = of("customer_id", customer_id=STRING, limit={"type": "integer", "default": 10})
    assert parsed("get_orders", takes, gives).format_compact() == ORDERS


def test_problems_are_as_shown() -> None:
    modes = {"enum": ["fast", "slow"]}
    tags = {"type": "array", "items": STRING}
    takes = of("customer_id", customer_id=STRING, limit={"type": "integer"}, mode=modes, tags=tags)
    schema = parsed("t", {**takes, "additionalProperties": False})
    arguments = {"limit": True, "mode": "medium", "tags": ["a", 1], "custmer_id": "C1"}
    assert problems(schema, arguments) == set(PROBLEMS.splitlines())


def test_invisible_characters_are_as_shown() -> None:
    schema = parsed("find", of("na\u200bme", **{"na\u200bme": STRING, "mode": {"enum": ["x\u202ey", "z"]}}))
    assert {schema.format_compact(), *problems(schema, {"mode": "xy"})} == set(HIDDEN.splitlines())
