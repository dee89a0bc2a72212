from __future__ import annotations

import asyncio
from dataclasses import dataclass
from datetime import time, timedelta
from typing import Annotated, Any, Generic, NamedTuple, TypeVar

import jsonschema_rs
import msgspec
import pytest
import typing_extensions
from pydantic import BaseModel, Field

from halflap.contract import (
    Contract,
    Page,
    Pagination,
    fraction,
    lint_ignore,
    output_schema,
    produces,
    tool_of,
    unit,
)
from halflap.lint.parts import IGNORE

T = TypeVar("T")
Kilos = Annotated[int, unit("kg")]
Order = Annotated[str, produces("order")]


@dataclass
class Box:
    weight: Annotated[int, unit("kg"), Field(description="With all in it")]
    orders: list[Order]


class Typed(typing_extensions.TypedDict):
    weight: typing_extensions.NotRequired[Kilos]


class Pair(NamedTuple):
    weight: Kilos
    order: Order


class Row(msgspec.Struct, array_like=True, tag=True):
    weight: Kilos
    order: Order


class Of(msgspec.Struct, Generic[T]):
    value: T


class Heavy(msgspec.Struct, tag=True):
    weight: Kilos


class Bought(msgspec.Struct, tag=True):
    order: Order


class Same(msgspec.Struct):
    plain: Kilos
    whole: Annotated[int | None, unit("kg")]
    maybe: Kilos | None
    by_name: dict[str, Kilos]
    many: tuple[Kilos, ...]
    two: tuple[Kilos, Order]
    listed: list[Order] | None
    choice: Kilos | Order | None
    tagged: Heavy | Bought | None
    deep: dict[str, list[Kilos | None]]
    unset: Kilos | msgspec.UnsetType
    generic: Of[Kilos]
    box: Box
    boxes: list[Box] | None
    typed: Typed
    pair: Pair
    row: Row
    renamed: Kilos = msgspec.field(name="otherName", default=0)
    ignored: Annotated[str, lint_ignore("id-not-accepted", "It is for people.")] = ""


MAYBE = ("anyOf", 0)
KILOS, ORDER = {"unit": "kg"}, {"produces": "order"}


def at(schema: dict[str, Any], *path: Any) -> Any:
    """Follow a path of a schema, through references."""
    found: Any = schema
    for step in path:
        found = found[step]
        if isinstance(found, dict) and "$ref" in found:
            found = schema["$defs"][found["$ref"].removeprefix("#/$defs/")]
    return found


@pytest.mark.parametrize(
    ("path", "said"),
    [
        (["plain"], KILOS),
        (["whole"], KILOS),
        (["maybe", *MAYBE], KILOS),
        (["by_name", "additionalProperties"], KILOS),
        (["many", "items"], KILOS),
        (["two", "prefixItems", 0], KILOS),
        (["two", "prefixItems", 1], ORDER),
        (["listed", *MAYBE, "items"], ORDER),
        (["choice", "anyOf", 0], KILOS),
        (["choice", "anyOf", 1], ORDER),
        (["deep", "additionalProperties", "items", *MAYBE], KILOS),
        (["tagged", *MAYBE, "anyOf", 1, "properties", "order"], ORDER),
        (["unset"], KILOS),
        (["generic", "properties", "value"], KILOS),
        (["box", "properties", "weight"], KILOS),
        (["box", "properties", "orders", "items"], ORDER),
        (["boxes", *MAYBE, "items", "properties", "weight"], KILOS),
        (["typed", "properties", "weight"], KILOS),
        (["pair", "prefixItems", 1], ORDER),
        (["row", "prefixItems", 1], KILOS),
        (["row", "prefixItems", 2], ORDER),
        (["otherName"], KILOS),
    ],
    ids=str,
)
def test_marks_are_told_wherever_they_are_in_a_struct(path: list[Any], said: dict[str, str]) -> None:
    field = at(output_schema(Same), "properties", *path)
    assert field["x-halflap"] == said
    assert field["description"].endswith("Unit: kg." if said is KILOS else "Produces: order.")


def test_a_description_of_pydantic_s_is_one_there_too() -> None:
    weight = at(output_schema(Same), "properties", "box", "properties", "weight")
    assert weight["description"] == "With all in it. Unit: kg."


def test_what_is_said_of_a_struct_stands_with_its_own() -> None:
    root = output_schema(Annotated[Of[Order], Field(description="The root"), produces("thing")])
    assert root["description"] == "The root. Produces: thing."
    listed = output_schema(list[Annotated[Of[Order], Field(description="One of many")]])
    assert listed["items"]["description"] == "One of many"


class Model(BaseModel):
    ignored: Annotated[str, lint_ignore("id-not-accepted", "It is for people.")]


@pytest.mark.parametrize("kind", [Same, Model], ids=lambda kind: kind.__name__)
def test_what_the_linter_is_not_to_look_at_is_said_in_place(kind: Any) -> None:
    assert output_schema(kind)["properties"]["ignored"][IGNORE] == {"id-not-accepted": "It is for people."}


@pytest.mark.parametrize(
    ("rule", "reason"), [("", "x"), ("No Rule", "x"), ("a-rule", " "), (5, "x")], ids=str
)
def test_a_rule_is_ignored_by_its_id_and_with_a_reason(rule: Any, reason: str) -> None:
    with pytest.raises(ValueError, match="lint_ignore"):
        lint_ignore(rule, reason)


class Share(msgspec.Struct):
    share: Annotated[float, fraction]
    took: timedelta = timedelta(seconds=-1.5)
    most: float | None = None


def answered(kind: Any, value: Any) -> Any:
    def tool() -> Any:
        return value

    tool.__annotations__["return"] = kind
    definition, call = tool_of(tool, Contract(source="crm"))
    sent = asyncio.run(call({})).structured
    whole = jsonschema_rs.Draft202012Validator(definition["outputSchema"], validate_formats=True)
    assert whole.is_valid(sent)
    return sent.get("data", sent.get("error"))


PAGE = Page([Share(0.5)], Pagination(page_size=1, has_more=False))
SENT: dict[str, Any] = {
    "results": [{"share": 0.5, "took": "-PT1.5S", "most": None}],
    "pagination": {"page_size": 1, "has_more": False},
}


@pytest.mark.parametrize(
    ("kind", "value", "sent"),
    [
        (Page[Share], PAGE, SENT),
        (Page[Share] | None, PAGE, SENT),
        (Share | Page[Share], PAGE, SENT),
        (list[Page[Share]], [PAGE], [SENT]),
        (dict[str, Page[Share] | None], {"a": PAGE, "b": None}, {"a": SENT, "b": None}),
        (Share | None, None, None),
        (Share | Model, Model(ignored="x"), {"ignored": "x"}),
        (Share | Model, Share(0.5), SENT["results"][0]),
    ],
    ids=str,
)
def test_structs_are_sent_alike_wherever_they_are(kind: Any, value: Any, sent: Any) -> None:
    assert answered(kind, value) == sent


def test_a_number_that_json_has_no_word_for_does_not_become_null_in_a_struct() -> None:
    assert answered(Share, Share(0.5, most=float("nan")))["details"] == {"path": "data.most"}


def test_types_of_one_name_are_kept_apart() -> None:
    class Model(msgspec.Struct):
        weight: int

    both = output_schema(list[Model] | list[_model()])  # type: ignore[misc]
    kinds = {tuple(part["properties"]) for part in both["$defs"].values()}
    assert kinds == {("weight",), ("ignored",)}


def _model() -> Any:
    return Model


@dataclass
class Clock:
    took: Annotated[timedelta, Field(description="How long it took")]
    at: time


def test_what_a_format_does_not_allow_is_told_in_words_instead() -> None:
    fields = output_schema(Clock)["properties"]
    assert fields["took"] == {
        "type": "string",
        "description": "How long it took. An ISO 8601 duration, such as PT1.5S.",
    }
    assert fields["at"] == {"type": "string", "description": "An ISO 8601 time, such as 08:30:00."}
    assert answered(Clock, Clock(timedelta(days=-1), time(3, 4, 5))) == {"took": "-P1D", "at": "03:04:05"}


def test_a_format_that_the_author_declares_is_held() -> None:
    kind = Annotated[str, Field(json_schema_extra={"format": "time"})]
    assert answered(kind, "03:04:05Z") == "03:04:05Z"
    assert answered(kind, "03:04:05")["details"] == {"path": "data"}
