"""The official JSON Schema test suite."""

from __future__ import annotations

import json
import re
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
NAMED = re.compile(r'"\$(?:ref|dynamicRef)": "(?!#"|#/)|"\$ref": "#[^"]*", "\$id"|"\$recursiveRef"')
"""References by anchor or address are not followed: values that they lead to are not checked."""


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
        if NAMED.search(text) or any(place in text for place in ELSEWHERE):
            continue
        validator = compile_schema(case["schema"])
        for test in case["tests"]:
            if not test["valid"]:
                checked += 1
                if validator is None or not validator.problems(test["data"]):
                    passed.append((case["description"], test["description"]))
    assert passed == []
    assert checked > 300
