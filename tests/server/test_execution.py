"""`execute_program` as clients see it: over both transports, in both eras."""

from __future__ import annotations

import asyncio
import sys
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import mcp_types as types
import pytest
from mcp.shared.exceptions import MCPError

from cli.program import ECHO, configure
from server.faces import client_of, served, stdio_face

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable
    from pathlib import Path

    from mcp import Client

FACES = [("stdio", "auto"), ("stdio", "legacy"), ("http", "auto"), ("http", "legacy")]
DESTRUCTIVE: dict[str, Any] = {
    "tools": {"destructive": ["mcp__echo__pid"]},
    "execution": {"confirm_destructive": True},
}


@asynccontextmanager
async def connected(
    home: Path, transport: str, mode: str, more: dict[str, Any] | None = None, **options: Any
) -> AsyncIterator[Client]:
    if transport == "stdio":
        config = configure(home, ECHO, **(more or {}))
        async with stdio_face(config, home, mode=mode, errors=sys.stderr, **options) as client:
            yield client
    else:
        with served(home, ECHO, **(more or {})) as face:
            async with client_of(face, mode, **options) as client:
                yield client


@pytest.fixture(params=FACES, ids="-".join)
def face(request: pytest.FixtureRequest, home: Path) -> Callable[..., Any]:
    transport, mode = request.param

    def connect(more: dict[str, Any] | None = None, **options: Any) -> Any:
        return connected(home, transport, mode, more, **options)

    return connect


async def execute(client: Client, code: str, **options: Any) -> types.CallToolResult:
    return await client.call_tool("execute_program", {"code": code}, **options)


def text_of(result: types.CallToolResult) -> str:
    (first, *_) = result.content
    assert isinstance(first, types.TextContent)
    return first.text


def test_a_program_runs_and_only_what_it_prints_comes_back(face: Callable[..., Any]) -> None:
    async def use() -> None:
        async with face() as client:
            result = await execute(client, "x = await mcp__echo__add(a=1, b=2)\nprint(x)")
            assert (text_of(result), result.is_error) == ("[Script executed successfully]\n3", False)
            assert result.structured_content is None
            assert result.meta is not None
            told = result.meta["halflap"]
            assert told["outcome"] == "ok"
            assert [(call["tool"], call["outcome"]) for call in told["calls"]] == [("mcp__echo__add", "ok")]
            failed = await execute(client, "print('a')\n1 / 0")
            assert failed.is_error
            assert text_of(failed).startswith("[Script execution failed]\na\nTraceback")
            image = await execute(client, "r = await mcp__echo__image()\nshow(r[0])")
            assert [block.type for block in image.content] == ["text", "image"]
            wrong = await client.call_tool("execute_program", {"program": "1"})
            assert wrong.is_error
            assert "code: missing" in text_of(wrong)

    asyncio.run(use())


def test_the_whole_output_can_be_read_as_a_resource(face: Callable[..., Any]) -> None:
    async def use() -> None:
        async with face({"execution": {"max_output_bytes": 10}}) as client:
            result = await execute(client, "print('x' * 100)")
            lines = text_of(result).splitlines()
            assert lines[1:3] == ["x" * 10, "... (truncated)"]
            assert result.meta is not None
            uri = f"halflap://runs/{result.meta['halflap']['run']}/output"
            assert uri in lines[3]
            (contents,) = (await client.read_resource(uri)).contents
            assert isinstance(contents, types.TextResourceContents)
            assert contents.text == "x" * 100 + "\n"
            assert uri in [resource.uri for resource in (await client.list_resources()).resources]
            (template,) = (await client.list_resource_templates()).resource_templates
            assert template.uri_template == "halflap://runs/{run}/output"
            with pytest.raises(MCPError, match="no resource"):
                await client.read_resource("halflap://runs/00000000ff/output")
            with pytest.raises(MCPError, match="no resource"):
                await client.read_resource("file:///etc/passwd")

    asyncio.run(use())


def test_a_run_is_read_by_who_ran_it_alone(home: Path) -> None:
    async def use() -> None:
        async with connected(home, "http", "auto") as client:
            result = await execute(client, "print('secret')")
            assert result.meta is not None
            uri = f"halflap://runs/{result.meta['halflap']['run']}/output"
            await client.read_resource(uri)
        async with connected(home, "stdio", "auto") as other:
            with pytest.raises(MCPError, match="no resource"):
                await other.read_resource(uri)
            assert uri not in [resource.uri for resource in (await other.list_resources()).resources]

    asyncio.run(use())


def person(action: str, **content: Any) -> tuple[list[str], Callable[..., Awaitable[types.ElicitResult]]]:
    """Give somebody who answers so, and the questions that they were asked."""
    asked: list[str] = []

    async def answer(_context: Any, params: Any) -> types.ElicitResult:
        asked.append(params.message)
        return types.ElicitResult(action=action, content=content or None)  # type: ignore[arg-type]

    return asked, answer


def test_the_person_is_asked_before_a_destructive_tool_and_their_yes_counts_once(
    face: Callable[..., Any],
) -> None:
    async def use() -> None:
        asked, answer = person("accept", confirm=True)
        async with face(DESTRUCTIVE, elicitation_callback=answer) as client:
            code = "print(int(await mcp__echo__pid()) > 0)"
            assert text_of(await execute(client, code)).endswith("True")
            assert len(asked) == 1
            assert "mcp__echo__pid" in asked[0]
            assert code in asked[0]
            await execute(client, code)
            assert len(asked) == 2
            await execute(client, "print(await mcp__echo__echo(text='a'))")
            assert len(asked) == 2

    asyncio.run(use())


@pytest.mark.parametrize(
    ("action", "content", "why"),
    [
        ("decline", {}, "they declined"),
        ("cancel", {}, "they gave no answer"),
        ("accept", {"confirm": False}, "they declined"),
    ],
)
def test_without_a_yes_the_call_is_refused(
    face: Callable[..., Any], action: str, content: dict[str, Any], why: str
) -> None:
    async def use() -> None:
        _, answer = person(action, **content)
        async with face(DESTRUCTIVE, elicitation_callback=answer) as client:
            result = await execute(client, "print('a')\nawait mcp__echo__pid()")
            assert f"was not confirmed by the person: {why}. It was not called." in text_of(result)

    asyncio.run(use())


def test_where_the_client_cannot_ask_that_is_the_reason(face: Callable[..., Any]) -> None:
    async def use() -> None:
        async with face(DESTRUCTIVE) as client:
            result = await execute(client, "await mcp__echo__pid()")
            assert "the client cannot ask (it does not offer elicitation)" in text_of(result)

    asyncio.run(use())


def test_an_answer_to_another_program_or_used_before_does_not_count(home: Path) -> None:
    async def use() -> None:
        async with connected(
            home, "stdio", "auto", DESTRUCTIVE, elicitation_callback=person("accept", confirm=True)[1]
        ) as client:
            session, code = client.session, "await mcp__echo__pid()"
            first = await session.call_tool("execute_program", {"code": code}, allow_input_required=True)
            assert isinstance(first, types.InputRequiredResult)
            yes: Any = {"confirm": types.ElicitResult(action="accept", content={"confirm": True})}

            async def again(code: str, state: str | None) -> Any:
                return await session.call_tool(
                    "execute_program",
                    {"code": code},
                    input_responses=yes,
                    request_state=state,
                    allow_input_required=True,
                )

            other = await again("await mcp__echo__pid()  # and more", first.request_state)
            assert isinstance(other, types.InputRequiredResult)
            assert isinstance(await again(code, None), types.InputRequiredResult)
            forged = "0" * 32 + ".99999999999." + "0" * 64
            assert isinstance(await again(code, forged), types.InputRequiredResult)
            done = await again(code, first.request_state)
            assert isinstance(done, types.CallToolResult)
            assert not done.is_error
            assert isinstance(await again(code, first.request_state), types.InputRequiredResult)

    asyncio.run(use())


def test_progress_is_told_while_a_program_runs(face: Callable[..., Any]) -> None:
    async def use() -> None:
        told: list[str | None] = []

        async def hear(_progress: float, _total: float | None, message: str | None) -> None:
            told.append(message)

        async with face() as client:
            await execute(client, "import asyncio\nawait asyncio.sleep(2.5)", progress_callback=hear)
        assert told
        assert "running for" in str(told[0])

    asyncio.run(use())


def test_cancelling_the_request_ends_the_program_and_its_calls(face: Callable[..., Any]) -> None:
    async def use() -> None:
        async with face() as client:
            await execute(client, "await mcp__echo__pid()")
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(1):
                    await execute(client, "await mcp__echo__sleep(seconds=50)")

            async def cancelled() -> int:
                return int(
                    text_of(await execute(client, "print(await mcp__echo__cancelled_count())")).split()[-1]
                )

            for _ in range(50):
                if await cancelled():
                    return
                await asyncio.sleep(0.1)
            raise AssertionError("the call goes on")

    asyncio.run(use())


def test_code_execution_that_is_off_says_so_and_all_else_works(face: Callable[..., Any]) -> None:
    async def use() -> None:
        async with face({"execution": {"sandbox": "off"}}) as client:
            result = await execute(client, "print(1)")
            assert result.is_error
            assert text_of(result).startswith("[Script execution failed]\nCode execution is off: ")
            assert not (await client.call_tool("list_callable_tools", {})).is_error

    asyncio.run(use())


def test_what_a_program_prints_never_reaches_the_protocol(home: Path) -> None:
    async def use() -> None:
        async with connected(home, "stdio", "legacy") as client:
            code = 'import sys, os\nprint(\'{"jsonrpc": "2.0", "id": 1, "result": {}}\')\nsys.__stdout__.write("x\\n")\ntry:\n    os.write(1, b"raw\\n")\nexcept OSError as e:\n    print("refused")'
            result = await execute(client, code)
            assert text_of(result).endswith("x\nrefused")
            assert not (await execute(client, "print(2)")).is_error

    asyncio.run(use())
