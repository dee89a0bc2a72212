from __future__ import annotations

import asyncio
import json
import signal
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jsonschema_rs
import pytest
from mcp.shared.exceptions import MCPError

from cli.program import OLD, configure, halflap
from server.faces import stdio_face, wired
from support import PATIENCE, alive, children_of, eventually, python_server

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterator

    from mcp_types import CallToolResult, Tool

    from server.faces import Wire

    Run = Callable[[Coroutine[Any, Any, Any]], Any]

NAMES = ["mcp__alpha__bare", "mcp__alpha__hello", "mcp__alpha__sloppy"]
NAMES += [name.replace("alpha", "zeta") for name in NAMES]


@dataclass(frozen=True)
class Talk:
    """All that was said in one conversation."""

    mode: str
    version: str
    instructions: str
    tools: list[Tool]
    listed: CallToolResult
    wrong: CallToolResult
    unknown: MCPError
    stderr: str


@pytest.fixture(scope="module", params=["auto", pytest.param("legacy", marks=pytest.mark.slow)])
def talk(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Talk:
    home = tmp_path_factory.mktemp("talk")
    config = configure(home, *({**OLD, "name": name} for name in ("zeta", "alpha")))

    async def scenario() -> Talk:
        with (home / "stderr").open("w+") as errors:
            async with stdio_face(config, home, mode=request.param, errors=errors) as client:
                tools = (await client.list_tools()).tools
                listed = await client.call_tool("list_callable_tools", {})
                wrong = await client.call_tool("list_callable_tools", {"server": "alpha"})
                with pytest.raises(MCPError) as unknown:
                    await client.call_tool("list_calable_tools", {})
                version, instructions = client.protocol_version, client.instructions
            errors.seek(0)
            return Talk(
                mode=request.param,
                version=version,
                instructions=instructions or "",
                tools=tools,
                listed=listed,
                wrong=wrong,
                unknown=unknown.value,
                stderr=errors.read(),
            )

    return asyncio.run(scenario())


def test_both_eras_are_spoken(talk: Talk) -> None:
    assert talk.version == {"auto": "2026-07-28", "legacy": "2025-11-25"}[talk.mode]


def test_there_is_a_fixed_handful_of_tools(talk: Talk) -> None:
    assert [tool.name for tool in talk.tools] == [
        "list_callable_tools",
        "inspect_tool",
        "search_tools",
        "execute_program",
        "suggest_workflow",
        "dspy_execute_program",
        "dspy_list_programs",
        "dspy_get_program_info",
        "dspy_reload_program",
        "gepa_optimize_workflow",
        "gepa_validate_footprint",
        "gepa_score_workflow",
    ]


def test_the_instructions_name_the_tool(talk: Talk) -> None:
    assert "list_callable_tools" in talk.instructions


def test_the_tools_annotations_say_that_it_changes_nothing(talk: Talk) -> None:
    annotations = talk.tools[0].annotations
    assert annotations is not None
    assert annotations.read_only_hint is True
    assert annotations.destructive_hint is False
    assert annotations.idempotent_hint is True
    assert annotations.open_world_hint is False


def test_the_tool_takes_no_arguments(talk: Talk) -> None:
    schema = talk.tools[0].input_schema
    assert schema == {"type": "object", "properties": {}, "additionalProperties": False}


def test_the_description_says_what_comes_back(talk: Talk) -> None:
    assert "sorted JSON array" in (talk.tools[0].description or "")


def test_the_text_is_the_sorted_array_with_an_indent_of_two(talk: Talk) -> None:
    assert [block.model_dump()["text"] for block in talk.listed.content] == [json.dumps(NAMES, indent=2)]


def test_the_structured_content_fits_the_declared_schema(talk: Talk) -> None:
    schema = talk.tools[0].output_schema
    assert schema is not None
    assert schema["type"] == "object"
    jsonschema_rs.validate(schema, talk.listed.structured_content)


def test_the_structured_content_is_the_array_in_an_object(talk: Talk) -> None:
    assert talk.listed.structured_content == {"result": NAMES}


def test_wrong_arguments_are_an_error_that_says_which(talk: Talk) -> None:
    assert talk.wrong.is_error
    assert "server: no such key" in talk.wrong.content[0].model_dump()["text"]


def test_an_unknown_tool_is_a_protocol_error_that_names_the_known(talk: Talk) -> None:
    assert talk.unknown.code == -32602
    assert talk.unknown.message.endswith(
        "There are: dspy_execute_program, dspy_get_program_info, dspy_list_programs, dspy_reload_program, "
        "execute_program, gepa_optimize_workflow, gepa_score_workflow, gepa_validate_footprint, inspect_tool, "
        "list_callable_tools, search_tools, suggest_workflow."
    )


def test_a_healthy_run_says_nothing_on_stderr_of_its_own(talk: Talk) -> None:
    # What the sloppy server of these tests does wrong is told once for each; nothing else is.
    about_servers = [line for line in talk.stderr.splitlines() if "a tool without a name" in line]
    assert talk.stderr.splitlines() == about_servers


def test_a_hanging_server_among_many_does_not_delay_the_list_of_tools(run: Run, tmp_path: Path) -> None:
    hang = python_server("hang", "hang.py", start_timeout_seconds=1_000)
    config = configure(tmp_path, hang, *({**OLD, "name": f"old{number}"} for number in range(24)))

    async def scenario() -> None:
        with (tmp_path / "stderr").open("w") as errors:
            async with stdio_face(config, tmp_path, mode="auto", errors=errors) as client:
                # It would take longer than a test may.
                await client.list_tools()

    run(scenario())


def test_a_servers_noise_does_not_get_into_the_protocol(tmp_path: Path) -> None:
    script = str(Path(__file__).with_name("flooding.py"))
    config = configure(
        tmp_path, {"name": "flooding", "command": sys.executable, "args": [script], "protocol": "legacy"}
    )
    with wired(config, tmp_path) as wire:
        wire.greet()
        answer = wire.ask("tools/call", name="list_callable_tools", arguments={})
        assert answer["result"]["structuredContent"] == {"result": ["mcp__flooding__calm"]}


def test_servers_that_cannot_be_listed_are_told_of_beside_the_array(tmp_path: Path) -> None:
    config = configure(tmp_path, OLD, python_server("dies", "dies_at_start.py"))
    with wired(config, tmp_path) as wire:
        wire.greet()
        answer = wire.ask("tools/call", name="list_callable_tools", arguments={})
        array, note = (block["text"] for block in answer["result"]["content"])
        assert json.loads(array) == ["mcp__old__bare", "mcp__old__hello", "mcp__old__sloppy"]
        assert note.startswith("Not in this list: Server 'dies': its process ended with exit code 7.")


def test_a_store_that_is_broken_is_told_to_who_calls_a_tool(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "halflap.db").write_bytes(b"this is no database" * 100)
    with wired(configure(tmp_path, OLD), tmp_path) as wire:
        wire.greet()
        result = wire.ask("tools/call", name="list_callable_tools", arguments={})["result"]
        assert result["isError"] is True
        assert str(tmp_path / "data" / "halflap.db") in result["content"][0]["text"]


def test_closing_stdin_ends_it_in_order_with_all_its_servers(tmp_path: Path) -> None:
    with wired(configure(tmp_path, OLD, {**OLD, "name": "other"}), tmp_path) as wire:
        children = busy(wire)
        assert wire.process.stdin is not None
        wire.process.stdin.close()
        assert wire.process.wait(PATIENCE) == 0
        assert eventually(lambda: not any(alive(pid) for pid in children))


@pytest.mark.parametrize("number", [signal.SIGTERM, pytest.param(signal.SIGINT, marks=pytest.mark.slow)])
def test_a_signal_ends_it_in_order_with_all_its_servers(tmp_path: Path, number: signal.Signals) -> None:
    with wired(configure(tmp_path, OLD, {**OLD, "name": "other"}), tmp_path) as wire:
        children = busy(wire)
        wire.process.send_signal(number)
        assert wire.process.wait(PATIENCE) == 0
        assert eventually(lambda: not any(alive(pid) for pid in children))
        assert wire.process.stderr is not None
        assert b"Traceback" not in wire.process.stderr.read()


def test_a_signal_ends_it_while_a_server_hangs_and_the_client_waits(tmp_path: Path) -> None:
    with wired(configure(tmp_path, python_server("hang", "hang.py")), tmp_path) as wire:
        wire.greet()
        wire.send(
            b'{"jsonrpc": "2.0", "id": 9, "method": "tools/call", "params": {"name": "list_callable_tools"}}'
        )
        assert eventually(lambda: len(children_of(wire.process.pid)) >= 2)
        wire.process.send_signal(signal.SIGTERM)
        assert wire.process.wait(PATIENCE) == 0


@pytest.fixture(scope="module")
def patient(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Wire]:
    home = tmp_path_factory.mktemp("patient")
    with wired(configure(home), home) as wire:
        wire.greet()
        yield wire


@pytest.mark.parametrize(
    "line",
    [
        b"garbage",
        b"",
        b'{"jsonrpc": "2.0", "id": 1, "method": ',
        b"[1, 2, 3]",
        b"null",
        b'{"jsonrpc": "2.0"}',
        b'{"jsonrpc": "2.0", "id": 2, "method": "no/such/method", "params": {}}',
        b'{"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": [1]}',
        b'{"jsonrpc": "2.0", "id": 3, "result": {}}',
        b"\xff\xfe\x80\x00",
        b"x" * 10_000_000,
        b'{"jsonrpc": "2.0", "method": "notifications/x", "params": {"text": "' + b"x" * 10_000_000 + b'"}}',
        b"[" * 100_000,
    ],
    ids=lambda line: line[:30].decode(errors="replace") + (" …" if len(line) > 30 else ""),
)
def test_a_bad_line_on_stdin_does_not_end_it(patient: Wire, line: bytes) -> None:
    patient.send(line)
    assert "result" in patient.ask("ping")


@pytest.fixture(scope="module")
def at_end_of_input(tmp_path_factory: pytest.TempPathFactory) -> Any:
    home = tmp_path_factory.mktemp("end")
    return halflap("serve", "-c", configure(home, OLD), home=home)


def test_no_input_at_all_is_an_ordinary_end(at_end_of_input: Any) -> None:
    assert (at_end_of_input.code, at_end_of_input.out, at_end_of_input.err) == (0, "", "")


def test_a_broken_configuration_is_told_on_stderr_with_file_and_line(tmp_path: Path) -> None:
    file = tmp_path / "broken.yaml"
    file.write_text("servers:\n  - name: one\n    comand: nothing\n")
    done = halflap("serve", "-c", str(file), home=tmp_path)
    assert (done.code, done.out) == (2, "")
    assert f"Error [config]: {file}:" in done.err
    assert "`comand`" in done.err
    assert "Traceback" not in done.err


def busy(wire: Wire) -> list[int]:
    """Have it start its servers; gives all its processes."""
    wire.greet()
    wire.ask("tools/call", name="list_callable_tools", arguments={})
    children = children_of(wire.process.pid)
    assert len(children) >= 3
    return children
