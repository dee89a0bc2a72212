"""Names chosen to break out of a program or a picture."""

from __future__ import annotations

import ast
import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graph.made import graph_of
from graph.playing import play
from halflap.core.values import Tool
from halflap.graph.draw import edges_dot, edges_mermaid, workflow_mermaid
from halflap.graph.emit import program
from halflap.graph.paths import EACH, key
from halflap.graph.plan import plan
from halflap.graph.ports import Ports, Slot, ports_of
from halflap.graph.workflow import Target, Workflow
from halflap.schema import Type
from support import examples

if TYPE_CHECKING:
    from halflap.graph.edges import Graph

HOSTILE = [
    "class", "__class__", "__import__", "None", "print", "asyncio", "json", "call_tool", "max_calls", "len", "zip",
    "self", "await", "match", "_", "", " ", "1st", "日本語", "ﬁ", "é", "a-b", "a.b", "a b", "x\ny", "x\r\ny", "'", '"',
    "\\", '"""', "'''", "\\'", "{}", "{0}", "%s", "); import os; (", "'; print(1); '", "#", "\x00", "\ud800", "\u202e",
    "]-->", "--> x", "<script>alert(1)</script>", "</text>", "&amp;", "|", "end", "click", "]]>", "a" * 500, "mcp__shop__x",
    "result", "whole", "cursor", "page", "turn", "ValueError", "str", "mcp__x__source", "$", "@", "\t",
]  # fmt: skip
TEXT = st.sampled_from(HOSTILE) | st.text(max_size=12)
SOURCE, TARGET = "mcp__x__source", "mcp__x__target"


TEXT_SCHEMA = {"type": "string"}


def world(name: str, server: str, field: str, parameter: str, inner: str) -> Graph:
    """Make a tool that returns a list, and one that takes an item of it, both with hostile names."""
    row = {"type": "object", "properties": {inner: TEXT_SCHEMA}, "required": [inner]}
    rows = {field: {"type": "array", "items": row}}
    source = ports_of(
        Tool(
            SOURCE,
            server,
            name,
            "",
            {"type": "object", "properties": {field: {}, "cursor": {}}, "required": [field]},
            {"type": "object", "properties": {"next_cursor": TEXT_SCHEMA, **rows}, "required": [field]},
        )
    )
    takes = {"type": "object", "properties": {parameter: TEXT_SCHEMA}, "required": [parameter]}
    target = ports_of(Tool(TARGET, server + "2", inner, "", takes))
    links = [(SOURCE, (key(field), EACH, key(inner)), TARGET, (key(parameter),))]
    return graph_of(*(replace(one, changes=False) for one in (source, target)), links=links)


def workflow(graph: Graph, have: dict[str, Any]) -> Workflow:
    return plan(graph, want=[Target("tool", TARGET)], have=have).suggestions[0]


@settings(max_examples=examples(400), deadline=None)
@given(TEXT, TEXT, TEXT.filter(lambda one: one not in {"next_cursor", "cursor"}), TEXT, TEXT)
def test_names_arrive_unchanged(tool: str, server: str, field: str, parameter: str, inner: str) -> None:
    graph = world(tool, server, field, parameter, inner)
    made = workflow(graph, {field: "x"})

    def source(**arguments: Any) -> Any:
        return {field: [{inner: "one"}, {inner: "two"}]} | (
            {} if "cursor" in arguments else {"next_cursor": "more"}
        )

    text = program(made)
    # A source file is UTF-8: half of a pair has no place in it but as an escape.
    text.encode()
    if made.missing:
        # No value can be available under a name without words.
        compile(text, "program.py", "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
        return
    done = play(text, graph.tools.values(), {SOURCE: source, TARGET: lambda **arguments: arguments})
    if SOURCE in made.tools:
        assert done.value == [{parameter: "one"}, {parameter: "two"}] * 2
        assert done.of(SOURCE) == [{field: "x"}, {field: "x", "cursor": "more"}]
    else:
        assert done.calls == [(TARGET, {parameter: "x"})]


@pytest.mark.parametrize("tool", ["a-b", "class", "print", "'); evil('"])
def test_a_tool_name_that_is_no_identifier_is_passed_as_text(tool: str) -> None:
    one = Ports(tool, "x", (), (), original_name="tool")
    text = program(plan(graph_of(one), want=[Target("tool", tool)], have={}).suggestions[0])
    assert play(text, [replace(one, tool=tool)]).calls == [(tool, {})]


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=12,
)


@settings(max_examples=examples(300), deadline=None)
@given(VALUES.filter(lambda one: one is not None))
def test_values_arrive_unchanged(value: Any) -> None:
    one = Ports("mcp__x__t", "x", (), (Slot((key("v"),), Type("any"), required=True),), frozenset({"v"}))
    text = program(plan(graph_of(one), want=[Target("tool", one.tool)], have={"v": value}).suggestions[0])
    text.encode()
    ((_, arguments),) = play(text, [one]).calls
    # By its text: True is 1 to Python, and 1 is 1.0.
    assert json.dumps(arguments["v"]) == json.dumps(value)


@settings(max_examples=examples(300), deadline=None)
@given(TEXT, TEXT, TEXT, TEXT, TEXT)
def test_a_picture_contains_names_only_as_quoted_text(
    tool: str, server: str, field: str, parameter: str, inner: str
) -> None:
    graph = world(tool, server, field, parameter, inner)
    made = workflow(graph, {field: "x"})
    for text in (workflow_mermaid(made), edges_mermaid(list(graph.edges()), graph.tools)):
        check_mermaid(text)
    for text in [edges_dot(list(graph.edges()), graph.tools)]:
        check_dot(text)


def check_mermaid(text: str) -> None:
    """Every line is one of ours: what is in quotes has no quote, no bracket and no line end."""
    first, *lines = text.split("\n")
    assert first == "flowchart LR"
    for line in lines:
        assert line.count('"') in {0, 2}, line
        inside = line.split('"')[1] if '"' in line else ""
        assert not set(inside.replace("<br/>", "")) & set("\"'<>[](){}|-`&\r"), line
        outside = "".join(line.split('"')[::2])
        assert set(outside) <= set(
            "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 #,:=-.>|[](){}"
        ), line


def check_dot(text: str) -> None:
    """Outside of quoted texts there is only what we write."""
    assert "\n".join(text.split("\n")) == text
    outside, quoted, escaped = "", False, False
    for letter in text:
        if quoted:
            quoted = escaped or letter != '"'
            escaped = not escaped and letter == "\\"
            assert letter != "\n"
        elif letter == '"':
            quoted = True
        else:
            outside += letter
    assert not quoted
    assert set(outside) <= set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 \n{}[],=->")
