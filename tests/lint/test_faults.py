"""A rule or a tool that fails does not stop the others."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from hypothesis import example, given, settings
from hypothesis import strategies as st

from halflap.lint import RULES, lint, linting, server, server_of
from halflap.lint.sample import TEXT, field, record, tool
from lint.making import report_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pytest

    from halflap.lint.rule import Found, Limits
    from halflap.lint.server import Server

KEYWORDS = [
    *("type", "properties", "items", "prefixItems", "anyOf", "oneOf", "allOf", "not", "if", "$ref", "$defs", "description", "enum"),
    *("const", "default", "examples", "example", "format", "pattern", "maxLength", "minLength", "minimum", "required", "x-unit"),
    *("additionalProperties", "unit", "x-halflap", "x-halflap-lint-ignore", "nullable", "$schema"),
]  # fmt: skip
FIELDS = [
    *("id", "user_id", "page", "limit", "cursor", "start_date", "created_at", "price", "size", "mode", "data", "result", "success"),
    *("number", "", "a.b", "[x]", "'"),
]  # fmt: skip
WORDS = [
    *("object", "string", "number", "array", "null", "text", "#", "#/$defs/x", "date", "One of 'a', 'b'.", "As YYYY-MM-DD.", "In ms."),
    *("", "https://json-schema.org/draft/2020-12/schema", "["),
]  # fmt: skip
PLAIN = (
    st.none() | st.booleans() | st.integers(-3, 10**30) | st.floats(allow_nan=False) | st.sampled_from(WORDS)
)


def _within(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    fields = st.dictionaries(st.sampled_from(FIELDS), inner, max_size=3)
    said = st.dictionaries(st.sampled_from(KEYWORDS), inner | fields, max_size=4)
    objects = st.builds(lambda one, more: {"type": "object", "properties": one, **more}, fields, said)
    return st.lists(inner, max_size=3) | said | objects


ODD = st.recursive(PLAIN, _within, max_leaves=16)
DEFINITIONS = st.fixed_dictionaries(
    {"name": st.sampled_from(["list_users", "get_user", "delete_user", "a b", ""])},
    optional=dict.fromkeys(
        ("description", "inputSchema", "outputSchema", "annotations", "_meta", "title", "icons"), ODD
    ),
)


@settings(deadline=None)
@given(st.lists(DEFINITIONS, min_size=1, max_size=3))
@example([{"name": "get_user", "inputSchema": {"type": ["object"]}}])
@example([{"name": "get_user", "inputSchema": {"type": {"object": 1}}}])
@example([tool("list_users", record(page={"type": "integer"}), {"type": ["array", "object"]})])
def test_no_rule_fails_on_any_json(tools: list[dict[str, Any]]) -> None:
    report = report_of(*tools)
    assert report.score is not None
    assert [one for one in report.unjudged if "failed" in one.why or "read" in one.why] == []
    json.dumps(report.to_json())


GOOD = tool("get_note", record(id=TEXT), record(text=TEXT))
BAD = tool("break_it", record(start_date=field("string", "When.")), record(text=TEXT))


def _failing_on(name: str) -> Any:
    def check(server: Server, _: Limits) -> Iterator[Found]:
        for one in server.entries:
            if one.tool.original_name == name:
                raise TypeError("unhashable \x1b[31mlist")
            yield linting_found(one.name)

    return check


def linting_found(name: str) -> Found:
    from halflap.lint.rule import Found  # noqa: PLC0415 -- for this test alone

    return Found(name, "", "It is.", "Mend it.")


def test_a_rule_that_crashes_on_a_tool_is_reported_and_the_others_run(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    rules = tuple(
        replace(rule, check=_failing_on("break_it")) if rule.id == "no-description" else rule
        for rule in RULES
    )
    monkeypatch.setattr(linting, "RULES", rules)
    first, second = lint([server_of("shop", [BAD, GOOD]), server_of("crm", [GOOD])]).servers
    assert [one.tool for one in first.findings if one.rule == "no-description"] == ["mcp__shop__get_note"]
    assert [one.path for one in first.findings if one.rule == "date-without-format"] == ["input.start_date"]
    assert [one.tool for one in second.findings if one.rule == "no-description"] == ["mcp__crm__get_note"]
    (told,) = (one for one in first.unjudged if one.rules == ("no-description",))
    assert (told.tools, told.of) == (1, 2)
    assert "break_it" in told.why
    assert "TypeError: unhashable" in told.why
    assert "\x1b" not in told.why
    assert "no-description" in caplog.text
    assert not [one for one in second.unjudged if one.rules == ("no-description",)]


def test_a_rule_that_crashes_on_a_catalogue_is_reported_and_the_others_run(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def check(server: Server, _: Limits) -> list[Found]:
        (only,) = server.entries
        return [linting_found(only.name)]

    rules = tuple(replace(rule, check=check) if rule.id == "no-description" else rule for rule in RULES)
    monkeypatch.setattr(linting, "RULES", rules)
    (report,) = lint([server_of("shop", [BAD, GOOD])]).servers
    (told,) = (one for one in report.unjudged if one.rules == ("no-description",))
    assert (told.tools, told.of) == (2, 2)
    assert any(one.rule == "date-without-format" for one in report.findings)


def test_an_unreadable_tool_is_reported_and_the_others_are_linted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    read = server.read_tool

    def parse(one: Any, *more: Any) -> Any:
        if one.original_name == "break_it":
            raise RecursionError("too deep")
        return read(one, *more)

    monkeypatch.setattr(server, "read_tool", parse)
    (report,) = lint([server_of("shop", [BAD, GOOD])]).servers
    assert list(report.tools) == ["mcp__shop__get_note"]
    assert report.unjudged[0].rules == tuple(rule.id for rule in RULES)
    assert "break_it" in report.unjudged[0].why
    assert "RecursionError: too deep" in report.unjudged[0].why
