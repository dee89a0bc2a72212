"""Tools as typed Python functions."""

from __future__ import annotations

import ast
import keyword
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from halflap.core.values import Tool
from halflap.schema import parse_schema
from halflap.schema.stub import make_stub, write_stubs


def stub_of(takes: Any, gives: Any = None) -> str:
    return make_stub(parse_schema(Tool("mcp__s__t", "s", "t", "", takes, gives))).text


def taking(*required: str, **properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(required)}


HOSTILE = st.one_of(
    st.text(max_size=12),
    st.sampled_from(
        [
            "", "class", "__class__", "_x", "ﬁ", "fi", "a b", "a-b", "x): ...\nimport os #", "\\", '"""', "'''", "\n", "\r",
            "\0", "\ud800", "a\u2028b", "self", "None", "others", "mcp__s__t", "_mcp__s__t__gives", "Any", "…", "x" * 300,
            "f(", "*", "**kw", "/", "=", ":", "]", "[", "{", "#", "print", "\u210c", "\xb5", "E\u0337", "\u0661", "\U0001d518",
        ]
    ),
)  # fmt: skip
SCHEMAS = st.recursive(
    st.one_of(
        st.sampled_from([{}, True, False, {"type": "string"}, {"type": "integer"}, {"type": "null"}, {"type": "boolean"}]),
        st.builds(lambda values: {"enum": values}, st.lists(st.one_of(HOSTILE, st.integers(), st.booleans(), st.none(), st.floats()), max_size=4)),
        st.builds(lambda value: {"const": value}, st.one_of(HOSTILE, st.integers(), st.dictionaries(HOSTILE, st.integers(), max_size=2))),
        st.just({"$ref": "#"}),
    ),
    lambda inner: st.one_of(
        st.builds(lambda items: {"type": "array", "items": items}, inner),
        st.builds(lambda some: {"anyOf": some}, st.lists(inner, min_size=1, max_size=3)),
        st.builds(
            lambda properties, required, others, description, default: {
                "type": "object", "properties": properties, "required": required, "additionalProperties": others,
                "description": description, "default": default,
            },
            st.dictionaries(HOSTILE, inner, max_size=4),
            st.lists(HOSTILE, max_size=3),
            st.one_of(st.booleans(), inner),
            HOSTILE,
            st.one_of(HOSTILE, st.integers(), st.floats(), st.none(), st.lists(st.integers(), max_size=2)),
        ),
    ),
    max_leaves=12,
)  # fmt: skip


@given(takes=SCHEMAS, gives=SCHEMAS, description=HOSTILE)
def test_hostile_definitions_give_exactly_the_intended_statements(
    takes: Any, gives: Any, description: str
) -> None:
    schema = {"type": "object", "properties": {"a": takes}} if not isinstance(takes, dict) else takes
    output = gives if isinstance(gives, dict) else None
    tool = Tool("mcp__s__t", "s", "t", description, schema, output)
    stub = make_stub(parse_schema(tool))
    module = ast.parse(write_stubs([stub]))
    # What every program finds comes first, and is ours.
    own = [node for node in module.body if _name(node) in {"", "ToolError", "show", "call_tool"}]
    made = [node for node in module.body if node not in own]
    assert len(own) == 5
    *records, function = made
    assert _name(function) == "mcp__s__t"
    assert all(_name(node).startswith("_mcp__s__t__") for node in records)
    assert len({_name(node) for node in records}) == len(records)
    assert {record.name for record in stub.records} <= {_name(node) for node in records}
    assert isinstance(function, ast.AsyncFunctionDef)
    parameters = {one.name for one in parse_schema(tool).parameters}
    assert {one.arg for one in function.args.kwonlyargs} <= parameters
    assert all(not keyword.iskeyword(one.arg) for one in function.args.kwonlyargs)
    assert [type(node) for node in function.body] == [ast.Expr]
    for record in records:
        assert isinstance(record, ast.ClassDef | ast.Assign | ast.AnnAssign)
        if isinstance(record, ast.ClassDef):
            assert all(isinstance(one, ast.AnnAssign) for one in record.body)


def _name(node: ast.stmt) -> str:
    if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
        return node.name
    if isinstance(node, ast.Assign | ast.AnnAssign):
        target = node.targets[0] if isinstance(node, ast.Assign) else node.target
        return target.id if isinstance(target, ast.Name) else "?"
    return "" if isinstance(node, ast.ImportFrom) else "?"


def test_a_tool_is_an_async_function_with_named_arguments() -> None:
    takes = taking(
        "id",
        id={"type": "string"},
        limit={"type": "integer", "default": 10},
        order={"enum": ["asc", "desc"], "default": "asc"},
        since={"type": ["string", "null"]},
        ids={"type": "array", "items": {"type": "integer"}},
        exact={"type": "boolean"},
        at_least={"type": "number"},
    )
    assert stub_of(takes) == (
        "async def mcp__s__t(id: str, *, limit: int=10, order: Literal['asc', 'desc']='asc', since: str | None=..., "
        "ids: list[int] | tuple[int, ...]=..., exact: bool=..., at_least: float=...) -> Any:\n    ..."
    )


def test_objects_are_typed_dicts_with_optional_keys_marked() -> None:
    gives = taking("a", a={"type": "string"}, b=taking(c={"type": "number"}))
    assert stub_of({"type": "object"}, gives) == (
        "class _mcp__s__t__gives_b(TypedDict):\n    c: NotRequired[float]\n\n"
        "class _mcp__s__t__gives(TypedDict):\n    a: str\n    b: NotRequired[_mcp__s__t__gives_b]\n\n"
        "async def mcp__s__t(**others: Any) -> _mcp__s__t__gives:\n    ..."
    )


def test_keys_that_are_no_identifiers_are_kept_as_text() -> None:
    text = stub_of({}, taking("a-b", **{"a-b": {"type": "string"}, "class": {"type": "integer"}}))
    assert "TypedDict('_mcp__s__t__gives', {'a-b': 'str', 'class': 'NotRequired[int]'})" in text


def test_a_map_is_a_dict_and_a_wrapper_is_removed() -> None:
    assert "-> dict[str, float]" in stub_of(
        {}, {"type": "object", "additionalProperties": {"type": "number"}}
    )
    assert "-> list[str]" in stub_of({}, taking(result={"type": "array", "items": {"type": "string"}}))
