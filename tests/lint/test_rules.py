"""Every rule finds what it describes, and nothing in its counterexample."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from halflap.config import LintConfig
from halflap.core.errors import UsageError
from halflap.lint import RULES, Breach, Evidence, lint, read_definitions, rule_texts
from lint.samples import TEXT, field, record, report_of, rules_of, tool
from support import shared_data

KNOWN = record(ok=field("boolean", "Whether it worked"))


def evidence_of(texts: dict[str, Any]) -> dict[str, Evidence]:
    given = dict(texts["evidence"])
    given["breaches"] = tuple(Breach(*one) for one in given.get("breaches", ()))
    given["unmarked_errors"] = tuple(given.get("unmarked_errors", ()))
    return {texts["bad"][0]["name"]: Evidence(**given)}


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)
def test_a_rule_finds_its_bad_example_and_not_its_good_one(rule: Any) -> None:
    texts = rule_texts()[rule.id]
    bad = json.loads(json.dumps(texts["bad"]).replace("LONG", "long " * 500))
    evidence = evidence_of(texts) if "evidence" in texts else None
    assert rule.id in rules_of(*bad, evidence=evidence, name="server")
    assert rule.id not in rules_of(*texts["good"], name="server")


def test_every_rule_has_texts() -> None:
    assert list(rule_texts()) == [rule.id for rule in RULES]
    assert all({"title", "why", "fix", "bad", "good"} <= texts.keys() for texts in rule_texts().values())


@pytest.mark.parametrize(
    ("name", "schema", "rules"),
    [
        ("price", field("number"), {"number-without-unit"}),
        ("price_cents", field("number"), {"field-without-description"}),
        ("price", field("number", "In EUR"), set()),
        ("price", {**field("number"), "x-halflap": {"unit": "EUR"}}, {"field-without-description"}),
        ("user_count", field("integer"), {"field-without-description"}),
        ("created_at", field("string", "When"), {"date-without-format"}),
        ("created_at", field("string", "When", format="date-time"), set()),
        ("format", field("string", "How"), set()),
        ("birthday", field("string", "When"), set()),
    ],
)
def test_numbers_and_dates_in_results(name: str, schema: dict[str, Any], rules: set[str]) -> None:
    assert rules_of(tool("compute_it", returns=record(**{name: schema}))) == rules


def test_declared_relations_connect_ids_whatever_they_are_called() -> None:
    returned = field("string", "Its key", **{"x-halflap": {"produces": "customer"}})
    taken = field("string", "Which", **{"x-halflap": {"consumes": "customer"}})
    tools = (
        tool("list_people", returns=record(customer_id=returned)),
        tool("compute_total", record("who_id", who_id=taken), KNOWN),
    )
    assert not rules_of(*tools) & {"id-not-produced", "id-not-accepted"}


def test_ids_are_not_judged_while_results_are_unknown() -> None:
    report = report_of(tool("list_orders"), tool("get_order", record("order_id", order_id=TEXT)))
    assert "id-not-produced" not in {one.rule for one in report.findings}
    assert any("id-not-produced" in one.rules and one.tools == 2 for one in report.not_judged)


IGNORE = "x-halflap-lint-ignore"


def test_authors_and_users_ignore_findings_with_a_reason() -> None:
    ignored = tool(
        "compute_it", returns=record(price={**field("number"), IGNORE: {"number-without-unit": "Any."}})
    )
    report = report_of(ignored)
    assert [(one.rule, one.ignored_by, one.reason) for one in report.ignored] == [
        ("number-without-unit", "author", "Any.")
    ]
    config = LintConfig.model_validate(
        {"ignore": [{"rule": "no-*", "tools": "*compute*", "reason": "Later."}], "off": ["no-description"]}
    )
    report = report_of({**tool("compute_it"), "description": ""}, config=config)
    assert report.findings == ()
    assert [one.ignored_by for one in report.ignored] == ["configuration"]


def test_an_ignored_rule_must_exist_and_have_a_reason() -> None:
    meta = {IGNORE: {"no-output-schma": "Prose.", "no-output-schema": ""}}
    report = report_of(tool("compute_it", _meta=meta))
    assert [one.rule for one in report.findings].count("ignore-without-reason") == 2
    assert any("no-output-schema" in one.fix for one in report.findings)
    assert "no-output-schema" in {one.rule for one in report.findings}


def test_a_configured_severity_decides_about_failing() -> None:
    config = LintConfig.model_validate({"severity": {"no-output-schema": "error"}})
    servers = read_definitions(json.dumps([tool("compute_it")]), "shop", "x")
    assert not lint(servers).fails("error")
    assert lint(servers).fails("warning")
    assert not lint(servers).fails("never")
    assert lint(servers, config).fails("error")


@given(st.permutations(range(6)), st.integers(0, 5))
def test_a_finding_less_never_lowers_a_score(order: list[int], fixed: int) -> None:
    fields = {f"f{at}": field("string", "Text" if at == order[fixed] else "") for at in range(6)}
    before = {f"f{at}": field("string") for at in range(6)}
    better, worse = (report_of(tool("compute_it", returns=record(**one))) for one in (fields, before))
    none = report_of(tool("compute_it"))
    assert better.score is not None
    assert worse.score is not None
    assert none.score is not None
    assert better.score >= worse.score > none.score


def test_fixes_say_how_much_the_score_would_rise() -> None:
    report = report_of(tool("compute_it"), {**tool("other"), "description": ""})
    assert report.score is not None
    gains = {one.rule: one.gain for one in report.fixes}
    assert list(gains.values()) == sorted(gains.values(), reverse=True)
    without = report_of(tool("compute_it"), tool("other"))
    assert without.score == pytest.approx(report.score + gains["no-description"], abs=0.06)


KEYWORDS = [
    "type",
    "properties",
    "items",
    "$ref",
    "anyOf",
    "required",
    "enum",
    IGNORE,
    "x-halflap",
    "a_id",
    "date",
]
ANY_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(KEYWORDS),
            inner,
            max_size=4,
        )
    ),
    max_leaves=20,
)


@settings(deadline=None)
@given(schema=ANY_JSON, output=ANY_JSON, name=st.text(max_size=8), annotations=ANY_JSON, meta=ANY_JSON)
def test_no_definition_breaks_a_rule(
    schema: Any, output: Any, name: str, annotations: Any, meta: Any
) -> None:
    one = {
        "name": name,
        "inputSchema": schema,
        "outputSchema": output,
        "annotations": annotations,
        "_meta": meta,
    }
    report = report_of(one, tool("get_it"))
    assert not [one for one in report.not_judged if "internal" in one.why]
    json.dumps(report.to_json())


def test_recursive_wide_and_deep_schemas_are_bounded() -> None:
    node: dict[str, Any] = {
        "type": "object",
        "properties": {"next": {"$ref": "#"}, "branch_id": {"type": "string"}},
    }
    wide = record(**{f"f{at}": field("number") for at in range(50_000)})
    deep: dict[str, Any] = field("string")
    for _ in range(300):
        deep = record(inner=deep)
    for schema in (node, wide, deep):
        assert len(report_of(tool("get_it", schema, schema)).findings) <= 1_300


@pytest.mark.slow
def test_real_catalogues_are_linted_the_same_each_time() -> None:
    text = shared_data("live_tools.json").read_text()
    first, second = (lint(read_definitions(text, "live", "live")) for _ in range(2))
    assert json.dumps(first.to_json()) == json.dumps(second.to_json())
    assert all(one.fix and one.message for server in first.servers for one in server.findings)
    errors = [one for server in first.servers for one in server.findings if one.severity == "error"]
    # One has `exclusiveMinimum: true`, which only draft 4 allows.
    assert [one.rule for one in errors] == ["invalid-schema"]


def test_a_rule_that_does_not_exist_is_reported() -> None:
    with pytest.raises(UsageError, match="no-output-schema"):
        lint([], LintConfig(off=("no-output-shema",)))
