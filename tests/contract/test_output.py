"""Output schemas of Python types."""

from __future__ import annotations

from dataclasses import dataclass, field, make_dataclass
from datetime import UTC, date, datetime
from enum import StrEnum
from typing import Annotated, Any

import jsonschema_rs
import pytest
from pydantic import BaseModel, Field, TypeAdapter, create_model

from halflap.contract import fraction, lint_ignore, output_schema, produces, unit
from halflap.contract.relations import IGNORE_KEYWORD


class Segment(StrEnum):
    SMALL = "smb"
    LARGE = "enterprise"


FIELDS: dict[str, tuple[Any, Any, dict[str, Any]]] = {
    "customer_id": (
        Annotated[str, produces("customer"), Field(description="Unique identifier", min_length=1)],
        "C1",
        {
            "type": "string",
            "minLength": 1,
            "description": "Unique identifier",
            "x-halflap": {"produces": "customer"},
        },
    ),
    "revenue": (
        Annotated[int, unit("USD cents"), Field(description="Revenue", ge=0)],
        5,
        {
            "type": "integer",
            "minimum": 0,
            "description": "Revenue. Unit: USD cents.",
            "x-halflap": {"unit": "USD cents"},
        },
    ),
    "growth": (
        Annotated[float, fraction],
        0.15,
        {"type": "number", "description": "Unit: fraction (0.15 = 15%).", "x-halflap": {"unit": "fraction"}},
    ),
    "segment": (Segment, Segment.SMALL, {"$ref": "#/$defs/Segment"}),
    "last_order_date": (date, date(2026, 6, 1), {"type": "string", "format": "date"}),
    "last_contact": (
        datetime,
        datetime(2026, 6, 1, 8, tzinfo=UTC),
        {"type": "string", "format": "date-time"},
    ),
    "tags": (
        list[Annotated[str, produces("tag")]],
        ["a"],
        {"type": "array", "items": {"type": "string", "x-halflap": {"produces": "tag"}}},
    ),
    "note": (str | None, None, {"anyOf": [{"type": "string"}, {"type": "null"}]}),
}
TYPES = {name: kind for name, (kind, _, _) in FIELDS.items()}
MODEL = create_model("Model", **{name: (kind, ...) for name, kind in TYPES.items()})  # type: ignore[call-overload]


@pytest.mark.parametrize("kind", [make_dataclass("Plain", TYPES.items()), MODEL])
def test_every_kind_of_type_has_the_same_schema(kind: Any) -> None:
    schema = output_schema(kind)
    assert schema["$schema"].endswith("2020-12/schema")
    assert (schema["type"], schema["required"]) == ("object", list(FIELDS))
    assert schema["properties"] == {name: expected for name, (_, _, expected) in FIELDS.items()}
    value = kind(**{name: given for name, (_, given, _) in FIELDS.items()})
    sent = TypeAdapter(kind).dump_python(value, mode="json")
    assert jsonschema_rs.Draft202012Validator(schema).is_valid(sent)


@dataclass
class Node:
    name: str
    children: list[Node] = field(default_factory=list)


def test_a_recursive_type_has_an_object_as_its_root() -> None:
    schema = output_schema(Node)
    assert schema["type"] == "object"
    fits = jsonschema_rs.Draft202012Validator(schema).is_valid
    assert fits({"name": "a", "children": [{"name": "b", "children": []}]})
    assert not fits({"name": "a", "children": [{"nmae": "b", "children": []}]})


def test_a_lint_rule_is_ignored_in_place_with_a_reason() -> None:
    ignored = Annotated[str, lint_ignore("id-not-accepted", "It is for people.")]
    assert output_schema(ignored)[IGNORE_KEYWORD] == {"id-not-accepted": "It is for people."}
    for rule, reason in (("", "x"), ("a-rule", " ")):
        with pytest.raises(ValueError, match="lint_ignore"):
            lint_ignore(rule, reason)


@dataclass
class Documented:
    amount: int
    """Total revenue in USD cents"""
    count: Annotated[int, Field(description="Number of orders")]
    """The explicit description wins."""


class DocumentedModel(BaseModel):
    inner: list[Documented]
    """Sales data grouped by region"""


def test_attribute_docstrings_are_descriptions() -> None:
    schema = output_schema(DocumentedModel)
    assert schema["properties"]["inner"]["description"] == "Sales data grouped by region"
    fields = schema["$defs"]["Documented"]["properties"]
    assert fields["amount"]["description"] == "Total revenue in USD cents"
    assert fields["count"]["description"] == "Number of orders"
