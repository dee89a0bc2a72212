"""Which tools clients see, and what they cost."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from halflap.cli.commands.doctor import count_tokens
from halflap.config import Config, FrontConfig
from halflap.gateway import Gateway
from halflap.lint import lint, server_of
from halflap.server import Front

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine
    from typing import Any


def test_programs_are_shown_once_there_is_a_model(run: Callable[[Coroutine[Any, Any, Any]], Any]) -> None:
    async def families(config: Config) -> set[str]:
        return {tool.name.partition("_")[0] for tool in Front(Gateway(config)).tools}

    model = Config.from_mapping({"programs": {"lm": {"model": "openai/x"}}})
    assert "dspy" in run(families(model)) - run(families(Config()))


MOST_TOKENS = 1_800


def definitions(config: Config, run: Callable[[Coroutine[Any, Any, Any]], Any]) -> list[dict[str, Any]]:
    async def dumped() -> list[dict[str, Any]]:
        tools = Front(Gateway(config)).tools
        return [dict(tool.definition) for tool in tools]

    found: list[dict[str, Any]] = run(dumped())
    return found


def test_the_core_tools_stay_small(run: Callable[[Coroutine[Any, Any, Any]], Any]) -> None:
    if count_tokens("") is None:
        pytest.skip("needs halflap[tokens]")
    # Clients don't pass `_meta` to their models.
    shown = [{key: one[key] for key in one if key != "_meta"} for one in definitions(Config(), run)]
    texts = [json.dumps(one, ensure_ascii=False, separators=(",", ":")) for one in shown]
    assert sum(count_tokens(text) or 0 for text in texts) <= MOST_TOKENS


def test_the_linter_finds_nothing_in_our_own_tools(run: Callable[[Coroutine[Any, Any, Any]], Any]) -> None:
    config = Config(server=FrontConfig(families=("core", "dspy", "gepa")))
    ours = server_of("halflap", definitions(config, run), {})
    (server,) = lint([ours], config.lint).servers
    assert list(server.findings) == []
