"""Values that JSON cannot express."""

from __future__ import annotations

import asyncio
import json
import math
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import pytest
from pydantic import BaseModel, ConfigDict

from halflap.contract import Contract, NotFound, tool_of
from halflap.contract.mcp import call_result

CONTRACT = Contract(source="crm")
NAN, ENDLESS = math.nan, math.inf


@dataclass
class Reading:
    at: str
    value: Any = None
    most: float | None = None


class Open(BaseModel):
    model_config = ConfigDict(extra="allow")
    at: str


def sent(kind: Any, value: Any) -> dict[str, Any]:
    def tool() -> Any:
        if isinstance(value, Exception):
            raise value
        return value

    tool.__annotations__["return"] = kind
    _, call = tool_of(tool, CONTRACT)
    answer = asyncio.run(call({}))

    def refuse(word: str) -> None:
        raise AssertionError(f"{word} is no JSON")

    assert json.loads(answer.text, parse_constant=refuse) == answer.structured
    over_the_wire = json.loads(call_result(answer).model_dump_json(by_alias=True, exclude_none=True))
    assert over_the_wire["structuredContent"] == answer.structured
    return answer.structured


@pytest.mark.parametrize(
    ("kind", "value", "path"),
    [
        (Any, {"a": NAN}, "data.a"),
        (dict[str, Any], {"a": [1, ENDLESS]}, "data.a[1]"),
        (dict, {"a": {"b": -ENDLESS}}, "data.a.b"),
        (list[Any], [NAN], "data[0]"),
        (list, [[NAN]], "data[0][0]"),
        (float, NAN, "data"),
        (list[float], [1.0, NAN], "data[1]"),
        (Reading, Reading("x", NAN), "data.value"),
        (Reading, Reading("x", Reading("y", [NAN])), "data.value.value[0]"),
        (Reading, Reading("x", None, NAN), "data.most"),
        (Open, Open(at="x", more=NAN), "data.more"),  # type: ignore[call-arg]
        (Decimal, Decimal("NaN"), "data"),
        (dict[str, Decimal], {"a": Decimal(1), "b": Decimal("-Infinity")}, "data.b"),
        (dict[float, int], {1.5: 1, NAN: 2}, "data.nan"),
        (dict[float, int], {-ENDLESS: 2}, "data['-inf']"),
        (dict[Decimal, int], {Decimal("NaN"): 2}, "data.NaN"),
        (str, "half \ud800", "data"),
        (list[Any], ["whole", {"a": "\udfff"}], "data[1].a"),
    ],
    ids=str,
)
def test_a_value_that_json_cannot_express_is_a_violation_with_its_path(
    kind: Any, value: Any, path: str
) -> None:
    error = sent(kind, value)["error"]
    assert error["code"] == "INTERNAL_ERROR"
    assert error["details"] == {"path": path}


def test_texts_and_nulls_are_fine() -> None:
    assert sent(Decimal, Decimal("1E+30"))["data"] == "1E+30"
    for value in ({"a": None, "b": "NaN"}, {"a": "Infinity"}):
        assert sent(dict[str, Any], value)["data"] == value


def test_in_the_details_of_an_error_they_become_texts() -> None:
    error = sent(int, NotFound("No.", details={"ratio": ENDLESS, "all": [NAN, -ENDLESS, 1.5]}))["error"]
    assert error["code"] == "NOT_FOUND"
    assert error["details"] == {"ratio": "Infinity", "all": ["NaN", "-Infinity", 1.5]}
