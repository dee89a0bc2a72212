"""Ignored findings, rules that are off, and severities."""

from __future__ import annotations

from typing import Any

import pytest

from halflap.config import LintConfig, LintIgnore
from halflap.lint.parts import IGNORE
from halflap.lint.sample import TEXT, field, record, tool
from lint.making import report_of


def rules(report: Any) -> set[str]:
    return {one.rule for one in report.findings}


def test_a_finding_ignored_with_a_reason_does_not_count() -> None:
    plain = tool("translate", record(text=TEXT))
    before = report_of(plain)
    after = report_of({**plain, "_meta": {IGNORE: {"no-output-schema": "It returns prose."}}})
    assert rules(before) - rules(after) == {"no-output-schema"}
    (one,) = after.ignored
    assert (one.ignored_by, one.reason) == ("author", "It returns prose.")
    assert (after.score or 0) > (before.score or 0)


def test_it_may_stand_in_the_definition_itself() -> None:
    report = report_of({**tool("translate"), IGNORE: {"no-output-schema": "It returns prose."}})
    assert "no-output-schema" not in rules(report)


def test_in_a_field_it_holds_there_and_below() -> None:
    amount = field("number", "How much.")
    price = record(amount=amount, description="What it costs.") | {
        IGNORE: {"number-without-unit": "No money."}
    }
    report = report_of(tool("set_it", record(price=price, prices=record(amount=amount), amount=amount)))
    found = [one.path for one in report.findings if one.rule == "number-without-unit"]
    assert found == ["input.amount", "input.prices.amount"]
    assert [one.path for one in report.ignored] == ["input.price.amount"]


@pytest.mark.parametrize("reason", ["", "  ", True])
def test_without_a_reason_nothing_is_ignored(reason: Any) -> None:
    report = report_of(tool("translate", _meta={IGNORE: {"no-output-schema": reason}}))
    assert {"no-output-schema", "ignore-without-reason"} <= rules(report)
    assert report.ignored == ()


@pytest.mark.parametrize(
    ("rule", "tools", "left"),
    [
        ("no-output-schema", "*", 0),
        ("no-output-schema", "mcp__shop__get_*", 1),
        ("no-*", "mcp__shop__get_order", 1),
        ("date-*", "*", 2),
        ("no-output-schema", "mcp__other__*", 2),
    ],
)
def test_the_configuration_ignores_by_rule_and_tool(rule: str, tools: str, left: int) -> None:
    config = LintConfig(ignore=(LintIgnore(rule=rule, reason="It is old.", tools=tools),))
    report = report_of(tool("get_order"), tool("list_orders"), config=config)
    assert sum(one.rule == "no-output-schema" for one in report.findings) == left
    assert {(one.ignored_by, one.reason) for one in report.ignored} <= {("configuration", "It is old.")}
    assert sum(one.rule == "no-output-schema" for one in report.ignored) == 2 - left


def test_a_rule_that_is_off_is_not_applied() -> None:
    report = report_of(tool("get_order"), config=LintConfig(off=("no-output-schema",)))
    assert "no-output-schema" not in rules(report)
    assert report.ignored == ()
    assert all(
        "results-break-schema" not in one.rules
        for one in report_of(tool("x"), config=LintConfig(off=("results-break-schema",))).unjudged
    )


def test_severity_decides_what_fails() -> None:
    from halflap.lint import Report  # noqa: PLC0415 -- for this test alone

    plain = tool("get_order", annotations={"readOnlyHint": True})
    assert [Report((report_of(plain),)).fails(on) for on in ("error", "warning", "info", "never")] == [
        False,
        True,
        True,
        False,
    ]
    grave = Report((report_of(plain, config=LintConfig(severity={"no-output-schema": "error"})),))
    assert [grave.fails(on) for on in ("error", "warning", "never")] == [True, True, False]
