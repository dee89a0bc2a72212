"""Output schemas of Python types."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from enum import StrEnum
from typing import Annotated, Any

import jsonschema_rs
import pytest
from pydantic import BaseModel, Field, TypeAdapter

from halflap.contract import fraction, lint_ignore, output_schema, produces, unit
from halflap.contract.relations import IGNORE_KEYWORD

Id = Annotated[str, produces("customer"), Field(description="Unique identifier", min_length=1)]
Cents = Annotated[int, unit("USD cents"), Field(description="Revenue", ge=0)]


class Segment(StrEnum):
    SMALL = "smb"
    LARGE = "enterprise"


@dataclass
class Plain:
    customer_id: Id
    revenue: Cents
    growth: Annotated[float, fraction]
    segment: Segment
    last_order_date: date
    last_contact: datetime
    tags: list[Annotated[str, produces("tag")]]
    note: str | None = None


class Model(BaseModel):
    customer_id: Id
    revenue: Cents
    growth: Annotated[float, fraction]
    segment: Segment
    last_order_date: date
    last_contact: datetime
    tags: list[Annotated[str, produces("tag")]]
    note: str | None = None


VALUES: dict[str, Any] = {
    "customer_id": "C1",
    "revenue": 5,
    "growth": 0.15,
    "segment": Segment.SMALL,
    "last_order_date": date(2026, 6, 1),
    "last_contact": datetime(2026, 6, 1, 8, tzinfo=UTC),
    "tags": ["a"],
    "note": None,
}
SENT = {
    **VALUES,
    "segment": "smb",
    "last_order_date": "2026-06-01",
    "last_contact": "2026-06-01T08:00:00Z",
}


def resolved(schema: dict[str, Any], part: dict[str, Any]) -> dict[str, Any]:
    """Follow a reference."""
    if "$ref" not in part:
        return part
    found: dict[str, Any] = schema["$defs"][part["$ref"].rpartition("/")[2]]
    return found | {key: value for key, value in part.items() if key != "$ref"}


def check_fields(schema: dict[str, Any], of: dict[str, Any]) -> None:
    fields = of["properties"]
    assert of["type"] == "object"
    assert set(of["required"]) == set(VALUES)
    assert fields["customer_id"] == {
        "type": "string",
        "minLength": 1,
        "description": "Unique identifier",
        "x-halflap": {"produces": "customer"},
    }
    assert fields["revenue"]["description"] == "Revenue. Unit: USD cents."
    assert fields["revenue"]["x-halflap"] == {"unit": "USD cents"}
    assert fields["growth"]["description"] == "Unit: fraction (0.15 = 15%)."
    assert fields["last_order_date"]["format"] == "date"
    assert fields["last_contact"]["format"] == "date-time"
    assert fields["tags"]["items"]["x-halflap"] == {"produces": "tag"}
    assert sorted(resolved(schema, fields["segment"])["enum"]) == ["enterprise", "smb"]
    assert "title" not in str(schema)


@pytest.mark.parametrize("kind", [Plain, Model], ids=lambda kind: kind.__name__)
def test_every_kind_of_type_has_the_same_schema_and_json(kind: Any) -> None:
    schema = output_schema(kind)
    assert schema["$schema"].endswith("2020-12/schema")
    check_fields(schema, schema)
    value = TypeAdapter(kind).dump_python(kind(**VALUES), mode="json")
    assert value == SENT
    assert jsonschema_rs.Draft202012Validator(schema).is_valid(value)


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


class Noted(BaseModel):
    ignored: Annotated[str, lint_ignore("id-not-accepted", "It is for people.")]


def test_a_lint_rule_is_ignored_in_place_with_a_reason() -> None:
    assert output_schema(Noted)["properties"]["ignored"][IGNORE_KEYWORD] == {
        "id-not-accepted": "It is for people."
    }
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
