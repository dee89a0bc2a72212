"""Envelopes, errors and pages."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import jsonschema_rs
import pytest

import halflap.contract
from halflap.contract import (
    ErrorCode,
    ErrorDetail,
    Page,
    Pagination,
    RateLimited,
    ResponseMetadata,
    ToolResponse,
    output_schema,
)


@dataclass
class Customer:
    customer_id: str
    name: str


METADATA = ResponseMetadata(12, "crm", cached=True)
SCHEMA = output_schema(ToolResponse[Customer])
FITS = jsonschema_rs.Draft202012Validator(SCHEMA).is_valid


def test_the_exported_names_are_sorted_and_exist() -> None:
    assert list(halflap.contract.__all__) == sorted(halflap.contract.__all__)
    assert all(hasattr(halflap.contract, name) for name in halflap.contract.__all__)


def test_success_is_sent_as_data_and_metadata() -> None:
    assert ToolResponse.of(Customer("C1", "Acme"), METADATA).to_json() == {
        "success": True,
        "data": {"customer_id": "C1", "name": "Acme"},
        "metadata": {"execution_time_ms": 12, "source": "crm", "cached": True},
    }


def test_an_error_omits_data_and_keeps_metadata() -> None:
    error = ErrorDetail(ErrorCode.NOT_FOUND, "No such customer.", {"customer_id": "C9"})
    assert ToolResponse.failed(error, METADATA).to_json() == {
        "success": False,
        "metadata": {"execution_time_ms": 12, "source": "crm", "cached": True},
        "error": {"code": "NOT_FOUND", "message": "No such customer.", "details": {"customer_id": "C9"}},
    }


class TestSchema:
    def test_the_envelope_is_a_union_with_a_constant(self) -> None:
        assert SCHEMA["$schema"] == "https://json-schema.org/draft/2020-12/schema"
        assert SCHEMA["type"] == "object"
        good, bad = SCHEMA["oneOf"]
        assert good["required"] == ["success", "data", "metadata"]
        assert bad["required"] == ["success", "metadata", "error"]
        assert good["properties"]["success"]["const"] is True
        assert bad["properties"]["success"]["const"] is False
        assert good["properties"]["data"]["required"] == ["customer_id", "name"]
        error = bad["properties"]["error"]
        assert error["required"] == ["code", "message"]
        assert error["properties"]["code"]["enum"] == list(ErrorCode)

    def test_what_is_sent_is_valid(self) -> None:
        assert FITS(ToolResponse.of(Customer("C1", "Acme"), METADATA).to_json())
        assert FITS(ToolResponse[Any].failed(ErrorDetail("NOT_FOUND", "No."), METADATA).to_json())
        assert FITS(
            ToolResponse[Any].failed(RateLimited("x", retry_after_seconds=0).error, METADATA).to_json()
        )

    @pytest.mark.parametrize(
        "broken",
        [
            {"data": {"customer_id": "C1", "name": "x"}},
            {"metadata": None},
            {"code": "OTHER"},
            {"code": "RATE_LIMITED"},
            {"retry_after_seconds": 5},
            {"execution_time_ms": 1.5},
        ],
        ids=lambda one: next(iter(one)),
    )
    def test_what_breaks_the_rules_is_not(self, broken: dict[str, Any]) -> None:
        sent = ToolResponse[Any].failed(ErrorDetail("NOT_FOUND", "No."), METADATA).to_json()
        assert FITS(sent)
        for key, value in broken.items():
            place = sent["error"] if key in {"code", "retry_after_seconds"} else sent
            (sent["metadata"] if key == "execution_time_ms" else place)[key] = value
        assert not FITS(sent)


def test_a_page_is_sent_as_results_and_pagination() -> None:
    page = Page(
        [Customer("C1", "Acme")],
        Pagination(total_count=3, page_size=1, has_more=True, next_cursor="abc"),
    )
    assert ToolResponse.of(page).to_json()["data"] == {
        "results": [{"customer_id": "C1", "name": "Acme"}],
        "pagination": {"total_count": 3, "page_size": 1, "has_more": True, "next_cursor": "abc"},
    }


def test_the_last_page_has_no_cursor() -> None:
    page = Page[int]([], Pagination(page_size=0, has_more=False))
    sent = ToolResponse.of(page).to_json()
    assert sent["data"]["pagination"] == {"page_size": 0, "has_more": False}
    assert jsonschema_rs.Draft202012Validator(output_schema(ToolResponse[Page[int]])).is_valid(
        sent | {"metadata": METADATA.to_json()}
    )
    with pytest.raises(ValueError, match="next_cursor"):
        Pagination(page_size=1, has_more=True)
