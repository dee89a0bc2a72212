from __future__ import annotations

import re
from typing import Any

import pytest

from halflap.config.linting import LINT_RULES
from halflap.lint import RULES, Breach, Rule, Seen, lint, server_of
from halflap.lint.sample import TEXT, field, listed, record, tool
from halflap.schema.types import read_type
from lint.making import found, paths, report_of


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)
def test_every_rule_finds_its_bad_example_and_not_its_good_one(rule: Rule) -> None:
    bad = found(rule.id, *rule.bad.tools, seen=rule.bad.seen)
    assert bad
    assert found(rule.id, *rule.good.tools, seen=rule.good.seen) == []
    assert all(one.severity == rule.severity and one.message and one.fix for one in bad)
    assert {one.original_name for one in bad} <= {each["name"] for each in rule.bad.tools}
    assert all(one.tool.startswith("mcp__shop__") for one in bad)


def test_the_configuration_knows_the_same_rules_in_the_same_order() -> None:
    assert tuple(rule.id for rule in RULES) == LINT_RULES
    assert all(re.fullmatch(r"[a-z]+(-[a-z]+)*", rule.id) for rule in RULES)


def test_parameters_may_be_described_in_the_description_of_the_tool() -> None:
    plain = tool("load", record(path=field("string"), requestId=field("string"), mode=field("string")))
    said = "Load.\n\nArgs:\n    path (str): Where it is.\n        Example: /a/b\n    mode: How.\n\nReturns:\n    requestId: one"
    assert paths("parameter-without-description", plain) == ["input.path", "input.requestId", "input.mode"]
    assert paths("parameter-without-description", {**plain, "description": said}) == []
    assert paths("parameter-without-description", {**plain, "description": "Load. `path` is where."}) != []


def test_what_is_in_a_parameter_may_describe_it() -> None:
    inner = record(name=field("string", "Its name."))
    assert paths("parameter-without-description", tool("create", record(entities=listed(inner, "")))) == []


def test_a_field_is_described_by_what_it_holds_and_a_constant_by_itself() -> None:
    held = record(name=field("string", "Its name."), kind={"const": "note"}, size=field("integer"))
    gives = record(notes=listed(held, ""), success=field("boolean"))
    assert paths("field-without-description", tool("list_notes", None, gives)) == ["output.notes[].size"]


def test_a_parameter_that_is_all_that_a_tool_is_about_describes_itself() -> None:
    one = {
        **tool("calculate", record(expression=field("string"))),
        "description": "Evaluates the given expression.",
    }
    assert paths("parameter-without-description", one) == []


IDENTIFIED = field("string", "An id.")


def test_ids_written_in_another_way_are_found_where_fewer_tools_write_them_so() -> None:
    tools = [tool(name, record(customer_id=IDENTIFIED)) for name in ("get_invoice", "list_orders")]
    (one,) = found("entity-named-two-ways", *tools, tool("send_mail", record(clientId=IDENTIFIED)))
    assert (one.tool, one.path) == ("mcp__shop__send_mail", "input.clientId")
    assert one.fix == "Rename input.clientId of send_mail to `customer_id`."


def test_an_id_alone_is_that_of_what_the_tool_is_about() -> None:
    tools = [tool("getStory", record(id=IDENTIFIED)), tool("getComments", record(storyId=IDENTIFIED))]
    assert paths("entity-named-two-ways", *tools) == ["input.id"]
    assert paths("entity-named-two-ways", tool("getUser", record(id=IDENTIFIED)), tools[1]) == []


def test_no_id_is_to_be_renamed_to_one_that_stands_beside_it() -> None:
    tools = [
        tool("get_user", record(id=IDENTIFIED, user_id=IDENTIFIED)),
        tool("list_orders", record(user_id=IDENTIFIED)),
    ]
    assert paths("entity-named-two-ways", *tools) == []
    assert paths("entity-named-two-ways", tool("get_user", record(id=IDENTIFIED)), tools[1]) == ["input.id"]


@pytest.mark.parametrize("other", ["user_ids", "user_name", "owner_id"])
def test_lists_attributes_and_roles_are_no_other_way_to_name_it(other: str) -> None:
    fields: dict[str, Any] = {other: IDENTIFIED}
    tools = [tool("get_user", record(user_id=IDENTIFIED)), tool("find_users", record(**fields))]
    assert paths("entity-named-two-ways", *tools) == []


def test_an_id_is_not_looked_for_where_results_are_not_known() -> None:
    needs = tool("get_customer", record("customer_id", customer_id=IDENTIFIED))
    knows = tool("list_orders", None, record(orders=listed(record(order_id=IDENTIFIED))))
    assert paths("id-not-produced", needs, knows) == ["input.customer_id"]
    assert paths("id-not-produced", needs, knows, tool("list_customers")) == []
    assert paths("id-not-produced", needs, knows, tool("list_customers", None, {"type": "string"})) == []
    assert paths("id-not-produced", needs) == []


@pytest.mark.parametrize(
    ("said", "is_found"),
    [
        ("The customer's id.", True),
        ("The id of the user.", True),
        ("The account to transfer it from.", True),
        ("Ask the user for it.", False),
        ("From the URL of the page.", False),
        ("The id in the URL of the customer's page.", False),
        ("Found in the settings of the shop.", False),
        ("Get it with the command `crm list`.", False),
        ("Provided by the person.", False),
        ("从bing_search返回的结果ID", False),
    ],
)
def test_an_id_whose_description_says_where_it_is_from_needs_no_tool(said: str, is_found: bool) -> None:
    needs = tool("get_customer", record("customer_id", customer_id=field("string", said)))
    knows = tool("list_orders", None, record(orders=listed(record(order_id=IDENTIFIED))))
    assert bool(found("id-not-produced", needs, knows)) is is_found


def test_an_id_that_a_tool_took_and_returns_leads_nowhere_and_need_not() -> None:
    other = tool("list_things", None, record(thing=TEXT))
    for name in ("order_id", "id"):
        taken: dict[str, Any] = {name: IDENTIFIED}
        gives = record(data=record(order_id=IDENTIFIED, name=TEXT))
        assert found("id-not-accepted", tool("get_order", record(name, **taken), gives), other) == []
        others = record(customers=listed(record(id=IDENTIFIED)))
        assert paths("id-not-accepted", tool("get_order", record(name, **taken), others), other) == [
            "output.customers[].id"
        ]


def test_an_id_in_a_record_of_the_thing_is_joined_and_so_no_other_name() -> None:
    lists = tool("list_customers", None, record(customers=listed(record(id=IDENTIFIED))))
    takes = tool(
        "list_orders",
        record("customer_id", customer_id=IDENTIFIED),
        record(count=field("integer", "How many.")),
    )
    rules = {one.rule for one in report_of(lists, takes).findings}
    assert not rules & {"entity-named-two-ways", "id-not-accepted", "id-not-produced"}


def test_an_id_that_another_server_returns_is_told_with_the_tool() -> None:
    needs = tool("get_customer", record("customer_id", customer_id=IDENTIFIED), record(name=TEXT))
    gives = tool("list_customers", None, record(customers=listed(record(customer_id=IDENTIFIED))))
    crm = server_of("crm", [gives])
    shop = server_of("shop", [needs, tool("ping", None, record(ok=field("boolean", "Whether.")))])
    (report,) = lint([shop, crm], only=["shop"]).servers
    (one,) = (each for each in report.findings if each.rule == "id-not-produced")
    assert "Another server has it: `mcp__crm__list_customers`" in one.message


def test_what_was_learned_counts_where_nothing_is_declared() -> None:
    schema = {"type": "object", "properties": {"price": {"type": "number"}, "order_id": {"type": "string"}}}
    seen = Seen(observations=9, confidence=0.7, type=read_type(schema), schema=schema)
    tools = [tool("get_quote"), tool("get_order", record("order_id", order_id=IDENTIFIED), record(name=TEXT))]
    assert paths("number-without-unit", *tools, seen={"get_quote": seen}) == ["output.price"]
    assert paths("id-not-produced", *tools, seen={"get_quote": seen}) == []
    (one,) = found("no-output-schema", *tools, seen={"get_quote": seen})
    assert one.patch == {"outputSchema": schema}
    assert found("field-without-description", *tools, seen={"get_quote": seen}) == []


def test_a_wrapper_is_no_field_and_its_name_is_in_the_path() -> None:
    wrapped = record("result", result=listed(record(price=field("number", "What it costs."))))
    assert paths("number-without-unit", tool("list_prices", None, wrapped)) == ["output.result[].price"]
    assert paths("empty-output-schema", tool("list_prices", None, record("result", result={}))) == ["output"]


@pytest.mark.parametrize(
    "schema",
    [
        {},
        {"type": "object"},
        {"type": "array"},
        record("result", result={"type": "object"}),
        {"anyOf": [{"type": "object"}, {"type": "null"}]},
        record(data={"type": "array"}),
        record(data={"type": "array", "items": {"type": "object"}}),
    ],
)
def test_a_schema_that_names_nothing_is_empty(schema: Any) -> None:
    assert paths("empty-output-schema", tool("get_it", None, schema)) == ["output"]
    assert found("no-output-schema", tool("get_it", None, schema)) == []


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "string"},
        record("result", result={"type": "string"}),
        record(name=TEXT),
        record(data=listed(TEXT)),
        record(data=listed(record(name=TEXT))),
        record(settings={"type": "object"}),
        record(data={"type": "array"}, total=field("integer", "How many.")),
    ],
)
def test_a_schema_that_names_a_type_or_a_field_is_none(schema: Any) -> None:
    assert paths("empty-output-schema", tool("get_it", None, schema)) == []


def test_a_field_that_says_nothing_of_what_is_in_it_is_named() -> None:
    (one,) = found("empty-output-schema", tool("get_it", None, record("result", result={})))
    assert one.message == "The output schema of get_it says nothing of what is in `result`."
    (one,) = found("empty-output-schema", tool("get_it", None, {"type": "object"}))
    assert one.message == "The output schema of get_it names no field and no type."


def test_every_breach_is_a_finding_of_its_own() -> None:
    one = tool("get_it", None, record(name=TEXT, age=field("integer", "In years.")))
    seen = Seen(observations=5, breaches=(Breach("name", "string", 2), Breach("", "the key age", 1)))
    messages = [each.message for each in found("results-break-schema", one, seen={"get_it": seen})]
    assert messages == [
        "Results of get_it broke what it declares, 2 times: name should be string.",
        "Results of get_it broke what it declares, once: the result should be the key age.",
    ]


@pytest.mark.parametrize(
    ("said", "is_found"),
    [
        ("Returns the moves or a string with an error message.", True),
        ("Returns an error message if it is missing.", True),
        ("Handles encodings and provides detailed error messages if the file cannot be read.", False),
        ("Explain an error message.", False),
    ],
)
def test_errors_may_be_described_to_be_told_as_text(said: str, is_found: bool) -> None:
    assert bool(found("error-as-text", {**tool("do_it"), "description": said})) is is_found


def test_the_envelope_is_missed_by_the_few() -> None:
    data = record(name=TEXT)
    wrapped = record("success", success=field("boolean", "Whether."), data=data)
    many = [tool(f"get_{letter}", None, wrapped) for letter in "abc"]
    bare = [tool(f"list_{letter}", None, data) for letter in "xyz"]
    assert [one.tool for one in found("envelope-in-part", *many, bare[0])] == ["mcp__shop__list_x"]
    assert [one.tool for one in found("envelope-in-part", many[0], *bare)] == ["mcp__shop__get_a"]
    assert found("envelope-in-part", *many, tool("list_unknown")) == []


@pytest.mark.parametrize(
    ("name", "rules"),
    [
        ("get_note", {"read-only-not-annotated"}),
        ("note_search", {"read-only-not-annotated"}),
        ("shop_list_notes", {"read-only-not-annotated"}),
        ("create_note", set()),
        ("get_or_create_note", set()),
        ("delete_note", {"destructive-not-annotated"}),
        ("remove_background", set()),
        ("remove_noise_from_audio", set()),
        ("remove_background_job", {"destructive-not-annotated"}),
        ("kill_switch_status", set()),
        ("kill_process", {"destructive-not-annotated"}),
        ("truncate_text", set()),
        ("truncate_table", {"destructive-not-annotated"}),
        ("delete_whitespace", set()),
        ("drop_pin", set()),
        ("drop_table", {"destructive-not-annotated"}),
        ("reset_view", set()),
        ("reset_view_data", {"destructive-not-annotated"}),
        ("list_deleted_notes", {"read-only-not-annotated"}),
        ("notes", set()),
    ],
)
def test_what_a_tool_does_is_its_verb(name: str, rules: set[str]) -> None:
    one = {**tool(name), "description": "Notes."}
    assert {each.rule for each in report_of(one).findings if "annotat" in each.rule} == rules


def test_where_the_name_has_no_verb_the_description_begins_with_it() -> None:
    one = {**tool("git_log"), "description": "Shows the commit logs"}
    assert found("read-only-not-annotated", one)
    assert not found("read-only-not-annotated", {**one, "description": "Records changes"})


@pytest.mark.parametrize(
    ("hint", "is_found"),
    [
        ({"destructiveHint": False}, False),
        ({"destructiveHint": True}, False),
        ({"readOnlyHint": True}, False),
        ({"readOnlyHint": False}, True),
        ({"title": "Delete"}, True),
    ],
)
def test_an_annotation_that_says_whether_it_destroys_is_enough(hint: Any, is_found: bool) -> None:
    assert bool(found("destructive-not-annotated", tool("delete_note", annotations=hint))) is is_found


@pytest.mark.parametrize(
    ("said", "takes", "is_found"),
    [
        ("Get the logs.", {}, True),
        ("Get the logs.", {"clear": field("boolean", "Whether to clear logs after retrieval.")}, False),
        ("Get the logs.", {"after": field("boolean", "Whether to delete them then.")}, False),
        ("Get the logs.", {"output_path": TEXT}, False),
        ("Get the logs.", {"path": TEXT, "deleted": field("boolean", "Also those that are deleted.")}, True),
        ("Download the logs and save them to a file.", {}, False),
        ("Get the logs. Marks them as read.", {}, False),
        ("Get the logs of an app store.", {}, True),
        ("Get the logs.", {"removeTimes": field("boolean", "Remove the times from the text.")}, True),
        # In doubt it is not offered: `and delete files of a user` is written in the same way.
        ("Get the logs and send time of a mail.", {}, False),
    ],
)
def test_a_tool_that_can_change_something_is_not_to_be_annotated_as_one_that_reads(
    said: str, takes: Any, is_found: bool
) -> None:
    one = {**tool("get_logs", record(**takes)), "description": said}
    assert bool(found("read-only-not-annotated", one)) is is_found


def test_limits_are_told_and_can_be_moved() -> None:
    from halflap.config import LintConfig  # noqa: PLC0415 -- for this test alone

    long = {**tool("x" * 30), "description": "y" * 100}
    rules = [one.rule for one in report_of(long).findings]
    assert "name-too-long" not in rules
    assert "description-too-long" not in rules
    strict = report_of(long, config=LintConfig(max_name_length=20, max_description_bytes=50))
    told = {one.rule: one.message for one in strict.findings}
    assert "30 characters; clients refuse more than 20" in told["name-too-long"]
    assert "100 bytes; 50 are enough" in told["description-too-long"]
    prefixed = report_of(tool("x" * 15), config=LintConfig(max_name_length=20))
    assert "`mcp__shop__`" in next(
        one.message for one in prefixed.findings if one.rule == "prefixed-name-too-long"
    )


@pytest.mark.parametrize(
    "taken",
    [
        {"properties": {}},
        {"type": "array"},
        {"type": ["object"]},
        {"type": ["object", "null"]},
        {"type": ["array", "null"]},
        {"type": "object", "properties": 5},
        "text",
        True,
        None,
        [],
    ],
)
def test_an_input_schema_that_is_none_is_told(taken: Any) -> None:
    assert found("invalid-schema", {"name": "do_it", "description": "Do it.", "inputSchema": taken})
