"""The tools of the dspy family over MCP, where DSPy is not installed: all that needs none of it, and what says so."""

from __future__ import annotations

import asyncio
import json
import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import jsonschema_rs
import pytest
from blockbuster import blockbuster_ctx
from mcp import Client

from halflap.codes import CODES
from halflap.config import Config
from halflap.gateway import Gateway
from halflap.server.app import Front
from programs.saved import WORKLET_INPUTS, field, manifest, predictor, worklet, write

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from pathlib import Path

    Ask = Callable[[Client], Awaitable[Any]]

TEXT = [field("text")]
THREE = [
    predictor("read", TEXT, [field("parsed")], "ChainOfThought"),
    predictor("weigh", [field("parsed")], [field("weighed")]),
    predictor("select", [field("weighed")], [field("worklet_id")]),
]
TWO = [predictor("read", TEXT, [field("parsed")]), predictor("route", [field("parsed")], [field("resource")])]
LM = {"model": "openai/test", "api_base": "http://127.0.0.1:9/v1", "api_key": "sk-test"}
NAME = {"type": "string"}
SHIPPED = "Program name: worklet_selector, resource_router, anomaly_forensics, runtime_adaptation"


@pytest.fixture(autouse=True)
def _no_dspy(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever imports one of these fails, as where they are not installed."""
    for name in ("dspy", "litellm", "gepa"):
        monkeypatch.setitem(sys.modules, name, None)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "programs"
    one = {"optimizer": "GEPA", "validation_score": 0.95}
    write(
        folder, manifest("worklet_selector", *THREE, **one), {"read.predict": [{"text": "a"}, {"text": "b"}]}
    )
    other = {"version": "1.2.0", "optimizer": "BootstrapFewShot", "validation_score": 0.88}
    write(folder, manifest("resource_router", *TWO, serialized_at="2026-02-27T12:00:00Z", **other))
    (folder / "half").mkdir()
    (folder / "half" / "manifest.json").write_text('{"name": ')
    (folder / "half" / "state.json").write_text("{}")
    return folder


def asked(tmp_path: Path, ask: Ask, **programs: Any) -> Any:
    config = Config.from_mapping({"programs": programs} if programs else {})

    async def scenario() -> Any:
        own = replace(config, data_dir=tmp_path / "data")
        async with Gateway.open(own) as gateway, Client(Front(gateway).server) as client:
            return await ask(client)

    with blockbuster_ctx("halflap"):
        return asyncio.run(scenario())


def answer_of(tmp_path: Path, tool: str, arguments: dict[str, Any], **programs: Any) -> Any:
    """Give what a tool answers; it has to be as it is declared, and the same as text."""

    async def ask(client: Client) -> Any:
        (declared,) = (one for one in (await client.list_tools()).tools if one.name == tool)
        found = await client.call_tool(tool, arguments)
        assert found.content[0].text == json.dumps(found.structured_content, indent=2, ensure_ascii=False)  # type: ignore[union-attr]
        assert declared.output_schema is not None
        jsonschema_rs.validate(declared.output_schema, found.structured_content)
        return found

    return asked(tmp_path, ask, **programs)


def failure(tmp_path: Path, tool: str, arguments: dict[str, Any], **programs: Any) -> tuple[str, str]:
    found = answer_of(tmp_path, tool, arguments, **programs)
    told = found.structured_content
    assert (found.is_error, sorted(told), told["error"]) == (True, ["code", "error", "message"], True)
    assert found.meta["halflap"]["code"] in CODES
    return told["code"], told["message"]


def test_the_tools_take_what_their_documents_say(tmp_path: Path) -> None:
    async def ask(client: Client) -> Any:
        return {one.name: one for one in (await client.list_tools()).tools}

    tools = asked(tmp_path, ask)
    takes = {name: tool.input_schema for name, tool in tools.items() if name.startswith("dspy_")}
    assert takes == {
        "dspy_execute_program": {
            "type": "object",
            "required": ["program", "inputs"],
            "properties": {
                "program": {**NAME, "description": SHIPPED},
                "inputs": {
                    "type": "object",
                    "description": "Program-specific inputs matching the DSPy signature",
                },
            },
        },
        "dspy_list_programs": {"type": "object", "properties": {}},
        "dspy_get_program_info": {
            "type": "object",
            "required": ["program"],
            "properties": {"program": {**NAME, "description": "Program name to get info for"}},
        },
        "dspy_reload_program": {
            "type": "object",
            "required": ["program"],
            "properties": {"program": {**NAME, "description": "Program name to reload"}},
        },
    }
    hints = {name: tools[name].annotations for name in takes}
    assert {name for name, one in hints.items() if one.read_only_hint} == {
        "dspy_list_programs",
        "dspy_get_program_info",
    }
    assert {name for name, one in hints.items() if one.destructive_hint} == {"dspy_execute_program"}


def test_programs_are_listed_as_documented_and_broken_ones_beside_them(tmp_path: Path, root: Path) -> None:
    found = answer_of(tmp_path, "dspy_list_programs", {}, root=str(root)).structured_content
    broken = found.pop("broken")
    assert found == {
        "programs": [
            {
                "name": "resource_router",
                "version": "1.2.0",
                "predictor_count": 2,
                "optimizer": "BootstrapFewShot",
                "validation_score": 0.88,
                "serialized_at": "2026-02-27T12:00:00Z",
            },
            {
                "name": "worklet_selector",
                "version": "1.0.0",
                "predictor_count": 3,
                "optimizer": "GEPA",
                "validation_score": 0.95,
                "serialized_at": "2026-02-28T00:00:00Z",
            },
        ],
        "total_count": 2,
    }
    assert [one["name"] for one in broken] == ["half"]
    assert "manifest.json" in broken[0]["reason"]


def test_without_a_folder_those_are_listed_that_ship_with_halflap(tmp_path: Path) -> None:
    found = answer_of(tmp_path, "dspy_list_programs", {}).structured_content
    assert {one["name"] for one in found["programs"]} == {
        "worklet_selector",
        "resource_router",
        "anomaly_forensics",
        "runtime_adaptation",
    }
    assert {(one["optimizer"], one["validation_score"]) for one in found["programs"]} == {("none", None)}
    assert (found["total_count"], found["broken"]) == (4, [])


def test_a_program_is_told_of_as_documented(tmp_path: Path, root: Path) -> None:
    asking = {"program": "worklet_selector"}
    found = answer_of(tmp_path, "dspy_get_program_info", asking, root=str(root)).structured_content
    assert list(found) == [
        "name",
        "version",
        "dspy_version",
        "source_hash",
        "optimizer",
        "validation_score",
        "serialized_at",
        "loaded_at",
        "predictors",
    ]
    assert len(found["source_hash"]) == 64
    assert found["loaded_at"].endswith("Z")
    assert found["predictors"] == [
        {
            "name": "read",
            "input_fields": ["text"],
            "output_fields": ["parsed"],
            "few_shot_example_count": 2,
        },
        {
            "name": "weigh",
            "input_fields": ["parsed"],
            "output_fields": ["weighed"],
            "few_shot_example_count": 0,
        },
        {
            "name": "select",
            "input_fields": ["weighed"],
            "output_fields": ["worklet_id"],
            "few_shot_example_count": 0,
        },
    ]


def test_a_reload_says_what_was_loaded_and_a_broken_one_leaves_the_old_in_use(
    tmp_path: Path, root: Path
) -> None:
    async def ask(client: Client) -> Any:
        async def told(tool: str) -> Any:
            answer = await client.call_tool(tool, {"program": "resource_router"})
            return answer.is_error, answer.structured_content

        _, before = await told("dspy_get_program_info")
        write(root, manifest("resource_router", *THREE, version="2.0.0"))
        _, unchanged = await told("dspy_get_program_info")
        _, reloaded = await told("dspy_reload_program")
        _, after = await told("dspy_get_program_info")
        (root / "resource_router" / "state.json").write_text("{")
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
    assert "state.json" in refused["message"]
    assert "Version 2.0.0, loaded at" in refused["message"]
    assert kept == after


@pytest.mark.parametrize("tool", ["dspy_execute_program", "dspy_get_program_info", "dspy_reload_program"])
def test_a_program_that_there_is_not_is_answered_with_those_that_there_are(
    tmp_path: Path, root: Path, tool: str
) -> None:
    arguments = {"program": "unknown_program", "inputs": {"a": 1}}
    assert failure(tmp_path, tool, arguments, root=str(root)) == (
        "PROGRAM_NOT_FOUND",
        "Program not found: unknown_program. Available programs: [resource_router, worklet_selector]",
    )


@pytest.mark.parametrize("inputs", [{}, {"inputs": {}}, {"inputs": None}])
def test_missing_or_empty_inputs_are_answered_to_the_letter(tmp_path: Path, inputs: dict[str, Any]) -> None:
    assert failure(tmp_path, "dspy_execute_program", {"program": "worklet_selector", **inputs}) == (
        "INVALID_INPUTS",
        "Parameter 'inputs' is required and must not be empty",
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"inputs": {"a": 1}}, "Parameter 'program' is required and must not be empty"),
        ({"program": ""}, "Parameter 'program' is required and must not be empty"),
        ({"program": 7}, "Parameter 'program' must be a string, the name of a program, not a number"),
        ({"program": ["a"]}, "Parameter 'program' must be a string, the name of a program, not a list"),
        (
            {"program": "worklet_selector", "inputs": "text"},
            "Parameter 'inputs' must be an object with the program's input fields, not a text",
        ),
        (
            {"program": "worklet_selector", "inputs": []},
            "Parameter 'inputs' must be an object with the program's input fields, not a list",
        ),
    ],
)
def test_arguments_that_are_none_are_answered_with_what_is_wanted(
    tmp_path: Path, arguments: dict[str, Any], message: str
) -> None:
    assert failure(tmp_path, "dspy_execute_program", arguments) == ("INVALID_INPUTS", message)


@pytest.mark.parametrize(
    ("inputs", "named"),
    [
        ({"workflow_description": "a"}, "case_context"),
        ({**WORKLET_INPUTS, "colour": "red"}, "colour"),
        ({**WORKLET_INPUTS, "case_context": 7}, "case_context"),
    ],
)
def test_inputs_that_do_not_fit_are_named_before_anything_else_is_needed(
    tmp_path: Path, inputs: dict[str, Any], named: str
) -> None:
    write(tmp_path / "own", worklet())
    code, message = failure(
        tmp_path,
        "dspy_execute_program",
        {"program": "worklet_selector", "inputs": inputs},
        root=str(tmp_path / "own"),
    )
    assert (code, named in message) == ("INVALID_INPUTS", True)


def test_without_a_model_an_execution_says_what_to_configure(tmp_path: Path) -> None:
    write(tmp_path / "own", worklet())
    arguments = {"program": "worklet_selector", "inputs": WORKLET_INPUTS}
    own: dict[str, Any] = {"root": str(tmp_path / "own")}
    for programs in ({}, own):
        code, message = failure(tmp_path, "dspy_execute_program", arguments, **programs)
        assert (code, "programs:\n  lm:" in message) == ("EXECUTION_ERROR", True)


def test_without_dspy_an_execution_says_how_to_install_it(tmp_path: Path) -> None:
    write(tmp_path / "own", worklet())
    arguments = {"program": "worklet_selector", "inputs": WORKLET_INPUTS}
    code, message = failure(tmp_path, "dspy_execute_program", arguments, root=str(tmp_path / "own"), lm=LM)
    assert (code, "pip install 'halflap[dspy]'" in message) == ("EXECUTION_ERROR", True)


def test_a_finder_that_raises_is_as_good_as_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Refusing:
        def find_spec(self, name: str, *_: Any) -> None:
            if name == "dspy":
                raise ModuleNotFoundError(name=name)

    write(tmp_path / "own", worklet())
    monkeypatch.delitem(sys.modules, "dspy")
    monkeypatch.setattr(sys, "meta_path", [Refusing(), *sys.meta_path])
    own: dict[str, Any] = {"root": str(tmp_path / "own"), "lm": LM}
    arguments = {"program": "worklet_selector", "inputs": WORKLET_INPUTS}
    code, message = failure(tmp_path, "dspy_execute_program", arguments, **own)
    assert (code, "pip install 'halflap[dspy]'" in message) == ("EXECUTION_ERROR", True)
    reloaded = answer_of(tmp_path, "dspy_reload_program", {"program": "worklet_selector"}, **own)
    assert reloaded.structured_content["status"] == "reloaded"


def test_a_broken_program_is_told_of_with_what_is_wrong(tmp_path: Path, root: Path) -> None:
    code, message = failure(tmp_path, "dspy_get_program_info", {"program": "half"}, root=str(root))
    assert code == "EXECUTION_ERROR"
    assert "manifest.json" in message


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


def test_a_program_is_searched_and_inspected_like_any_tool(tmp_path: Path) -> None:
    write(tmp_path / "own", worklet())

    async def ask(client: Client) -> Any:
        found = await client.call_tool("search_tools", {"query": "worklet selector"})
        inspected = await client.call_tool("inspect_tool", {"tool_name": "dspy__worklet_selector"})
        wrong = await client.call_tool("execute_program", {"code": "await dspy__worklet_selecter(a=1)"})
        keyed = await client.call_tool(
            "execute_program",
            {"code": f"print((await dspy__worklet_selector(**{WORKLET_INPUTS}))['worklet'])"},
        )
        return found.structured_content, inspected.structured_content, wrong, keyed

    found, inspected, wrong, keyed = asked(tmp_path, ask, root=str(tmp_path / "own"))
    assert found["tools"][0]["name"] == "dspy__worklet_selector"
    assert inspected["server"] == "dspy"
    assert list(inspected["outputSchema"]["properties"]) == ["worklet_id", "rationale", "confidence"]
    assert (inspected["annotations"]["readOnly"], inspected["annotations"]["destructive"]) == (True, None)
    assert "Did you mean dspy__worklet_selector?" in wrong.content[0].text
    assert "worklet_id" in keyed.content[0].text
    assert keyed.meta["halflap"]["code"] == "run-mistaken"


def test_new_folders_are_found_and_those_that_are_gone_are_let_go_of(tmp_path: Path, root: Path) -> None:
    async def ask(client: Client) -> Any:
        async def names() -> list[str]:
            found = await client.call_tool("list_callable_tools", {})
            assert found.structured_content is not None
            return [name.removeprefix("dspy__") for name in found.structured_content["result"]]

        first = await names()
        write(root, worklet("added"))
        second = await names()
        (root / "resource_router").rename(root.parent / "elsewhere")
        return first, second, await names()

    first, second, third = asked(tmp_path, ask, root=str(root))
    assert first == ["resource_router", "worklet_selector"]
    assert second == ["added", *first]
    assert third == ["added", "worklet_selector"]
