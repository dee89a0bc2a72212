"""Tools under a contract without a framework: definitions, errors, and what is checked before an answer is sent."""

from __future__ import annotations

import asyncio
import json
import threading
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Any

import pytest
from pydantic import Field

from halflap.contract import (
    Contract,
    ContractError,
    ErrorCode,
    ErrorDetail,
    NotFound,
    RateLimited,
    ToolResponse,
    consumes,
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


def fails(_: Exception) -> ContractError:
    raise RuntimeError("of all things")


CONTRACT = Contract(
    source="crm",
    codes=SalesCode,
    errors={
        KeyError: ErrorCode.NOT_FOUND,
        ZeroDivisionError: (ErrorCode.INVALID_QUERY, "There is nothing to divide by."),
        ConnectionError: lambda _: RateLimited("The store is busy.", retry_after_seconds=7),
        ValueError: fails,
    },
)
RULES = [
    invariant("total_revenue", lambda value: value >= 0, "revenue is not negative"),
    invariant("lines[].cents", lambda value: value < 10, "lines are small"),
    invariant("$", lambda report: report["customer_id"] != report["total_revenue"], "they differ"),
]


def answer(function: Any, contract: Contract = CONTRACT, **settings: Any) -> dict[str, Any]:
    found = asyncio.run(tool_of(function, contract, **settings)[1]({}))
    assert json.loads(found.text) == found.structured
    structured: dict[str, Any] = found.structured
    return structured


def error_for(error: BaseException, contract: Contract = CONTRACT) -> dict[str, Any]:
    def tool() -> Report:
        raise error

    sent = answer(tool, contract)
    assert (sent["success"], "data" in sent, sent["metadata"]["source"]) == (False, False, "crm")
    found: dict[str, Any] = sent["error"]
    return found


@pytest.mark.parametrize(
    ("error", "sent"),
    [
        (NotFound("x", details={"id": 5}), {"code": "NOT_FOUND", "message": "x", "details": {"id": 5}}),
        (CreditHold("x"), {"code": "CREDIT_HOLD", "message": "x"}),
        (ContractError("x", code=SalesCode.CREDIT_HOLD), {"code": "CREDIT_HOLD", "message": "x"}),
        (KeyError("k"), {"code": "NOT_FOUND", "message": "Not found."}),
        (ZeroDivisionError(), {"code": "INVALID_QUERY", "message": "There is nothing to divide by."}),
        (
            ConnectionResetError(),
            {"code": "RATE_LIMITED", "message": "The store is busy.", "retry_after_seconds": 7},
        ),
    ],
    ids=str,
)
def test_errors_have_their_code_and_message(error: Exception, sent: dict[str, Any]) -> None:
    assert error_for(error) == sent


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (TimeoutError("on host db7"), "TIMEOUT"),
        (PermissionError(13, "denied", "/etc/db7"), "PERMISSION_DENIED"),
        (RuntimeError("db7"), "INTERNAL_ERROR"),
        (ValueError("db7"), "INTERNAL_ERROR"),
    ],
)
def test_the_text_of_other_exceptions_stays_private(error: Exception, code: str) -> None:
    sent = error_for(error)
    assert (sent["code"], "db7" in str(sent)) == (code, False)


def test_an_error_that_breaks_the_contract_is_a_breach() -> None:
    sent = error_for(CreditHold("x"), Contract(source="crm"))
    assert (sent["code"], sent["details"]) == ("INTERNAL_ERROR", {"path": "error.code"})


def test_the_function_can_answer_with_an_error() -> None:
    def tool() -> ToolResponse[int]:
        return ToolResponse.failed(ErrorDetail(ErrorCode.NOT_FOUND, "No."))

    assert (answer(tool))["error"] == {"code": "NOT_FOUND", "message": "No."}


async def test_cancelling_passes_through() -> None:
    async def slow() -> int:
        await asyncio.sleep(60)
        return 1

    task = asyncio.ensure_future(tool_of(slow, CONTRACT)[1]({}))
    await asyncio.sleep(0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


@pytest.mark.parametrize("errors", [{KeyError: "GONE"}, {KeyError: ErrorCode.RATE_LIMITED}])
def test_an_invalid_table_is_refused(errors: Any) -> None:
    with pytest.raises(ValueError, match="errors"):
        Contract(source="crm", errors=errors)


def test_a_tool_needs_a_return_type() -> None:
    def tool():  # type: ignore[no-untyped-def]  # noqa: ANN202
        return 5

    with pytest.raises(TypeError, match="tool"):
        tool_of(tool, CONTRACT)


@pytest.mark.parametrize(
    ("report", "path", "logged"),
    [
        (Report("C1", -77.0), "data.total_revenue", "revenue is not negative"),
        (Report("C1", 1.0, [{"cents": 1}, {"cents": 90}]), "data.lines[1].cents", "lines are small"),
        (Report("C1", "lots of secrets"), "data.total_revenue", "lots of secrets"),  # type: ignore[arg-type]
    ],
)
def test_a_breach_names_the_path_and_only_the_log_has_the_rest(
    report: Report, path: str, logged: str, caplog: pytest.LogCaptureFixture
) -> None:
    def tool() -> Report:
        return report

    error = (answer(tool, invariants=RULES))["error"]
    assert (error["code"], error["details"]) == ("INTERNAL_ERROR", {"path": path})
    assert (logged in caplog.text, logged in error["message"]) == (True, False)


@pytest.mark.parametrize(
    ("kind", "value"),
    [(list[float], [1.0, float("inf")]), (str, "half \ud800"), (dict[str, Any], {"at": object()})],
)
def test_values_that_json_cannot_express_are_a_breach(kind: Any, value: Any) -> None:
    def tool() -> Any:
        return value

    tool.__annotations__["return"] = kind
    assert (answer(tool))["error"]["details"] == {"path": "data"}


def test_the_definition_of_a_tool() -> None:
    def order_history(
        customer_id: Annotated[str, consumes("customer"), Field(description="Who")],
        limit: int = 10,
        context: Any = None,
    ) -> dict[str, Any]:
        """Get the orders."""
        return {"customer_id": customer_id, "total": limit + context}

    about = {"annotations": {"readOnlyHint": True}, "meta": {"a": 1}}
    definition, call = tool_of(order_history, CONTRACT, context="context", **about)  # type: ignore[arg-type]
    assert (definition["name"], definition["description"]) == ("order_history", "Get the orders.")
    assert (definition["annotations"], definition["_meta"]) == ({"readOnlyHint": True}, {"a": 1})
    takes = definition["inputSchema"]
    assert (list(takes["properties"]), takes["required"]) == (["customer_id", "limit"], ["customer_id"])
    assert takes["properties"]["customer_id"]["x-halflap"] == {"consumes": "customer"}
    found = asyncio.run(call({"customer_id": "C1"}, 5))
    assert found.structured["data"]["total"] == 15


def test_wrong_arguments_are_reported_with_their_path() -> None:
    def tool(copy: int, model_dump: str = "") -> int:
        return copy + len(model_dump)

    _, call = tool_of(tool, CONTRACT)
    assert asyncio.run(call({"copy": 2, "model_dump": "ab"})).structured["data"] == 4
    error = asyncio.run(call({"copy": "x", "other": 1})).structured["error"]
    assert (error["code"], "copy: " in error["message"]) == ("INVALID_QUERY", True)
    assert {one["path"] for one in error["details"]["problems"]} == {"copy", "other"}


def test_a_sync_function_does_not_block_the_loop() -> None:
    def tool() -> str:
        return threading.current_thread().name

    assert (answer(tool))["data"] != threading.main_thread().name
