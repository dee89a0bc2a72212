"""What a finding gives as a patch: put at its place, the definition is valid, and the finding gone."""

from __future__ import annotations

import copy
import re
from typing import TYPE_CHECKING, Any

import pytest

from halflap.lint import RULES, Rule, Seen, lint, read_definitions
from halflap.lint.sample import TEXT, field, listed, record, tool
from halflap.schema.types import read_type
from lint.making import report_of
from support import shared_data

if TYPE_CHECKING:
    from collections.abc import Mapping

    from halflap.lint import Finding

SIDES = {"input": "inputSchema", "output": "outputSchema"}


def merged(target: Any, patch: Any) -> Any:
    """Apply a JSON merge patch, as RFC 7386 writes it down."""
    if not isinstance(patch, dict):
        return patch
    result = dict(target) if isinstance(target, dict) else {}
    for key, value in patch.items():
        if value is None:
            result.pop(key, None)
        else:
            result[key] = merged(result.get(key), value)
    return result


def patched(definition: Mapping[str, Any], finding: Finding) -> Any:
    """Put a finding's patch at its path."""
    keys: list[str] = []
    side, _, rest = finding.path.partition(".")
    if finding.path:
        keys.append(SIDES[re.sub(r"(\[\])+$", "", side)])
        keys += ["items"] * side.count("[]")
    for name in filter(None, rest.split(".")):
        keys += ["properties", name.rstrip("[]"), *["items"] * name.count("[]")]
    patch: Any = dict(finding.patch or {})
    for key in reversed(keys):
        patch = {key: patch}
    return merged(copy.deepcopy(dict(definition)), patch)


def check(tools: tuple[Mapping[str, Any], ...], seen: Mapping[str, Seen], rule: str | None = None) -> int:
    """Apply the patches one by one; give how many there were."""
    report, count = report_of(*tools, seen=seen), 0
    broken = {one.tool for one in report.findings if one.rule == "invalid-schema"}
    for finding in report.findings:
        if finding.patch is None or (rule and finding.rule != rule):
            continue
        count += 1
        after = [patched(each, finding) if each["name"] == finding.original_name else each for each in tools]
        left = report_of(*after, seen=seen).findings
        assert (finding.rule, finding.path, finding.tool) not in {
            (one.rule, one.path, one.tool) for one in left
        }, finding
        assert {one.tool for one in left if one.rule == "invalid-schema"} <= broken, finding
    return count


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)
def test_the_patch_of_every_rule_mends_what_it_found(rule: Rule) -> None:
    check(rule.bad.tools, rule.bad.seen)


SCHEMA = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
LEARNED = Seen(observations=5, confidence=0.5, type=read_type(SCHEMA), schema=SCHEMA, calls=5)
LIST = {"type": "array", "items": {"type": "string"}}
LISTED = Seen(observations=5, confidence=0.5, type=read_type(LIST), schema=LIST, calls=5)
PAGE, LIMIT = field("integer", "Which."), field("integer", "How many.")


@pytest.mark.parametrize(
    ("rule", "definition", "seen"),
    [
        ("no-output-schema", tool("get_it"), LEARNED),
        ("no-output-schema", tool("get_it"), LISTED),
        ("empty-output-schema", tool("get_it", None, {"type": "object"}), LEARNED),
        ("empty-output-schema", tool("get_it", None, {"type": "array"}), LEARNED),
        ("empty-output-schema", tool("get_it", None, record("result", result={})), LEARNED),
        ("invalid-schema", {**tool("get_it"), "inputSchema": {"properties": {}}}, Seen()),
        ("name-characters", tool("get.it"), Seen()),
        ("paging-without-cursor", tool("list_it", record(page=PAGE, limit=LIMIT)), Seen()),
        ("cursor-not-given", tool("list_it", record(cursor=TEXT), record(notes=listed(TEXT))), Seen()),
        ("paging-without-has-more", tool("list_it", record(cursor=TEXT), record(notes=listed(TEXT))), Seen()),
        ("date-without-format", tool("do_it", record(due_date=field("string", "When."))), Seen()),
        ("date-without-format", tool("do_it", record(date=listed(listed(field("string"))))), Seen()),
        ("date-format-in-prose", tool("do_it", record(due_date=field("string", "As YYYY-MM-DD."))), Seen()),
        ("date-format-in-prose", tool("do_it", None, record(days=listed(record(date=field("string", "ISO date."))))), Seen()),
        ("enum-in-prose", tool("do_it", record(mode=field("string", "One of: fast, slow, auto."))), Seen()),
        ("enum-in-prose", tool("do_it", record(modes=listed(field("string", "One of: fast, slow.")))), Seen()),
        ("read-only-not-annotated", tool("get_it", annotations={"title": "It"}), Seen()),
        ("destructive-not-annotated", tool("delete_it", annotations={"readOnlyHint": False}), Seen()),
        ("annotation-contradicts-name", tool("delete_it", annotations={"readOnlyHint": True}), Seen()),
    ],
)  # fmt: skip
def test_a_patch_fits_its_place_whatever_is_there(rule: str, definition: Any, seen: Seen) -> None:
    assert check((definition,), {definition["name"]: seen}, rule) == 1


def test_every_patch_of_the_real_servers_mends_what_it_is_for() -> None:
    """One tool at a time: with others beside it, what is found of it may depend on them."""
    data = shared_data("live_tools.json").read_text()
    servers = lint(read_definitions(data, "live", "live")).servers
    wanted = {"enum-in-prose", "date-format-in-prose", "date-without-format", "paging-without-cursor"}
    definitions = {
        one.name: {each.tool.name: each.definition for each in one.entries}
        for one in read_definitions(data, "live", "live")
    }
    count = 0
    for server in servers:
        for one in server.findings:
            if one.rule in wanted:
                definition = definitions[server.server][one.tool]
                assert definition is not None
                count += check((definition,), {}, one.rule) > 0
    assert count > 20
