"""What a finding gives as a patch: put at its place, the definition is valid, and the finding gone."""

from __future__ import annotations

import ast
import copy
import re
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from halflap.lint import RULES, Rule, Seen, lint, read_definitions, server_of
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


STEP = re.compile(r"\.?\{\}|\[\]|\[(?P<quoted>'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\")\]|\.?(?P<name>\w+)")


def keys_to(path: str) -> list[str]:
    """Give the keys of a definition that lead to the schema at a finding's path, as docs/lint.md says how it is written."""
    steps = list(STEP.finditer(path))
    assert "".join(step[0] for step in steps) == path
    keys = [SIDES[step[0]] for step in steps[:1]]
    for step in steps[1:]:
        if step["name"] or step["quoted"]:
            keys += ["properties", step["name"] or ast.literal_eval(step["quoted"])]
        else:
            keys.append("items" if step[0] == "[]" else "additionalProperties")
    return keys


def patched(definition: Mapping[str, Any], finding: Finding) -> Any:
    """Put a finding's patch at its path."""
    patch: Any = dict(finding.patch or {})
    for key in reversed(keys_to(finding.path)):
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


SAID = [
    "",
    "What it is.",
    "Page number.",
    "One of: fast, slow.",
    "Possible values: 'a', 'b', or any URL.",
    "Not one of 'a' or 'b'.",
    "As YYYY-MM-DD.",
    "ISO 8601 date and time.",
    "In seconds.",
    "Where the cursor is on the screen.",
]
NAMES = [
    *("page", "limit", "cursor", "skip", "take", "next_cursor", "has_more", "total", "pagination", "mode", "created", "due_date"),
    *("modified_on", "since", "price", "amount", "unit", "user_id", "id", "userId", "success", "data", "error", "a b", "x.y"),
]  # fmt: skip
FIELDS = st.builds(
    field,
    st.sampled_from(["string", "integer", "number", "boolean"]),
    st.sampled_from(SAID),
)


def within(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    objects = st.dictionaries(st.sampled_from(NAMES), inner, max_size=4).map(
        lambda fields: {"type": "object", "properties": fields}
    )
    return st.one_of(
        objects,
        objects.map(lambda one: {"allOf": [one]}),
        inner.map(lambda one: {"type": "array", "items": one}),
        inner.map(lambda one: {"anyOf": [one, {"type": "null"}], "description": "Or none."}),
        inner.map(lambda one: {"type": "object", "additionalProperties": one}),
    )


VALUES = st.recursive(FIELDS, within, max_leaves=6)
OBJECTS = st.dictionaries(st.sampled_from(NAMES), VALUES, max_size=5).map(
    lambda fields: {"type": "object", "properties": fields}
)
TURNED: list[dict[str, Any]] = [
    {"page": PAGE, "limit": LIMIT},
    {"page": PAGE},
    {"skip": PAGE, "take": LIMIT},
    {"cursor": TEXT},
    {"pagination": record(page=PAGE, limit=LIMIT)},
    {"options": record(cursor=TEXT)},
]
LISTS: list[dict[str, Any]] = [
    {"users": listed(TEXT)},
    {"users": listed(record(total=field("number", "In EUR.")))},
    {"result": listed(record(user_id=TEXT))},
    {"success": field("boolean"), "data": record(users=listed(TEXT))},
]


def with_one_of(schemas: st.SearchStrategy[Any], fields: list[dict[str, Any]]) -> st.SearchStrategy[Any]:
    return st.builds(
        lambda schema, more: {"type": "object", "properties": {**schema["properties"], **more}},
        schemas,
        st.sampled_from(fields),
    )


TAKEN, GIVEN = with_one_of(OBJECTS, TURNED), with_one_of(OBJECTS, LISTS)
TOOLS = st.fixed_dictionaries(
    {
        "name": st.sampled_from(
            ["list_users", "get_user", "delete_user", "a.b", "a b", "a/b", "ä", "ö", "a_b", "", "search", "user search", "remove_it"]
        ),
        "description": st.sampled_from(["", "Does it.", "List all users.", "Deletes all."]),
        "inputSchema": st.one_of(TAKEN, OBJECTS, OBJECTS.map(lambda one: {"properties": one["properties"]})),
    },
    optional={
        "outputSchema": st.one_of(GIVEN, OBJECTS, VALUES, st.just({"type": "object"})),
        "annotations": st.fixed_dictionaries(
            {}, optional={"readOnlyHint": st.booleans(), "destructiveHint": st.booleans()}
        ),
    },
)  # fmt: skip


def learned(schema: Any) -> Seen:
    return Seen(observations=5, confidence=0.5, type=read_type(schema), schema=schema, calls=5)


def linted(tools: list[Any], seen: Mapping[str, Seen]) -> tuple[float, list[tuple[int, Finding]]]:
    """Give the score, and the findings with the number of the tool that each is in."""
    server = server_of("shop", tools, seen)
    numbers = {one.name: number for number, one in enumerate(server.entries)}
    (report,) = lint([server]).servers
    assert report.score is not None
    return report.score, [(numbers[one.tool], one) for one in report.findings]


@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(
    st.lists(TOOLS, min_size=1, max_size=4),
    st.dictionaries(
        st.sampled_from(["list_users", "get_user"]),
        GIVEN.map(learned),
    ),
)
@example([tool("list_users", record(**TURNED[0]), record(**LISTS[1]))], {})
@example([tool("list_users", record(**TURNED[4]), record(**LISTS[0]))], {})
@example([tool("list_users", record(**TURNED[1]))], {"list_users": learned(record(**LISTS[0]))})
@example([tool(name) for name in ("a.b", "a b", "a/b", "ä", "ö", "a_b")], {})
@example([tool("delete_user", annotations={"readOnlyHint": True})], {})
def test_no_patch_lowers_the_score_and_each_mends_what_it_is_for(
    tools: list[dict[str, Any]], seen: dict[str, Seen]
) -> None:
    before, findings = linted(tools, seen)
    patches = [(at, one) for at, one in findings if one.patch is not None]
    together = list(tools)
    for at, one in patches:
        alone = [patched(each, one) if number == at else each for number, each in enumerate(tools)]
        after, left = linted(alone, seen)
        assert (at, one.rule, one.path) not in {(number, each.rule, each.path) for number, each in left}, one
        assert after >= before, one
        together[at] = patched(together[at], one)
    after, left = linted(together, seen)
    assert after >= before
    gone = {(number, each.rule, each.path) for number, each in left}
    assert not gone & {(at, one.rule, one.path) for at, one in patches}
