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
