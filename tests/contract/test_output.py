"""Output schemas of Python types."""

from __future__ import annotations

import sys
import typing
from collections.abc import Callable  # noqa: TC003 -- pydantic reads it
from dataclasses import InitVar, dataclass, field
from datetime import UTC, date, datetime
from enum import Enum, Flag, IntEnum, StrEnum
from typing import Annotated, Any, Generic, TypeVar

import jsonschema_rs
import pytest
import typing_extensions
from pydantic import BaseModel, Field

from halflap.contract import Page, ToolResponse, fraction, lint_ignore, output_schema, produces, unit
from halflap.contract.output import encoder_of
from halflap.lint.parts import IGNORE

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


class Typed(typing.TypedDict):
    customer_id: Id
    revenue: Cents
    growth: Annotated[float, fraction]
    segment: Segment
    last_order_date: date
    last_contact: datetime
    tags: list[Annotated[str, produces("tag")]]
    note: str | None


class Extended(typing_extensions.TypedDict):
    customer_id: Id
    revenue: Cents
    growth: Annotated[float, fraction]
    segment: Segment
    last_order_date: date
    last_contact: datetime
    tags: list[Annotated[str, produces("tag")]]
    note: str | None


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
        "description": "Unique identifier. Produces: customer.",
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


KINDS = [Plain, Model, Typed, Extended]


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_every_kind_of_type_has_the_same_schema_and_json(kind: Any) -> None:
    schema = output_schema(kind)
    assert schema["$schema"].endswith("2020-12/schema")
    check_fields(schema, schema)
    value = encoder_of(kind)(kind(**VALUES))
    assert value == SENT
    assert jsonschema_rs.Draft202012Validator(schema).is_valid(value)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_and_within_a_page_in_an_envelope(kind: Any) -> None:
    schema = output_schema(ToolResponse[Page[kind]])
    results = schema["oneOf"][0]["properties"]["data"]["properties"]["results"]
    check_fields(schema, resolved(schema, results["items"]))


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


T = TypeVar("T")


@dataclass
class Box(Generic[T]):
    inside: T
    title: str = "x"


def test_generic_types_and_fields_called_title() -> None:
    schema = output_schema(Box[int])
    assert schema["properties"] == {"inside": {"type": "integer"}, "title": {"type": "string"}}
    assert set(schema["required"]) == {"inside", "title"}


class Open(typing.TypedDict, total=False):
    name: typing_extensions.Required[str]
    inner: list[Typed]


def test_optional_keys_are_not_required() -> None:
    schema = output_schema(Open)
    assert schema["required"] == ["name"]


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="from Python 3.12 on there is nothing to refuse")
def test_an_unreadable_typed_dict_names_typing_extensions() -> None:
    @dataclass
    class Holder:
        inner: Typed

    with pytest.raises(TypeError, match=r"no JSON Schema of Holder: .* typing_extensions"):
        output_schema(Holder)


class Right(Flag):
    READ = 1
    WRITE = 2


@dataclass
class Made:
    seed: InitVar[int]
    rights: Right = Right.READ


def test_init_variables_are_left_out_and_flags_are_integers() -> None:
    schema = output_schema(Made)
    assert (list(schema["properties"]), schema["required"]) == (["rights"], ["rights"])
    value = encoder_of(Made)(Made(1, Right.READ | Right.WRITE))
    assert value == {"rights": 3}
    assert jsonschema_rs.is_valid(schema, value)


class Level(IntEnum):
    LOW = 1
    HIGH = 2


class Mixed(Enum):
    ONE = 1
    TWO = "two"


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        (dict[Level, int], {Level.LOW: 1}),
        (dict[Mixed, int], {Mixed.ONE: 1, Mixed.TWO: 2}),
        (dict[Right, int], {Right.READ: 1}),
    ],
    ids=str,
)
def test_keys_are_texts(kind: Any, value: Any) -> None:
    assert jsonschema_rs.is_valid(output_schema(kind), encoder_of(kind)(value))


@pytest.mark.parametrize("kind", [dict[tuple[str, str], int], list[dict[frozenset[str], int]]], ids=str)
def test_keys_that_json_cannot_express_are_refused(kind: Any) -> None:
    with pytest.raises(TypeError, match="keys"):
        output_schema(kind)


def test_a_type_without_a_schema_is_refused() -> None:
    class Odd:
        pass

    with pytest.raises(TypeError, match="Odd"):
        output_schema(Odd)


def test_a_field_without_a_schema_is_refused() -> None:
    @dataclass
    class Calls:
        back: Callable[[], int]

    with pytest.raises(TypeError, match="Calls"):
        output_schema(Calls)


@pytest.mark.parametrize("entity", ["", " ", "1x", "x" * 65, "a\nb", 5])
def test_entities_have_names(entity: Any) -> None:
    with pytest.raises(ValueError, match="name"):
        produces(entity)


@pytest.mark.parametrize("name", ["", "x" * 65, "a\nb", 5])
def test_units_have_names(name: Any) -> None:
    with pytest.raises(ValueError, match="name"):
        unit(name)


class Noted(BaseModel):
    ignored: Annotated[str, lint_ignore("id-not-accepted", "It is for people.")]


def test_a_lint_rule_is_ignored_in_place_with_a_reason() -> None:
    assert output_schema(Noted)["properties"]["ignored"][IGNORE] == {"id-not-accepted": "It is for people."}
    for rule, reason in (("", "x"), ("No Rule", "x"), ("a-rule", " ")):
        with pytest.raises(ValueError, match="lint_ignore"):
            lint_ignore(rule, reason)
