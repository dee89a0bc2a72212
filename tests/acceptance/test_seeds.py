"""Names, fields, texts, codes and defaults that the five founding documents prescribe literally."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, fields
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import pytest

import halflap
from acceptance.masks import structure
from acceptance.questions import LOAN
from acceptance.recordings import WORKSHOP
from halflap import contract

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine
    from pathlib import Path

    Run = Callable[[Coroutine[Any, Any, Any]], Any]

TEXT = {"type": "string"}
NUMBER = {"type": "number"}
INTEGER = {"type": "integer"}
OBJECT = {"type": "object"}


def definition(session: dict[str, Any], name: str) -> dict[str, Any]:
    return next(tool for tool in session["tools"] if tool["name"] == name)


def fields_of(session: dict[str, Any], tool: str, question: str) -> dict[str, Any]:
    found: dict[str, Any] = session["answers"][tool][question]["structuredContent"]
    return found


def text_of(session: dict[str, Any], tool: str, question: str) -> str:
    return str(session["answers"][tool][question]["content"][0]["text"])


# 000: inspecting a tool -------------------------------------------------------------------------------------


def test_inspect_tool_is_defined_to_the_letter(session: dict[str, Any]) -> None:
    tool = definition(session, "inspect_tool")
    assert tool["description"] == (
        "Returns the schema and description of a tool available in execute_program. Includes outputSchema if the "
        "upstream MCP server defines one. Call this before writing a script if you need to understand a tool's return "
        "format."
    )
    assert tool["inputSchema"] == {
        "type": "object",
        "properties": {
            "tool_name": {
                "type": "string",
                "description": "Namespaced tool name (e.g., mcp__financial_data__query_financials)",
            }
        },
        "required": ["tool_name"],
    }


def test_a_tool_that_declares_its_output_is_shown_with_it(session: dict[str, Any]) -> None:
    shown = fields_of(session, "inspect_tool", "declared output")
    assert list(shown)[:4] == ["name", "description", "inputSchema", "outputSchema"]
    assert shown["name"] == "mcp__financial_data__query_financials"
    assert shown["description"] == "Fetch income/balance/cashflow statements for a ticker."
    assert shown["outputSchema"]["items"]["properties"]["date"] == {"type": "string", "format": "date"}
    assert "note" not in shown


def test_a_tool_without_a_declared_output_has_null_and_the_note(session: dict[str, Any]) -> None:
    shown = fields_of(session, "inspect_tool", "undeclared output")
    assert list(shown)[:5] == ["name", "description", "inputSchema", "outputSchema", "note"]
    assert shown["outputSchema"] is None
    assert shown["note"] == (
        "No output schema defined by the upstream server. Inspect the return value in your script "
        "(e.g., print(type(result), result[:1])) to determine the structure."
    )


def test_an_unknown_tool_is_answered_in_one_line(session: dict[str, Any]) -> None:
    line = "[Tool not found] 'mcp__nonexistent__foo' is not available in execute_program"
    assert text_of(session, "inspect_tool", "not found") == line


def test_the_output_of_a_program_follows_one_fixed_line(session: dict[str, Any]) -> None:
    assert text_of(session, "execute_program", "prints") == "[Script executed successfully]\n3\nhello"


def test_what_was_printed_before_a_failure_is_kept(session: dict[str, Any]) -> None:
    assert text_of(session, "execute_program", "raises").splitlines()[:2] == [
        "[Script execution failed]",
        "before",
    ]


# 001: schemas in Python -------------------------------------------------------------------------------------


def test_a_schema_is_written_for_models_to_the_letter(run: Run) -> None:
    async def scenario() -> halflap.ToolSchema:
        async with halflap.Gateway.open({"servers": [WORKSHOP]}) as gateway:
            return await gateway.get_schema("mcp__workshop__read_file")

    schema = run(scenario())
    assert schema.format_for_llm() == (
        "Tool: mcp__workshop__read_file\n"
        "Description: Read contents of a file\n"
        "\n"
        "Parameters:\n"
        "- path (string, required): File path to read\n"
        "- encoding (string, optional): File encoding. Default: utf-8. Values: utf-8, ascii, latin-1"
    )
    assert schema.required_params == ["path"]
    assert schema.parameters[1] == halflap.Parameter(
        "encoding", "string", "File encoding", False, "utf-8", ["utf-8", "ascii", "latin-1"], has_default=True
    )
    assert schema.format_compact().startswith("mcp__workshop__read_file(path: string, encoding?: ")
    assert [problem.path for problem in schema.validate_arguments({"encoding": "utf-16"})] == [
        "path",
        "encoding",
    ]


def test_schemas_are_fetched_together_and_an_unknown_name_suggests_a_known_one(run: Run) -> None:
    async def scenario() -> halflap.ToolNotFoundError:
        async with halflap.Gateway.open({"servers": [WORKSHOP]}) as gateway:
            names = ["mcp__workshop__add", "mcp__workshop__echo"]
            assert list(await gateway.get_schemas(names)) == names
            with pytest.raises(halflap.ToolNotFoundError) as raised:
                await gateway.get_schema("mcp__workshop__raed_file")
            return raised.value

    error = run(scenario())
    assert (error.name, error.server) == ("mcp__workshop__raed_file", "workshop")
    assert list(error.suggestions) == ["mcp__workshop__read_file"]
    assert "mcp__workshop__echo" in error.available
    assert "mcp__workshop__read_file" in str(error)


def test_schemas_have_the_fields_of_the_document() -> None:
    assert [field.name for field in fields(halflap.Parameter)][:6] == [
        "name", "type", "description", "required", "default", "enum",
    ]  # fmt: skip
    assert [field.name for field in fields(halflap.ToolSchema)][:5] == [
        "tool_name", "description", "parameters", "required_params", "raw_schema",
    ]  # fmt: skip
    error = halflap.ToolNotFoundError("foo", "server", ["food"])
    assert (error.name, error.server, list(error.suggestions)) == ("foo", "server", ["food"])


def test_schemas_are_fresh_for_an_hour() -> None:
    assert halflap.Config().ttl.schema_seconds == 3600


# 002: composable outputs ------------------------------------------------------------------------------------


@dataclass
class Report:
    customer_id: str
    total_revenue: float


def report(customer_id: str) -> Report:
    """Report on a customer."""
    failures = {
        "unknown": contract.NotFound("There is no such customer."),
        "vague": contract.InvalidQuery("Name one customer."),
        "busy": contract.RateLimited("Too many requests.", retry_after_seconds=30),
        "private": contract.PermissionDenied("You may not see it."),
        "slow": contract.TimedOut("It took too long."),
    }
    if customer_id in failures:
        raise failures[customer_id]
    return Report(customer_id, -1 if customer_id == "negative" else 5)


REVENUE = contract.invariant("total_revenue", lambda revenue: revenue >= 0, "revenue is not negative")
DEFINITION, ANSWER = contract.tool_of(report, contract.Contract(source="book"), invariants=[REVENUE])


def envelope(customer_id: str) -> dict[str, Any]:
    return asyncio.run(ANSWER({"customer_id": customer_id})).structured


def test_a_success_is_an_envelope_with_data_and_metadata() -> None:
    answer = envelope("CUST-001")
    assert isinstance(answer["metadata"].pop("execution_time_ms"), int)
    assert answer == {
        "success": True,
        "data": {"customer_id": "CUST-001", "total_revenue": 5},
        "metadata": {"source": "book", "cached": False},
    }


@pytest.mark.parametrize(
    ("customer_id", "code"),
    [
        ("unknown", "NOT_FOUND"),
        ("vague", "INVALID_QUERY"),
        ("busy", "RATE_LIMITED"),
        ("private", "PERMISSION_DENIED"),
        ("slow", "TIMEOUT"),
    ],
)
def test_a_failure_is_an_envelope_with_a_code(customer_id: str, code: str) -> None:
    answer = envelope(customer_id)
    assert (answer["success"], "data" in answer, answer["error"]["code"]) == (False, False, code)
    assert answer["error"].get("retry_after_seconds") == (30 if code == "RATE_LIMITED" else None)


def test_an_answer_that_breaks_its_own_contract_is_not_sent() -> None:
    assert envelope("negative")["error"]["code"] not in {None, "NOT_FOUND", "INVALID_QUERY"}


def test_the_output_schema_tells_success_from_failure() -> None:
    success, failure = structure(DEFINITION["outputSchema"])["oneOf"]
    assert success["properties"]["success"] == {"const": True}
    assert {"success", "data"} <= set(success["required"])
    assert failure["properties"]["success"] == {"const": False}
    assert {"success", "error"} <= set(failure["required"])
    error = failure["properties"]["error"]
    assert error["required"] == ["code", "message"]
    assert error["properties"]["code"]["enum"][:5] == [
        "NOT_FOUND", "INVALID_QUERY", "RATE_LIMITED", "PERMISSION_DENIED", "TIMEOUT",
    ]  # fmt: skip
    assert {"details", "retry_after_seconds"} <= set(error["properties"])
    assert set(success["properties"]["metadata"]["properties"]) == {"execution_time_ms", "source", "cached"}


def test_a_page_says_how_to_get_the_next() -> None:
    cursors = contract.Cursors(max_page_size=2)
    page = cursors.page(["a", "b", "c"], cursor=None, size=2, query=["letters"])
    assert (page.results, page.pagination.total_count, page.pagination.page_size) == (["a", "b"], 3, 2)
    assert page.pagination.has_more
    last = cursors.page(["a", "b", "c"], cursor=page.pagination.next_cursor, size=2, query=["letters"])
    assert (last.results, last.pagination.has_more, last.pagination.next_cursor) == (["c"], False, None)
    names = {field.name for field in fields(contract.Pagination)}
    assert names == {"total_count", "page_size", "has_more", "next_cursor"}


def test_the_orders_of_the_top_customers_are_planned_from_field_to_argument(session: dict[str, Any]) -> None:
    (plan,) = fields_of(session, "suggest_workflow", "wanted tool")["suggestions"]
    assert plan["tools"] == ["mcp__sales__sales_top_customers", "mcp__sales__order_history"]
    first, second = plan["steps"]
    fed = second["arguments"]["customer_id"]
    assert (fed["from"], fed["step"], fed["path"]) == ("step", first["id"], "data.customers[].customer_id")
    assert second["fan_out"] == [{"step": first["id"], "path": "data.customers[]"}]
    assert second["paginates"] == {"from": "data.pagination.next_cursor", "to": "cursor"}
    assert plan["missing"] == []


def test_the_planned_program_gets_the_orders_of_every_top_customer(session: dict[str, Any]) -> None:
    ran = session["answers"]["execute_program"]["suggested"]
    first, *others = [call["tool"] for call in ran["_meta"]["halflap"]["calls"]]
    assert first == "mcp__sales__sales_top_customers"
    assert others == ["mcp__sales__order_history"] * len(others)
    printed = ran["content"][0]["text"]
    assert printed.startswith(
        '[Script executed successfully]\n[{"success":true,"data":{"results":[{"order_id":"ORD-'
    )


# 003: learning what tools return ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "schema"),
    [
        (None, {"type": "null"}),
        ("text", {"type": "string"}),
        (1, {"type": "integer"}),
        (1.5, {"type": "number"}),
        (True, {"type": "boolean"}),
        ([], {"type": "array"}),
        ([{"id": 1}], {"type": "array", "items": {"type": "object", "properties": {"id": INTEGER}}}),
        ({"id": 1}, {"type": "object", "properties": {"id": INTEGER}}),
    ],
    ids=repr,
)
def test_a_schema_is_inferred_from_a_value(value: Any, schema: dict[str, Any]) -> None:
    assert halflap.infer_schema_from_value(value) == schema


def test_nothing_is_inferred_from_what_json_cannot_have() -> None:
    assert halflap.infer_schema_from_value(object()) == {}


def test_merging_keeps_all_properties_and_requires_those_that_were_always_there() -> None:
    one, other = map(halflap.infer_schema_from_value, ({"id": 1, "email": "a"}, {"id": 2.5, "tags": ["new"]}))
    assert halflap.merge_schemas(one, other) == {
        "type": "object",
        "properties": {"id": NUMBER, "email": TEXT, "tags": {"type": "array", "items": TEXT}},
        "required": ["id"],
    }
    assert halflap.merge_schemas(TEXT, {"type": "null"})["type"] == ["null", "string"]


def test_results_that_pass_through_are_counted_and_merged(session: dict[str, Any]) -> None:
    shown = fields_of(session, "inspect_tool", "learned output")
    learned = shown["observedSchema"]
    assert (shown["outputSchema"], shown["observations"]) == (None, 3)
    assert learned["required"] == ["balance", "id", "name"]
    assert set(learned["properties"]) == {"balance", "email", "id", "name", "tags"}
    assert learned["properties"]["balance"] == NUMBER


def test_what_a_server_declares_is_never_replaced_by_what_was_learned(session: dict[str, Any]) -> None:
    shown = fields_of(session, "inspect_tool", "broken declaration")
    assert shown["outputSchema"]["properties"] == {"parts": INTEGER}
    assert shown["observedSchema"]["properties"] == {"parts": TEXT}


# 004: DSPy programs and workflows ---------------------------------------------------------------------------

DSPY_INPUTS = {
    "dspy_execute_program": {
        "type": "object",
        "required": ["program", "inputs"],
        "properties": {
            "program": {
                "type": "string",
                "description": "Program name: worklet_selector, resource_router, anomaly_forensics, runtime_adaptation",
            },
            "inputs": {
                "type": "object",
                "description": "Program-specific inputs matching the DSPy signature",
            },
        },
    },
    "dspy_list_programs": {"type": "object", "properties": {}},
    "dspy_get_program_info": {
        "type": "object",
        "required": ["program"],
        "properties": {"program": {"type": "string", "description": "Program name to get info for"}},
    },
    "dspy_reload_program": {
        "type": "object",
        "required": ["program"],
        "properties": {"program": {"type": "string", "description": "Program name to reload"}},
    },
}
DSPY_OUTPUTS = {
    "dspy_execute_program": {"_metadata": "execution_time_ms total_time_ms cache_hit program"},
    "dspy_list_programs": {
        "": "programs total_count",
        "programs": "name version predictor_count optimizer validation_score serialized_at",
    },
    "dspy_get_program_info": {
        "": "name version dspy_version source_hash optimizer validation_score serialized_at loaded_at predictors",
        "predictors": "name input_fields output_fields few_shot_example_count",
    },
    "dspy_reload_program": {"": "status name source_hash predictor_count loaded_at"},
}
PATTERNS = {"type": "array", "items": TEXT}
WEIGHT = {"type": "number", "minimum": 0, "maximum": 1}
GEPA_INPUTS = {
    "gepa_optimize_workflow": {
        "type": "object",
        "required": ["workflow_spec", "optimization_target"],
        "properties": {
            "workflow_spec": OBJECT,
            "optimization_target": {"type": "string", "enum": ["performance", "behavioral", "balanced"]},
            "constraints": OBJECT,
            "reference_patterns": PATTERNS,
        },
    },
    "gepa_validate_footprint": {
        "type": "object",
        "required": ["original_workflow", "optimized_workflow"],
        "properties": {
            "original_workflow": OBJECT,
            "optimized_workflow": OBJECT,
            "validation_mode": {"type": "string", "enum": ["strict", "balanced", "lenient"]},
        },
    },
    "gepa_score_workflow": {
        "type": "object",
        "required": ["workflow", "reference_patterns"],
        "properties": {
            "workflow": OBJECT,
            "reference_patterns": PATTERNS,
            "scoring_weights": {
                "type": "object",
                "properties": {"performance": WEIGHT, "maintainability": WEIGHT, "compliance": WEIGHT},
            },
        },
    },
}
CODES = ["PROGRAM_NOT_FOUND", "INVALID_INPUTS", "EXECUTION_ERROR", "TIMEOUT_ERROR", "CACHE_ERROR"]


@pytest.mark.parametrize("name", DSPY_INPUTS)
def test_a_dspy_tool_takes_what_its_document_says(session: dict[str, Any], name: str) -> None:
    assert definition(session, name)["inputSchema"] == DSPY_INPUTS[name]


@pytest.mark.parametrize("name", DSPY_OUTPUTS)
def test_a_dspy_tool_returns_what_its_document_says(session: dict[str, Any], name: str) -> None:
    schema = definition(session, name)["outputSchema"]
    for place, names in DSPY_OUTPUTS[name].items():
        declared = schema["properties"][place] if place else schema
        assert set(names.split()) <= set(declared.get("items", declared)["properties"])


@pytest.mark.parametrize("name", GEPA_INPUTS)
def test_a_gepa_tool_takes_what_its_document_says(session: dict[str, Any], name: str) -> None:
    assert structure(definition(session, name)["inputSchema"]) == GEPA_INPUTS[name]


def test_the_dspy_tools_declare_the_error_codes_of_their_document(session: dict[str, Any]) -> None:
    failure = definition(session, "dspy_execute_program")["outputSchema"]["anyOf"][1]
    assert failure["properties"]["code"]["enum"] == CODES
    assert failure["required"] == ["error", "code", "message"]


@pytest.mark.parametrize("tool", ["dspy_execute_program", "dspy_get_program_info", "dspy_reload_program"])
def test_an_unknown_program_is_answered_to_the_letter(session: dict[str, Any], tool: str) -> None:
    assert fields_of(session, tool, "not found") == {
        "error": True,
        "code": "PROGRAM_NOT_FOUND",
        "message": (
            "Program not found: unknown_program. Available programs: "
            "[anomaly_forensics, resource_router, runtime_adaptation, worklet_selector]"
        ),
    }


def test_empty_inputs_are_answered_to_the_letter(session: dict[str, Any]) -> None:
    assert fields_of(session, "dspy_execute_program", "no inputs") == {
        "error": True,
        "code": "INVALID_INPUTS",
        "message": "Parameter 'inputs' is required and must not be empty",
    }


def test_a_program_without_a_model_is_an_execution_error(session: dict[str, Any]) -> None:
    assert fields_of(session, "dspy_execute_program", "no model")["code"] == "EXECUTION_ERROR"


@pytest.mark.slow
@pytest.mark.skipif(find_spec("dspy") is None, reason="needs the extra: pip install 'halflap[dspy]'")
def test_a_program_returns_its_fields_and_metadata_and_the_second_time_from_the_cache(home: Path) -> None:
    from acceptance import sessions  # noqa: PLC0415 -- it loads the MCP library, which few tests need
    from dspy_programs.chat_server import chatting  # noqa: PLC0415

    outputs = {"worklet_id": "loan_standard", "rationale": "Standard loan process", "confidence": 0.94}
    said = {"deciding_rules": ["Small loans are standard."], "reasoning": "It is small.", **outputs}
    with chatting(lambda asked: {name: said[name] for name in asked.wanted}) as chat:
        lm = {"model": "openai/test", "api_base": chat.url, "api_key": "sk-test"}
        first, second = asyncio.run(sessions.execute_dspy(home, lm, "worklet_selector", LOAN, times=2))
    for found, is_cached in ((first, False), (second, True)):
        metadata = found.pop("_metadata")
        assert found == outputs
        assert list(metadata) == ["execution_time_ms", "total_time_ms", "cache_hit", "program"]
        assert (metadata["cache_hit"], metadata["program"]) == (is_cached, "worklet_selector")


@pytest.mark.slow
def test_a_workflow_that_takes_too_long_is_a_timeout_error(home: Path) -> None:
    from acceptance import sessions  # noqa: PLC0415 -- as above

    found = asyncio.run(sessions.validate_hard_workflow(home))
    assert (found["error"], found["code"]) == (True, "TIMEOUT_ERROR")


def test_independent_tasks_are_put_side_by_side_and_the_result_is_validated(session: dict[str, Any]) -> None:
    found = fields_of(session, "gepa_optimize_workflow", "faster")
    assert found["metrics"]["before"]["expected_makespan"] == 20
    assert found["metrics"]["after"]["expected_makespan"] == 10
    assert found["validation"]["validation_passed"] is True


def test_a_reloaded_program_says_so(session: dict[str, Any]) -> None:
    shown = fields_of(session, "dspy_reload_program", "found")
    assert (shown["status"], shown["name"]) == ("reloaded", "worklet_selector")
    assert len(shown["source_hash"]) == 64
