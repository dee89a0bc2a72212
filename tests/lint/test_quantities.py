"""The rule about numbers without a unit."""

from __future__ import annotations

from typing import Any

import pytest

from halflap.lint.sample import TEXT, record, tool
from lint.making import paths, taking

MEASURED: list[tuple[str, str, str, dict[str, Any]]] = [
    ("amount", "number", "", {}),
    ("timeout", "integer", "How long to wait.", {}),
    ("maxDuration", "number", "", {}),
    ("file_size", "integer", "How large it is.", {}),
    ("timeout", "number", "How long.", {"currency": TEXT}),
]
CLEAR: list[tuple[str, str, str, dict[str, Any]]] = [
    ("amount", "number", "In USD.", {}),
    ("amount", "number", "", {"currency": TEXT}),
    ("amount_cents", "integer", "", {}),
    ("timeoutSeconds", "integer", "", {}),
    ("order_count", "integer", "", {}),
    ("user_id", "integer", "", {}),
    ("latitude", "number", "", {}),
    ("page_size", "integer", "", {}),
]


@pytest.mark.parametrize(("name", "kind", "said", "beside"), MEASURED)
def test_a_number_that_measures_something_needs_a_unit(name: str, kind: str, said: str, beside: Any) -> None:
    assert paths("number-without-unit", taking(name, kind, said, beside)) == [f"input.{name}"]


@pytest.mark.parametrize(("name", "kind", "said", "beside"), CLEAR)
def test_a_number_with_a_unit_or_without_need_of_one_passes(
    name: str, kind: str, said: str, beside: Any
) -> None:
    assert paths("number-without-unit", taking(name, kind, said, beside)) == []


def test_the_unit_may_be_a_keyword_of_the_schema() -> None:
    for said in ({"x-unit": "USD cents"}, {"x-halflap": {"unit": "USD cents"}}):
        amount = {"type": "integer", **said}
        assert paths("number-without-unit", tool("do_it", record(amount=amount))) == []
