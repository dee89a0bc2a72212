"""Tools under a contract: errors, metadata, validation."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Any

import pytest
from pydantic import BaseModel, Field

from halflap.contract import (
    Answer,
    Contract,
    ContractError,
    ErrorCode,
    ErrorDetail,
    NotFound,
    RateLimited,
    ToolResponse,
    invariant,
    tool_of,
)


class SalesCode(StrEnum):
    CREDIT_HOLD = "CREDIT_HOLD"


class CreditHold(ContractError):  # noqa: N818 -- as authors write it
    code = SalesCode.CREDIT_HOLD


@dataclass
class Report:
    customer_id: str
    total_revenue: float
    lines: list[dict[str, int]] | None = None


class Counted(BaseModel):
    count: Annotated[int, Field(ge=0)]


CONTRACT = Contract(
    source="crm",
    codes=SalesCode,
    errors={
        KeyError: ErrorCode.NOT_FOUND,
        ZeroDivisionError: (ErrorCode.INVALID_QUERY, "There is nothing to divide by."),
        ConnectionError: lambda _: RateLimited("The store is busy.", retry_after_seconds=7),
        LookupError: lambda _: None,  # type: ignore[dict-item,return-value]
    },
)


def answer(function: Any, contract: Contract = CONTRACT, **settings: Any) -> dict[str, Any]:
    _, call = tool_of(function, contract, **settings)
    found: Answer = asyncio.run(call({}))
    assert json.loads(found.text) == found.structured
    return found.structured


def raising(error: BaseException) -> Any:
    def tool() -> Report:
        raise error

    return tool


def error_for(error: BaseException, contract: Contract = CONTRACT) -> dict[str, Any]:
    sent = answer(raising(error), contract)
    assert sent["success"] is False
    assert "data" not in sent
    assert sent["metadata"]["source"] == "crm"
    found: dict[str, Any] = sent["error"]
    return found


class TestErrors:
    @pytest.mark.parametrize(
        ("error", "code"),
        [
            (NotFound("x"), "NOT_FOUND"),
            (CreditHold("x"), "CREDIT_HOLD"),
            (ContractError("x", code=SalesCode.CREDIT_HOLD), "CREDIT_HOLD"),
            (ContractError("x"), "INTERNAL_ERROR"),
        ],
        ids=str,
    )
    def test_contract_errors_keep_their_code_and_message(self, error: ContractError, code: str) -> None:
        assert error_for(error) == {"code": code, "message": "x"}

    def test_details_and_retry_time_go_along(self) -> None:
        assert error_for(NotFound("No.", details={"id": 5}))["details"] == {"id": 5}
        assert error_for(RateLimited("Slower.", retry_after_seconds=3))["retry_after_seconds"] == 3

    def test_well_known_exceptions_have_a_code_and_keep_their_text_private(self) -> None:
        assert error_for(TimeoutError("on host db7"))["code"] == "TIMEOUT"
        told = error_for(PermissionError(13, "denied", "/etc/secret"))
        assert told["code"] == "PERMISSION_DENIED"
        assert "secret" not in str(told)

    def test_the_authors_table_maps_exceptions(self) -> None:
        assert error_for(KeyError("k"))["code"] == "NOT_FOUND"
        assert error_for(ZeroDivisionError())["message"] == "There is nothing to divide by."
        assert error_for(ConnectionResetError())["retry_after_seconds"] == 7

    def test_a_table_that_fails_leaves_an_internal_error(self, caplog: pytest.LogCaptureFixture) -> None:
        def fails(_: Exception) -> ContractError:
            raise RuntimeError("of all things")

        told = error_for(ValueError("x"), Contract(source="crm", errors={ValueError: fails}))
        assert told["code"] == "INTERNAL_ERROR"
        assert "of all things" in caplog.text

    @pytest.mark.parametrize(
        ("error", "path"),
        [
            (CreditHold("x"), "error.code"),
            (ContractError("x", code=ErrorCode.RATE_LIMITED), "error"),
            (NotFound("x", retry_after_seconds=3), "error"),
            (NotFound(""), "error.message"),
        ],
    )
    def test_an_error_that_breaks_the_contract_is_a_violation(self, error: Exception, path: str) -> None:
        told = error_for(error, Contract(source="crm"))
        assert told["code"] == "INTERNAL_ERROR"
        assert told["details"] == {"path": path}

    def test_cancelling_passes_through(self) -> None:
        async def slow() -> Report:
            await asyncio.sleep(60)
            return Report("C1", 0)

        async def cancelled() -> None:
            _, call = tool_of(slow, CONTRACT)
            task = asyncio.ensure_future(call({}))
            await asyncio.sleep(0.01)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task

        asyncio.run(cancelled())


class TestMistakesOfTheAuthor:
    @pytest.mark.parametrize(
        "errors",
        [
            {KeyError: "GONE"},
            {KeyError: ErrorCode.RATE_LIMITED},
        ],
        ids=["unknown", "limited"],
    )
    def test_an_invalid_table_is_refused(self, errors: Any) -> None:
        with pytest.raises((ValueError, TypeError), match=r"errors|code"):
            Contract(source="crm", errors=errors)

    def test_a_tool_needs_a_return_type(self) -> None:
        def tool():  # type: ignore[no-untyped-def]  # noqa: ANN202
            return 5

        with pytest.raises(TypeError, match="tool"):
            tool_of(tool, CONTRACT)

    @pytest.mark.parametrize("path", ["", "a..b", "a[0]", "[", "a."])
    def test_an_invalid_path_is_refused(self, path: str) -> None:
        with pytest.raises(ValueError, match="path"):
            invariant(path, bool)


class TestMetadata:
    def test_the_function_can_answer_with_an_error(self) -> None:
        def tool() -> ToolResponse[int]:
            return ToolResponse.failed(ErrorDetail(ErrorCode.NOT_FOUND, "No."))

        assert answer(tool)["error"] == {"code": "NOT_FOUND", "message": "No."}


RULES = [
    invariant("total_revenue", lambda value: value >= 0, "revenue is not negative"),
    invariant("customer_id", lambda value: value != "", "a customer has an id"),
    invariant("lines[].cents", lambda value: value < 10, "lines are small"),
    invariant("$", lambda report: report["customer_id"] != report["total_revenue"], "they differ"),
]


def broken(report: Any, caplog: pytest.LogCaptureFixture) -> tuple[str, str]:
    def tool() -> Report:
        found: Report = report
        return found

    sent = answer(tool, invariants=RULES)
    assert sent["error"]["code"] == "INTERNAL_ERROR"
    path = sent["error"]["details"]["path"]
    assert f" at {path}." in sent["error"]["message"]
    return path, caplog.text


class TestOutput:
    def test_a_violated_invariant_names_the_path_and_logs_the_rest(
        self, caplog: pytest.LogCaptureFixture
    ) -> None:
        path, log = broken(Report("C1", -77.0), caplog)
        assert path == "data.total_revenue"
        assert "revenue is not negative" in log

    def test_a_value_of_another_type_is_a_violation(self, caplog: pytest.LogCaptureFixture) -> None:
        path, log = broken(Report("C1", "lots of secrets"), caplog)  # type: ignore[arg-type]
        assert path == "data.total_revenue"
        assert "lots of secrets" in log


@pytest.mark.parametrize(
    ("kind", "value"),
    [(list[float], [1.0, float("inf")]), (str, "half \ud800"), (dict[str, Any], {"at": object()})],
)
def test_values_that_json_cannot_express_are_a_violation(kind: Any, value: Any) -> None:
    def tool() -> Any:
        return value

    tool.__annotations__["return"] = kind
    assert answer(tool)["error"]["details"] == {"path": "data"}
