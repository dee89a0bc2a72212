"""The official JSON Schema test suite."""

from __future__ import annotations

import json
from typing import Any

import pytest

from halflap.schema import compile_schema
from support import ROOT

SUITE = ROOT / ".venv" / "json-schema-suite" / "tests"
DRAFTS = {
    "draft2020-12": "https://json-schema.org/draft/2020-12/schema",
    "draft7": "http://json-schema.org/draft-07/schema#",
}
ELSEWHERE = ("http://localhost:1234", "json-schema.org/draft")
"""What these schemas refer to is not in them. Halflap never fetches it, and so holds nothing against them."""
AMBIGUOUS = {
    "A $dynamicRef without anchor in fragment behaves identical to $ref",
    "$ref prevents a sibling $id from changing the base uri",
    "URN ref with nested pointer ref",
    "ref with absolute-path-reference",
    "refs with relative uris and defs",
    "relative refs with absolute uris and defs",
}
"""Schemas whose parts share the last word of their address: the work is not weighed, so it is not done."""


def cases(draft: str) -> list[dict[str, Any]]:
    if not SUITE.exists():
        pytest.skip("needs the JSON Schema test suite; `make test` fetches it")
    return [
        {**case, "schema": {"$schema": DRAFTS[draft], **case["schema"]}}
        for file in sorted((SUITE / draft).glob("*.json"))
        for case in json.loads(file.read_text())
        if isinstance(case["schema"], dict)
    ]


@pytest.mark.parametrize("draft", DRAFTS)
def test_valid_values_are_never_refused(draft: str) -> None:
    refused = [
        (case["description"], test["description"])
        for case in cases(draft)
        if (validator := compile_schema(case["schema"])) is not None
        for test in case["tests"]
        if test["valid"] and validator.problems(test["data"])
    ]
    assert refused == []


@pytest.mark.parametrize("draft", DRAFTS)
def test_invalid_values_are_refused(draft: str) -> None:
    checked, passed = 0, []
    for case in cases(draft):
        text = json.dumps({**case["schema"], "$schema": case["schema"]["$schema"].replace(DRAFTS[draft], "")})
        if case["description"] in AMBIGUOUS or any(place in text for place in ELSEWHERE):
            continue
        validator = compile_schema(case["schema"])
        for test in case["tests"]:
            if not test["valid"]:
                checked += 1
                if validator is None or not validator.problems(test["data"]):
                    passed.append((case["description"], test["description"]))
    assert passed == []
    assert checked > 300
