"""The dspy tools over MCP without DSPy installed: listing, inspecting and reloading work; running says what is missing."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import pytest

from dspy_programs.saved import WORKLET_INPUTS, field, predictor, spec, worklet, write
from server.faces import in_memory
from support import CODES, run_unblocked

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from pathlib import Path

    from mcp import Client

    Ask = Callable[[Client], Awaitable[Any]]

TEXT = [field("text")]
THREE = [
    predictor("read", TEXT, [field("parsed")], "ChainOfThought"),
    predictor("weigh", [field("parsed")], [field("weighed")]),
    predictor("select", [field("weighed")], [field("worklet_id")]),
]
TWO = [predictor("read", TEXT, [field("parsed")]), predictor("route", [field("parsed")], [field("resource")])]
LM = {"model": "openai/test", "api_base": "http://127.0.0.1:9/v1", "api_key": "sk-test"}


@pytest.fixture(autouse=True)
def _no_dspy(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make these fail to import, as where they are not installed."""
    for name in ("dspy", "litellm", "gepa"):
        monkeypatch.setitem(sys.modules, name, None)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "programs"
    one = {"optimizer": "GEPA", "validation_score": 0.95}
    demos = {"read.predict": {"demos": [{"text": "a"}, {"text": "b"}]}}
    write(folder, spec("worklet_selector", *THREE, **one, state=demos))
    other = {"version": "1.2.0", "optimizer": "BootstrapFewShot", "validation_score": 0.88}
    write(folder, spec("resource_router", *TWO, serialized_at="2026-02-27T12:00:00Z", **other))
    (folder / "half.json").write_text('{"name": ')
    return folder


def asked(tmp_path: Path, ask: Ask, **programs: Any) -> Any:
    async def scenario() -> Any:
        async with in_memory(
            tmp_path,
            {},
            {"server": {"families": ["core", "dspy"]}, **({"programs": programs} if programs else {})},
        ) as client:
            return await ask(client)

    return run_unblocked(scenario())


def test_a_reload_that_fails_leaves_the_old_program_in_use(tmp_path: Path, root: Path) -> None:
    async def ask(client: Client) -> Any:
        async def told(tool: str) -> Any:
            answer = await client.call_tool(tool, {"program": "resource_router"})
            return answer.is_error, answer.structured_content

        _, before = await told("dspy_get_program_info")
        write(root, spec("resource_router", *THREE, version="2.0.0"))
        _, unchanged = await told("dspy_get_program_info")
        _, reloaded = await told("dspy_reload_program")
        _, after = await told("dspy_get_program_info")
        (root / "resource_router.json").write_text("{")
        failed, refused = await told("dspy_reload_program")
        _, kept = await told("dspy_get_program_info")
        return before, unchanged, reloaded, after, (failed, refused), kept

    before, unchanged, reloaded, after, (failed, refused), kept = asked(tmp_path, ask, root=str(root))
    assert unchanged == before
    assert reloaded == {
        "status": "reloaded",
        "name": "resource_router",
        "source_hash": after["source_hash"],
        "predictor_count": 3,
        "loaded_at": after["loaded_at"],
    }
    assert (after["version"], after["source_hash"] != before["source_hash"]) == ("2.0.0", True)
    assert (failed, refused["code"]) == (True, "EXECUTION_ERROR")
    assert after["loaded_at"] in refused["message"]
    assert kept == after


@pytest.mark.parametrize(
    ("lm", "advice"), [({}, "programs:\n  lm:"), ({"lm": LM}, "pip install 'halflap[dspy]'")], ids=str
)
def test_without_a_model_or_without_dspy_an_execution_says_what_to_do(
    tmp_path: Path, lm: dict[str, Any], advice: str
) -> None:
    write(tmp_path / "own", worklet())
    arguments = {"program": "worklet_selector", "inputs": WORKLET_INPUTS}

    async def ask(client: Client) -> Any:
        return await client.call_tool("dspy_execute_program", arguments)

    answer = asked(tmp_path, ask, root=str(tmp_path / "own"), **lm)
    assert (answer.is_error, answer.structured_content["code"]) == (True, "EXECUTION_ERROR")
    assert advice in answer.structured_content["message"]
    assert answer.meta["halflap"]["code"] in CODES


def test_programs_are_tools_of_the_catalogue_only_where_they_are_configured(
    tmp_path: Path, root: Path
) -> None:
    async def ask(client: Client) -> Any:
        found = await client.call_tool("list_callable_tools", {})
        assert found.structured_content is not None
        return found.structured_content["result"]

    assert asked(tmp_path, ask, root=str(root)) == ["dspy__resource_router", "dspy__worklet_selector"]
    assert asked(tmp_path, ask) == []
    assert len(asked(tmp_path, ask, lm=LM)) == 4
