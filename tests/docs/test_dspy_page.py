"""docs/dspy-programs.md."""

from __future__ import annotations

import re

from halflap.dspy.library import Library
from halflap.dspy.spec import read_spec
from support import ROOT

PAGE = (ROOT / "docs" / "dspy-programs.md").read_text(encoding="utf-8")


def test_the_program_on_the_page_is_valid_and_wired_as_it_says() -> None:
    _, text = re.findall(r"^```json\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    found = read_spec(text.encode(), "triage")
    assert [one.name for one in found.inputs] == ["message", "tone"]
    assert [one.name for one in found.outputs] == ["topic", "reply"]
    assert "The program above takes `message` and `tone`, and returns `topic` and `reply`." in PAGE
    assert found.flow.predictors["draft"]["about"] == "sort.topic"
    assert found.input_schema["required"] == ["message"]


def test_the_bundled_programs_are_listed_with_their_fields() -> None:
    rows = dict(re.findall(r"^\| `(\w+)` \| (`.*)\|$", PAGE, re.MULTILINE))
    shelf = Library(None).read().valid
    for name, one in shelf.items():
        takes, gives = rows[name].split("|")
        assert re.findall(r"`(\w+)`( \(may be left out\))?", takes) == [
            (field.name, " (may be left out)" if "default" in field.json_schema else "")
            for field in one.spec.inputs
        ]
        assert re.findall(r"`(\w+)`", gives) == [field.name for field in one.spec.outputs]
