"""Tools without a framework."""

from __future__ import annotations

import asyncio
import threading
from typing import Annotated, Any

from pydantic import Field

from halflap.contract import Contract, NotFound, consumes, tool_of

CONTRACT = Contract(source="crm")


def known(name: str) -> str:
    if name == "gone":
        raise NotFound("There is no such customer.")
    return {"a": name}[name]


def test_the_definition_of_a_tool() -> None:
    def order_history(
        customer_id: Annotated[str, consumes("customer"), Field(description="Who")],
        limit: int = 10,
        context: Any = None,
    ) -> dict[str, Any]:
        """Get the orders."""
        return {"customer_id": customer_id, "total": limit + context}

    definition, call = tool_of(
        order_history, CONTRACT, context="context", annotations={"readOnlyHint": True}, meta={"a": 1}
    )
    assert definition["name"] == "order_history"
    assert definition["description"] == "Get the orders."
    assert definition["annotations"] == {"readOnlyHint": True}
    assert definition["_meta"] == {"a": 1}
    taken = definition["inputSchema"]["properties"]
    assert list(taken) == ["customer_id", "limit"]
    assert taken["customer_id"]["description"] == "Who"
    assert taken["customer_id"]["x-halflap"] == {"consumes": "customer"}
    assert definition["inputSchema"]["required"] == ["customer_id"]
    found = asyncio.run(call({"customer_id": "C1"}, 5))
    assert found.structured["data"]["total"] == 15


def test_wrong_arguments_are_reported_with_their_path() -> None:
    def tool(copy: int, model_dump: str = "") -> int:
        return copy + len(model_dump)

    _, call = tool_of(tool, CONTRACT)
    assert asyncio.run(call({"copy": 2, "model_dump": "ab"})).structured["data"] == 4
    error = asyncio.run(call({"copy": "x", "other": 1})).structured["error"]
    assert error["code"] == "INVALID_QUERY"
    assert {one["path"] for one in error["details"]["problems"]} == {"copy", "other"}
    assert "copy: " in error["message"]


def test_a_sync_function_does_not_block_the_loop() -> None:
    def tool() -> str:
        return threading.current_thread().name

    _, call = tool_of(tool, CONTRACT)
    assert asyncio.run(call({})).structured["data"] != threading.main_thread().name
