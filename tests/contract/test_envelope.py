"""Envelopes, errors and pages; tests/acceptance has what the seed fixes."""

from __future__ import annotations

from typing import Any

import jsonschema_rs
import pytest

import halflap.contract
from halflap.contract import (
    ErrorDetail,
    Page,
    Pagination,
    RateLimited,
    ResponseMetadata,
    ToolResponse,
    output_schema,
)

METADATA = ResponseMetadata(12, "crm", cached=True)
FITS = jsonschema_rs.Draft202012Validator(output_schema(ToolResponse[int])).is_valid


def test_the_exported_names_are_sorted_and_exist() -> None:
    assert list(halflap.contract.__all__) == sorted(halflap.contract.__all__)
    assert all(hasattr(halflap.contract, name) for name in halflap.contract.__all__)


def test_what_is_sent_is_valid() -> None:
    limited = RateLimited("x", retry_after_seconds=0).error
    for answer in (
        ToolResponse.of(5, METADATA),
        ToolResponse[Any].failed(ErrorDetail("NOT_FOUND", "No.", {"id": 1}), METADATA),
        ToolResponse[Any].failed(limited, METADATA),
    ):
        assert FITS(answer.to_json())


@pytest.mark.parametrize(
    "broken",
    [
        {"data": 5},
        {"metadata": None},
        {"error": {"code": "OTHER", "message": "No."}},
        {"error": {"code": "RATE_LIMITED", "message": "No."}},
        {"error": {"code": "NOT_FOUND", "message": "No.", "retry_after_seconds": 5}},
        {"metadata": {**METADATA.to_json(), "execution_time_ms": 1.5}},
    ],
    ids=str,
)
def test_what_breaks_the_rules_is_not(broken: dict[str, Any]) -> None:
    sent = ToolResponse[Any].failed(ErrorDetail("NOT_FOUND", "No."), METADATA).to_json()
    assert FITS(sent)
    assert not FITS({**sent, **broken})


def test_the_last_page_has_no_cursor() -> None:
    sent = ToolResponse.of(Page[int]([], Pagination(page_size=0, has_more=False)), METADATA).to_json()
    assert sent["data"]["pagination"] == {"page_size": 0, "has_more": False}
    assert jsonschema_rs.Draft202012Validator(output_schema(ToolResponse[Page[int]])).is_valid(sent)
    with pytest.raises(ValueError, match="next_cursor"):
        Pagination(page_size=1, has_more=True)
