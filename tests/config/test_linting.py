"""The section `lint`."""

from __future__ import annotations

from typing import Any

import pytest

from halflap.config import Config, LintIgnore
from halflap.core.errors import ConfigError


def lint(**section: Any) -> Any:
    return Config.from_mapping({"lint": section}).lint


def test_a_section_is_read() -> None:
    read = lint(
        off=["no-description"],
        severity={"no-output-schema": "error"},
        ignore=[
            {"rule": "date-*", "reason": "Old."},
            {"rule": "number-without-unit", "tools": "mcp__a__*", "reason": "So."},
        ],
        fail_on="warning",
        max_name_length=40,
    )
    assert read.off == ("no-description",)
    assert dict(read.severity) == {"no-output-schema": "error"}
    assert read.ignore == (
        LintIgnore(rule="date-*", reason="Old."),
        LintIgnore(rule="number-without-unit", reason="So.", tools="mcp__a__*"),
    )
    assert (read.fail_on, read.max_name_length) == ("warning", 40)


@pytest.mark.parametrize(
    ("section", "code"),
    [
        ({"off": ["no-output-shema"]}, "wrong-value"),
        ({"off": [5]}, "wrong-value"),
        ({"severity": {"xyzzy": "error"}}, "wrong-value"),
        ({"severity": {"no-output-schema": "fatal"}}, "wrong-value"),
        ({"severity": []}, "wrong-value"),
        ({"ignore": {}}, "wrong-value"),
        ({"ignore": ["x"]}, "wrong-value"),
        ({"ignore": [{"rule": "number-without-unit"}]}, "wrong-value"),
        ({"ignore": [{"rule": "number-without-unit", "reason": " "}]}, "wrong-value"),
        ({"ignore": [{"rule": "number-without-unit", "reason": None}]}, "wrong-value"),
        ({"ignore": [{"rule": "", "reason": "So."}]}, "wrong-value"),
        ({"ignore": [{"rule": "number-without-unit", "reason": "So.", "tools": ""}]}, "wrong-value"),
        ({"ignore": [{"rule": "dat-*", "reason": "So."}]}, "wrong-value"),
        ({"ignore": [{"reason": "So."}]}, "wrong-value"),
        ({"ignore": [{"rule": "unit-difers", "reason": "So."}]}, "wrong-value"),
        ({"ignore": [{"rule": "number-without-unit", "reason": "So.", "tool": "x"}]}, "unknown-key"),
        ({"fail_on": "fatal"}, "wrong-value"),
        ({"max_name_length": 0}, "wrong-value"),
        ({"offf": []}, "unknown-key"),
    ],
)
def test_a_wrong_setting_has_its_code(section: dict[str, Any], code: str) -> None:
    with pytest.raises(ConfigError) as caught:
        lint(**section)
    assert [one.code for one in caught.value.problems] == [f"config-{code}"]


def test_patterns_that_match_no_tool_are_a_warning() -> None:
    ignored = [
        {"rule": "number-without-unit", "tools": tools, "reason": "So."}
        for tools in ("shop_*", "mcp__my-shop__*")
    ]
    config = Config.from_mapping({"lint": {"ignore": ignored}})
    assert [one.tools for one in config.lint.ignore] == ["shop_*", "mcp__my_shop__*"]
    (warning,) = config.warnings
    assert "`shop_*`" in warning
