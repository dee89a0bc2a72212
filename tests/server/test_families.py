"""Which tools clients see, what they cost, and the codes of their errors."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from halflap.cli.commands.doctor import count_tokens
from halflap.config import Config, FrontConfig
from halflap.gateway import Gateway
from halflap.lint import lint, server_of
from halflap.server import Front
from support import ROOT

ALL = Config(server=FrontConfig(families=("core", "dspy", "gepa")))
GOLDEN = {
    path.stem: path.read_text() for path in (ROOT / "tests" / "acceptance" / "golden" / "answers").iterdir()
}
MOST_TOKENS = 1_800


def definitions(config: Config) -> list[dict[str, Any]]:
    return [dict(tool.definition) for tool in Front(Gateway(config)).tools]


def test_programs_are_shown_once_there_is_a_model() -> None:
    model = Config.from_mapping({"programs": {"lm": {"model": "openai/x"}}})
    with_model, without = [{one["name"] for one in definitions(each)} for each in (model, Config())]
    assert "dspy_execute_program" in with_model - without


def test_the_core_tools_stay_small() -> None:
    if count_tokens("") is None:
        pytest.skip("needs halflap[tokens]")
    # Clients don't pass `_meta` to their models.
    shown = [{key: one[key] for key in one if key != "_meta"} for one in definitions(Config())]
    texts = [json.dumps(one, ensure_ascii=False, separators=(",", ":")) for one in shown]
    assert sum(count_tokens(text) or 0 for text in texts) <= MOST_TOKENS


def test_the_linter_finds_nothing_in_our_own_tools() -> None:
    (server,) = lint([server_of("halflap", definitions(ALL), {})], ALL.lint).servers
    assert list(server.findings) == []


def test_every_code_that_the_acceptance_tests_pin_is_declared() -> None:
    for tool in Front(Gateway(ALL)).tools:
        codes = {*re.findall(r'"code": "([a-z-]+)"', GOLDEN[tool.name])}
        assert codes - {*tool.errors, "invalid-arguments"} == set(), tool.name
