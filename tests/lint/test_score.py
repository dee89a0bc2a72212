"""Laws of the score."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from halflap.config import LintConfig
from halflap.lint import RULES
from halflap.lint.report import Finding, make_report
from halflap.lint.sample import TEXT, field, listed, record, tool
from halflap.lint.score import share_of
from lint.making import report_of

TOOLS = {"a": "a", "b": "b", "c": "c"}
COSTS = {rule.id: share_of(rule.severity, rule.weight) for rule in RULES}
FINDINGS = st.lists(
    st.builds(
        lambda rule, tool, path: Finding(rule.id, rule.severity, "s", tool, path, "It is wrong.", "Mend it."),
        st.sampled_from(RULES),
        st.sampled_from(list(TOOLS)),
        st.sampled_from(["", "input.a", "output", "output.a"]),
    ),
    max_size=40,
)


def score(findings: list[Finding]) -> tuple[float, dict[str, float]]:
    report = make_report("s", TOOLS, findings, ignored=(), unjudged=(), costs=COSTS)
    assert report.score is not None
    return report.score, dict(report.tools)


@given(FINDINGS, st.data())
def test_removing_a_finding_never_lowers_the_score(findings: list[Finding], data: st.DataObject) -> None:
    before, tools = score(findings)
    assert 0 <= before <= 100
    if findings:
        gone = data.draw(st.integers(0, len(findings) - 1))
        after, left = score([*findings[:gone], *findings[gone + 1 :]])
        assert after >= before
        assert all(left[name] >= tools[name] for name in TOOLS)


@given(FINDINGS, st.randoms())
def test_the_order_of_findings_does_not_matter(findings: list[Finding], chance: st.Random) -> None:  # type: ignore[name-defined]
    shuffled = list(findings)
    chance.shuffle(shuffled)
    assert score(findings) == score(shuffled)


@given(FINDINGS)
def test_the_gain_of_a_fix_is_what_the_score_rises_by(findings: list[Finding]) -> None:
    report = make_report("s", TOOLS, findings, ignored=(), unjudged=(), costs=COSTS)
    assert [one.gain for one in report.fixes] == sorted((one.gain for one in report.fixes), reverse=True)
    assert len(report.gains) == len(findings)
    for fix in report.fixes:
        after, _ = score([one for one in findings if one.rule != fix.rule])
        assert report.score is not None
        assert abs(after - report.score - fix.gain) <= 0.11
    for at, (tool_gain, server_gain) in enumerate(report.gains):
        after, tools = score([*findings[:at], *findings[at + 1 :]])
        assert report.score is not None
        assert abs(after - report.score - server_gain) <= 0.11
        assert abs(tools[findings[at].tool] - report.tools[findings[at].tool] - tool_gain) <= 0.11


def test_without_findings_the_score_is_100_and_without_tools_there_is_none() -> None:
    assert score([]) == (100, dict.fromkeys(TOOLS, 100))
    assert report_of().score is None


FIELDS = st.dictionaries(
    st.sampled_from(["amount", "placed_at", "order_id", "id", "price", "timeout", "name", "due_date"]),
    st.builds(field, st.sampled_from(["string", "number", "integer"]), st.sampled_from(["", "What it is."])),
    min_size=1,
)


@given(FIELDS, FIELDS)
def test_declaring_a_schema_never_lowers_the_score(taken: Any, given: Any) -> None:
    takes = record(**taken, cursor=TEXT)
    other = tool("list_orders", record(page=field("integer", "Which.")), record(orders=listed(TEXT)))
    before = report_of(tool("get_order", takes), other).tools["mcp__shop__get_order"]
    after = report_of(tool("get_order", takes, record(**given)), other)
    assert after.tools["mcp__shop__get_order"] >= before


def test_severity_changes_the_score() -> None:
    plain = tool("get_order", annotations={"readOnlyHint": True})
    scores = [
        report_of(plain, config=LintConfig(severity={"no-output-schema": one})).score
        for one in ("info", "warning", "error")
    ]
    assert scores == sorted(scores, key=lambda one: -(one or 0))
    assert len(set(scores)) == 3
