from __future__ import annotations

from typing import Any

import pytest

from halflap.config import Config, LintIgnore
from halflap.errors import ConfigError


def lint(**section: Any) -> Any:
    return Config.from_mapping({"lint": section}).lint


def test_everything_has_a_default() -> None:
    plain = Config().lint
    assert (plain.off, dict(plain.severity), plain.ignore, plain.fail_on) == ((), {}, (), "error")


def test_a_section_is_read() -> None:
    read = lint(
        off=["enum-in-prose"],
        severity={"no-output-schema": "error"},
        ignore=[
            {"rule": "date-*", "reason": "Old."},
            {"rule": "unit-differs", "tools": "mcp__a__*", "reason": "So."},
        ],
        fail_on="warning",
        max_name_length=40,
    )
    assert read.off == ("enum-in-prose",)
    assert dict(read.severity) == {"no-output-schema": "error"}
    assert read.ignore == (LintIgnore("date-*", "Old."), LintIgnore("unit-differs", "So.", "mcp__a__*"))
    assert (read.fail_on, read.max_name_length) == ("warning", 40)


@pytest.mark.parametrize(
    ("section", "told"),
    [
        (
            {"off": ["no-output-shema"]},
            "there is no lint rule `no-output-shema`. Did you mean `no-output-schema`?",
        ),
        ({"off": [5]}, "lint.off[0] must be the id of a rule, not 5"),
        (
            {"severity": {"xyzzy": "error"}},
            "`halflap lint --all` names the rule of each finding; docs/lint.md has all.",
        ),
        (
            {"severity": {"no-output-schema": "fatal"}},
            "lint.severity.no-output-schema must be error, warning or info",
        ),
        ({"severity": []}, "must be a mapping of rules"),
        ({"ignore": {}}, "must be a list of mappings"),
        ({"ignore": ["x"]}, "lint.ignore[0] must be a mapping, not a string"),
        ({"ignore": [{"rule": "unit-differs"}]}, "lint.ignore[0] has no `reason`"),
        ({"ignore": [{"rule": "unit-differs", "reason": " "}]}, "lint.ignore[0] has no `reason`"),
        ({"ignore": [{"rule": "unit-differs", "reason": None}]}, "lint.ignore[0] has no `reason`"),
        ({"ignore": [{"rule": "", "reason": "So."}]}, "lint.ignore[0] has no `rule`"),
        (
            {"ignore": [{"rule": "unit-differs", "reason": "So.", "tools": ""}]},
            "lint.ignore[0].tools must not be empty",
        ),
        ({"ignore": [{"rule": "dat-*", "reason": "So."}]}, "there is no lint rule `dat-*`"),
        ({"ignore": [{"reason": "So."}]}, "lint.ignore[0] has no `rule`"),
        ({"ignore": [{"rule": "unit-difers", "reason": "So."}]}, "Did you mean `unit-differs`?"),
        (
            {"ignore": [{"rule": "unit-differs", "reason": "So.", "tool": "x"}]},
            "unknown key `tool` in `lint.ignore[0]`",
        ),
        ({"fail_on": "fatal"}, "must be error, warning, info or never"),
        ({"max_name_length": 0}, "must be a whole number greater than 0"),
        ({"offf": []}, "Did you mean `off`?"),
    ],
)
def test_a_mistake_is_told_with_what_was_meant(section: dict[str, Any], told: str) -> None:
    with pytest.raises(ConfigError) as raised:
        lint(**section)
    assert told in str(raised.value)


def test_tools_that_can_be_none_are_warned_of_and_odd_letters_are_written_as_tools_are_named() -> None:
    ignored = [
        {"rule": "unit-differs", "tools": tools, "reason": "So."} for tools in ("shop_*", "mcp__my-shop__*")
    ]
    config = Config.from_mapping({"lint": {"ignore": ignored}})
    assert [one.tools for one in config.lint.ignore] == ["shop_*", "mcp__my_shop__*"]
    (warning,) = config.warnings
    assert "lint.ignore: `shop_*` matches no tool" in warning
