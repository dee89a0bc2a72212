"""Anything may stand where a schema is expected: nothing raises, and output is bounded."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from halflap.calls import Policy
from halflap.config import Config
from halflap.core.text import clean
from halflap.core.values import Tool
from halflap.gateway.tools import describe
from halflap.schema import is_wrapped, parse_schema, try_compile

ODD_LETTERS = "\u200b\u202e\x1b\x00\n\r\t\x85\u2028\u2029\ud800\u3164\u00a0\U000e0041"
TEXTS = st.text(alphabet=st.characters(exclude_categories=()) | st.sampled_from(ODD_LETTERS), max_size=8)
REFERENCES = st.sampled_from(
    ["", "#", "##", "#/", "#//", "#/%", "#/~", "#/~2", "#/$defs/a", "#/$defs/a~1b", "#/$defs/%7E0", "#/$defs/c%20d",
     "#/properties/a", "#/allOf/0", "#/allOf/99", "#/allOf/-1", "#/allOf/²", "#named", "#/$defs", "other.json",
     "other.json#/a", "http://127.0.0.1:9/x#y", "file:///x", "::", "%zz", "urn:x:y", "a/b#c#d", "#" * 500]
)  # fmt: skip
DATA: Any = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=6,
)
NAMES = st.sampled_from(["a", "a/b", "c d", "~", "result", "…", ""]) | TEXTS


def _schemas(inner: Any) -> Any:
    schemas = st.lists(inner, max_size=3)
    named = st.dictionaries(NAMES, inner, max_size=3)
    words: dict[str, Any] = {
        "type": st.sampled_from(["object", "array", "string", "integer", "nonsense"]) | DATA,
        "required": st.lists(NAMES, max_size=3) | DATA,
        **dict.fromkeys(("$ref", "$dynamicRef", "$id", "$recursiveRef"), REFERENCES | DATA),
        **dict.fromkeys(("$anchor", "$dynamicAnchor"), st.sampled_from(["named", "a"]) | DATA),
        **dict.fromkeys(("allOf", "anyOf", "oneOf", "prefixItems"), schemas | DATA),
        **dict.fromkeys(("properties", "$defs", "patternProperties", "dependentSchemas"), named | DATA),
        **dict.fromkeys(("not", "if", "additionalProperties", "contains", "unevaluatedProperties"), inner),
        "items": inner | schemas,
        "additionalItems": inner,
        **dict.fromkeys(("enum", "const", "default", "minimum", "maxLength", "examples", "format"), DATA),
        "pattern": TEXTS | st.sampled_from(["(a+)+$", "(", r"\1", "^a"]),
        "nullable": st.booleans(),
        **dict.fromkeys(("description", "title", "$comment"), TEXTS | DATA),
        "$schema": st.sampled_from(
            [
                "http://json-schema.org/draft-07/schema#",
                "https://json-schema.org/draft/2020-12/schema",
                "x",
                7,
            ]
        ),
    }
    return st.fixed_dictionaries({}, optional=words) | st.dictionaries(
        st.sampled_from(sorted(words)), inner, max_size=4
    )


SCHEMAS: Any = st.recursive(st.booleans() | DATA, _schemas, max_leaves=8)
POLICY = Policy(Config.from_mapping({"servers": []}))


def definition(schema: Any, output: Any = None) -> Tool:
    return Tool("mcp__s__t", "s", "t", "A tool.", schema, output)


def is_harmless(text: str, kept: str = "") -> bool:
    """Return whether every character of a text is visible and can be sent."""
    text.encode()
    return clean(text, 10_000_000) == text and not set(text) & (set("\n\t") - set(kept))


@given(SCHEMAS, SCHEMAS)
def test_any_schema_is_parsed_and_written_within_bounds(schema: Any, output: Any) -> None:
    parsed = parse_schema(definition(schema, output))
    assert len(parsed.format_compact()) <= 4_000
    assert is_harmless(parsed.format_compact())
    assert len(parsed.format_compact().splitlines()) == 1
    text = parsed.format_for_llm()
    assert len(text) < 500_000
    assert is_harmless(text, kept="\n")
    assert len(text.splitlines()) == text.count("\n") + 1
    assert all(is_harmless(one.type) for one in parsed.parameters)
    assert isinstance(is_wrapped(output), bool)


@given(SCHEMAS)
def test_any_schema_is_described_without_invisible_letters(schema: Any) -> None:
    described = describe(definition(schema, schema), POLICY)
    text = json.dumps(described, ensure_ascii=False, indent=2, allow_nan=False)
    assert is_harmless(text, kept="\n")
    assert all(len(line) < 10_000 for line in text.splitlines())


@given(SCHEMAS, DATA)
def test_validating_against_any_schema_never_raises(schema: Any, value: Any) -> None:
    validator = try_compile(schema)
    if isinstance(validator, str):
        assert validator
        assert is_harmless(validator)
        return
    for problem in validator.problems(value):
        assert is_harmless(str(problem))
        assert len(str(problem)) < 4_000
