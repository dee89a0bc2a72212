"""docs/lint.md."""

from __future__ import annotations

import json
import re

from halflap.cli.app import _loaded
from halflap.lint import RULES, lint, read_definitions
from halflap.lint.page import page
from halflap.lint.suggest import Draft
from support import ROOT

PAGE = (ROOT / "docs" / "lint.md").read_text()


def test_the_page_is_generated_from_the_rules() -> None:
    assert page() == PAGE, "write it anew: python -m halflap.lint.page docs/lint.md"


def test_every_rule_has_its_reason_fix_and_examples() -> None:
    sections = dict(re.findall(r"^### (\S+)\n(.*?)(?=^### |\Z)", PAGE, re.MULTILINE | re.DOTALL))
    assert list(sections) == [rule.id for rule in RULES]
    for rule in RULES:
        assert f"| [`{rule.id}`](#{rule.id}) | {rule.severity} |" in PAGE
        text = sections[rule.id]
        assert rule.why in text
        assert rule.fix in text
        examples = re.findall(r"```json\n(.*?)```", text, re.DOTALL)
        assert [len(json.loads(one)) for one in examples] == [len(rule.bad.tools), len(rule.good.tools)]


def test_every_option_is_explained() -> None:
    options = {name for one in _loaded("lint").params for name in one.opts if name.startswith("--")}
    everywhere = {"--config", "--verbose", "--help", "--install-completion", "--show-completion"}
    assert {name for name in options - everywhere if f"`{name}`" not in PAGE} == set()


def test_every_field_of_the_json_is_explained() -> None:
    one = {"name": "delete_it", "description": "Delete.", "inputSchema": {"type": "object"}}
    (server,) = lint(read_definitions(json.dumps([one]), "shop", "x")).to_json()["servers"]
    fields = {*server, *server["findings"][0], *server["fixes"][0], *server["unjudged"][0]}
    fields |= {
        *Draft("s", "t", "t", 1, 0.5, {}, "x").to_json(),
        *Draft("s", "t", "t", 0, 0.0, why="x").to_json(),
    }
    assert {name for name in fields if f"`{name}`" not in PAGE} == set()
