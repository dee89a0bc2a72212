"""Hostile definitions neither crash nor stall the linter."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from halflap.lint import Seen
from halflap.lint.parts import parts_of
from lint.making import report_of


def deep(levels: int) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "string"}
    for _ in range(levels):
        schema = {"type": "object", "properties": {"price": schema, "id": {"type": "string"}}}
    return schema


RECURSIVE = {
    "type": "object",
    "$defs": {
        "node": {
            "type": "object",
            "properties": {"node_id": {"type": "string"}, "next": {"$ref": "#/$defs/node"}},
        }
    },
    "properties": {"root": {"$ref": "#/$defs/node"}, "self": {"$ref": "#"}},
}
FANNED = {
    "type": "object",
    "$defs": {
        f"n{at}": {
            "type": "object",
            "properties": {f"p{each}": {"$ref": f"#/$defs/n{at + 1}"} for each in range(30)},
        }
        for at in range(30)
    },
    "properties": {"root": {"$ref": "#/$defs/n0"}},
}
CHOICES = {
    "anyOf": [
        {
            "anyOf": [
                {"type": "object", "properties": {f"price{a}_{b}": {"type": "number"}}} for b in range(60)
            ]
        }
        for a in range(60)
    ]
}
WIDE = {"type": "object", "properties": {f"amount_{at}": {"type": "number"} for at in range(5_000)}}
ODD: list[Any] = [
    None,
    True,
    False,
    5,
    "text",
    [],
    {"type": 5},
    {"type": ["string", 5, None]},
    {"type": "object", "properties": []},
    {"type": "object", "properties": {"a": True, "b": None, "c": 5, "d": []}},
    {"type": "object", "required": "a", "properties": {"a": {"enum": 5, "description": 5, "format": []}}},
    {"$ref": "#/nowhere"},
    {"$ref": 5, "anyOf": 5, "items": 5},
    {"x-halflap-lint-ignore": 5, "properties": {"": {"x-halflap-lint-ignore": [1]}}},
    deep(300),
    RECURSIVE,
    FANNED,
    CHOICES,
    WIDE,
]


@pytest.mark.parametrize("schema", ODD, ids=range(len(ODD)))
def test_no_schema_breaks_or_stalls_the_linter(schema: Any) -> None:
    tools = [
        {"name": f"get_{at}", "description": "Get it.", "inputSchema": schema, "outputSchema": schema}
        for at in range(2)
    ]
    report = report_of(*tools)
    assert report.score is not None
    json.dumps(report.to_json())


@pytest.mark.parametrize("schema", [deep(300), RECURSIVE, FANNED, CHOICES, WIDE])
def test_the_number_of_fields_is_bounded(schema: Any) -> None:
    assert 0 < len(parts_of(schema, "input")) <= 400


TEXTS = [
    "",
    "\x1b[31mred\x1b[0m",
    "\u202eevil",
    "a" * 100_000,
    "\ud800",
    "Args:\n" + "x: y\n" * 20_000,
    "'a', " * 20_000,
    "one of " * 5_000,
    "args" + " " * 20_000 + "x",
    "one of 'a'" + " " * 20_000 + "x",
]


@pytest.mark.parametrize("text", TEXTS, ids=range(len(TEXTS)))
def test_no_text_breaks_or_stalls_the_linter(text: str) -> None:
    taken = {
        "type": "object",
        "properties": {
            text: {"type": "string", "description": text},
            "amount": {"type": "number", "description": text},
            "date": {"type": "string", "description": text},
        },
    }
    one: dict[str, Any] = {
        "name": text or "x",
        "description": text,
        "inputSchema": taken,
        "title": text,
        "annotations": text,
        "_meta": text,
    }
    report = report_of(one, seen={one["name"]: Seen(calls=1, failures=(text,))}, name=text or "s")
    for each in report.findings:
        shown = f"{each.message}{each.path}{each.fix}"
        assert "\x1b" not in shown
        assert "\u202e" not in shown
        assert len(each.message) < 2_000


JSON: Any = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    "type",
                    "properties",
                    "items",
                    "anyOf",
                    "$ref",
                    "description",
                    "enum",
                    "required",
                    "price",
                    "id",
                ]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=20,
)


@given(st.lists(st.tuples(st.text(min_size=1, max_size=8), st.text(max_size=20), JSON, JSON), max_size=4))
def test_any_json_can_be_linted(tools: list[tuple[str, str, Any, Any]]) -> None:
    report_of(
        *(
            {"name": name, "description": description, "inputSchema": taken, "outputSchema": given}
            for name, description, taken, given in tools
        )
    )
