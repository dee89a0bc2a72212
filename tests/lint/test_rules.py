"""The rules of the linter."""

from __future__ import annotations

import re
from typing import Any

import pytest

from halflap.config import LINT_RULES
from halflap.lint import RULES, Breach, Rule, Seen, lint, server_of
from halflap.lint.sample import TEXT, field, listed, record, tool
from halflap.schema import read_type
from lint.making import found, paths, report_of


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)
def test_every_rule_finds_its_bad_example_and_not_its_good_one(rule: Rule) -> None:
    bad = found(rule.id, *rule.bad.tools, seen=rule.bad.seen)
    assert bad
    assert found(rule.id, *rule.good.tools, seen=rule.good.seen) == []
    assert all(one.severity == rule.severity and one.message and one.fix for one in bad)
    assert {one.original_name for one in bad} <= {each["name"] for each in rule.bad.tools}
    assert all(one.tool.startswith("mcp__shop__") for one in bad)


def test_the_configuration_knows_the_same_rules() -> None:
    assert tuple(rule.id for rule in RULES) == LINT_RULES
    assert all(re.fullmatch(r"[a-z]+(-[a-z]+)*", rule.id) for rule in RULES)


def test_parameters_may_be_described_in_the_description_of_the_tool() -> None:
    plain = tool("load", record(path=field("string"), requestId=field("string"), mode=field("string")))
    said = "Load.\n\nArgs:\n    path (str): Where it is.\n        Example: /a/b\n    mode: How.\n\nReturns:\n    requestId: one"
    assert paths("parameter-without-description", plain) == ["input.path", "input.requestId", "input.mode"]
    assert paths("parameter-without-description", {**plain, "description": said}) == []
    assert paths("parameter-without-description", {**plain, "description": "Load. `path` is where."}) != []


IDENTIFIED = field("string", "An id.")


def test_inconsistent_ids_are_reported_where_fewer_tools_use_them() -> None:
    tools = [tool(name, record(customer_id=IDENTIFIED)) for name in ("get_invoice", "list_orders")]
    (one,) = found("entity-named-two-ways", *tools, tool("send_mail", record(clientId=IDENTIFIED)))
    assert (one.tool, one.path) == ("mcp__shop__send_mail", "input.clientId")


def test_ids_are_not_required_where_results_are_unknown() -> None:
    needs = tool("get_customer", record("customer_id", customer_id=IDENTIFIED))
    knows = tool("list_orders", None, record(orders=listed(record(order_id=IDENTIFIED))))
    assert paths("id-not-produced", needs, knows) == ["input.customer_id"]
    assert paths("id-not-produced", needs, knows, tool("list_customers")) == []
    assert paths("id-not-produced", needs, knows, tool("list_customers", None, {"type": "string"})) == []
    assert paths("id-not-produced", needs) == []


def test_an_id_returned_by_another_server_names_the_tool() -> None:
    needs = tool("get_customer", record("customer_id", customer_id=IDENTIFIED), record(name=TEXT))
    gives = tool("list_customers", None, record(customers=listed(record(customer_id=IDENTIFIED))))
    crm = server_of("crm", [gives])
    shop = server_of("shop", [needs, tool("ping", None, record(ok=field("boolean", "Whether.")))])
    (report,) = lint([shop, crm], only=["shop"]).servers
    (one,) = (each for each in report.findings if each.rule == "id-not-produced")
    assert "mcp__crm__list_customers" in one.message


def test_learned_outputs_count_where_nothing_is_declared() -> None:
    schema = {"type": "object", "properties": {"price": {"type": "number"}, "order_id": {"type": "string"}}}
    seen = Seen(observations=9, confidence=0.7, type=read_type(schema), schema=schema)
    tools = [tool("get_quote"), tool("get_order", record("order_id", order_id=IDENTIFIED), record(name=TEXT))]
    assert paths("number-without-unit", *tools, seen={"get_quote": seen}) == ["output.price"]
    assert paths("id-not-produced", *tools, seen={"get_quote": seen}) == []
    (one,) = found("no-output-schema", *tools, seen={"get_quote": seen})
    assert one.severity
    assert found("field-without-description", *tools, seen={"get_quote": seen}) == []


def test_a_wrapper_is_no_field() -> None:
    wrapped = record("result", result=listed(record(price=field("number", "What it costs."))))
    assert paths("number-without-unit", tool("list_prices", None, wrapped)) == ["output.result[].price"]
    assert paths("empty-output-schema", tool("list_prices", None, record("result", result={}))) == ["output"]


@pytest.mark.parametrize("schema", [{}, {"type": "object"}, {"type": "array"}])
def test_a_schema_that_names_nothing_is_empty(schema: Any) -> None:
    assert paths("empty-output-schema", tool("get_it", None, schema)) == ["output"]
    assert found("no-output-schema", tool("get_it", None, schema)) == []


@pytest.mark.parametrize(
    "schema", [{"type": "string"}, record("result", result={"type": "string"}), record(name=TEXT)]
)
def test_a_schema_that_names_a_type_or_field_is_not_empty(schema: Any) -> None:
    assert paths("empty-output-schema", tool("get_it", None, schema)) == []


def test_every_violation_is_a_finding() -> None:
    one = tool("get_it", None, record(name=TEXT, age=field("integer", "In years.")))
    seen = Seen(observations=5, breaches=(Breach("name", "string", 2), Breach("", "the key age", 1)))
    assert len(found("results-break-schema", one, seen={"get_it": seen})) == 2


def test_a_missing_envelope_is_reported_for_the_minority() -> None:
    data = record(name=TEXT)
    wrapped = record("success", success=field("boolean", "Whether."), data=data)
    many = [tool(f"get_{letter}", None, wrapped) for letter in "abc"]
    bare = [tool(f"list_{letter}", None, data) for letter in "xyz"]
    assert [one.tool for one in found("envelope-in-part", *many, bare[0])] == ["mcp__shop__list_x"]
    assert [one.tool for one in found("envelope-in-part", many[0], *bare)] == ["mcp__shop__get_a"]
    assert found("envelope-in-part", *many, tool("list_unknown")) == []


@pytest.mark.parametrize(
    ("hint", "is_found"), [({"destructiveHint": False}, False), ({"destructiveHint": True}, False)]
)
def test_a_destructive_hint_is_enough(hint: Any, is_found: bool) -> None:
    assert bool(found("destructive-not-annotated", tool("delete_note", annotations=hint))) is is_found


def test_limits_can_be_configured() -> None:
    from halflap.config import LintConfig  # noqa: PLC0415 -- for this test alone

    long = {**tool("x" * 30), "description": "y" * 100}
    rules = [one.rule for one in report_of(long).findings]
    assert "name-too-long" not in rules
    assert "description-too-long" not in rules
    strict = report_of(long, config=LintConfig(max_name_length=20, max_description_bytes=50))
    assert {"name-too-long", "description-too-long"} <= {one.rule for one in strict.findings}
    prefixed = report_of(tool("x" * 15), config=LintConfig(max_name_length=20))
    assert "prefixed-name-too-long" in {one.rule for one in prefixed.findings}


@pytest.mark.parametrize(
    "taken", [{"properties": {}}, {"type": "array"}, {"type": ["object"]}, {"type": ["object", "null"]}]
)
def test_an_invalid_input_schema_is_reported(taken: Any) -> None:
    assert found("invalid-schema", {"name": "do_it", "description": "Do it.", "inputSchema": taken})
