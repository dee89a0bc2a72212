"""`execute_program` as clients see it: over both transports, in both eras."""

from __future__ import annotations

import asyncio
import sys
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import mcp_types as types
import pytest
from mcp.shared.exceptions import MCPError

from cli.program import SWIFT, configure
from server.faces import FACES, ONE_FACE, client_of, face_id, served, stdio_face
from support import comes

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from mcp import Client

DESTRUCTIVE: dict[str, Any] = {
    "tools": {"destructive": ["mcp__echo__pid"]},
    "execution": {"confirm_destructive": True},
}
RAW = """import os, sys
print('{"jsonrpc": "2.0", "id": 1, "result": {}}')
sys.__stdout__.write("x\\n")
try:
    os.write(1, b"raw\\n")
except OSError:
    print("refused")
"""
PID = "print(int(await mcp__echo__pid()) > 0)"


@asynccontextmanager
async def connected(
    home: Path, face: tuple[str, str], more: dict[str, Any] | None = None, **options: Any
) -> AsyncIterator[Client]:
    transport, mode = face
    if transport == "stdio":
        config = configure(home, SWIFT, **(more or {}))
        async with stdio_face(config, home, mode=mode, errors=sys.stderr, **options) as client:
            yield client
    else:
        with served(home, SWIFT, **(more or {})) as server:
            async with client_of(server, mode, **options) as client:
                yield client


async def execute(client: Client, code: str, **options: Any) -> types.CallToolResult:
    return await client.call_tool("execute_program", {"code": code}, **options)


def text_of(result: types.CallToolResult) -> str:
    (first, *_) = result.content
    assert isinstance(first, types.TextContent)
    return first.text


async def refusal(work: Any) -> str:
    try:
        await work
    except MCPError as error:
        return str(error)
    return "none"


# One server and one client for each face; all is asked in turn, and looked at below. --------------------------


@pytest.fixture(scope="module", params=ONE_FACE, ids=face_id)
def told(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    progress: list[str | None] = []

    async def hear(_progress: float, _total: float | None, message: str | None) -> None:
        progress.append(message)

    async def ask() -> dict[str, Any]:
        home = tmp_path_factory.mktemp("execution")
        async with connected(home, request.param, {"execution": {"max_output_bytes": 200}}) as client:
            told: dict[str, Any] = {
                "sum": await execute(client, "x = await mcp__echo__add(a=1, b=2)\nprint(x)"),
                "failed": await execute(client, "print('a')\n1 / 0"),
                "image": await execute(client, "r = await mcp__echo__image()\nshow(r[0])"),
                "wrong": await client.call_tool("execute_program", {"program": "1"}),
                "raw": await execute(client, RAW),
                "long": await execute(client, "print('x' * 1000)"),
            }
            told["run"] = told["long"].meta["halflap"]["run"]
            told["uri"] = f"halflap://runs/{told['run']}/output"
            told["resource"] = (await client.read_resource(told["uri"])).contents
            told["resources"] = [one.uri for one in (await client.list_resources()).resources]
            told["templates"] = (await client.list_resource_templates()).resource_templates
            told["no run"] = await refusal(client.read_resource("halflap://runs/00000000ff/output"))
            told["beginnings"] = [
                await refusal(client.read_resource(f"halflap://runs/{told['run'][:length]}/output"))
                for length in (8, 27)
            ]
            told["no uri"] = await refusal(client.read_resource("file:///etc/passwd"))
            told["cancelled"] = await cancel(client)
            told["progress"] = progress
        return told

    async def cancel(client: Client) -> bool:
        """Give a program up when it has been heard of, and say whether its call was."""
        code = "await mcp__echo__sleep(seconds=1_000)"
        program = asyncio.create_task(execute(client, code, progress_callback=hear))
        while not progress:
            await asyncio.sleep(0.02)
        program.cancel()
        await asyncio.wait([program])

        async def counted() -> bool:
            told = await execute(client, "print(await mcp__echo__cancelled_count())")
            return text_of(told).endswith("\n1")

        return await comes(counted)

    return asyncio.run(ask())


def test_only_what_a_program_prints_comes_back(told: dict[str, Any]) -> None:
    result = told["sum"]
    assert (text_of(result), result.is_error) == ("[Script executed successfully]\n3", False)
    assert result.structured_content is None


def test_run_calls_and_times_are_beside_it(told: dict[str, Any]) -> None:
    meta = told["sum"].meta["halflap"]
    assert meta["outcome"] == "ok"
    assert [(call["tool"], call["outcome"]) for call in meta["calls"]] == [("mcp__echo__add", "ok")]


def test_a_failed_program_is_an_error_with_what_it_printed(told: dict[str, Any]) -> None:
    assert told["failed"].is_error
    assert text_of(told["failed"]).startswith("[Script execution failed]\na\nTraceback")


def test_an_image_that_is_shown_reaches_the_model_as_one(told: dict[str, Any]) -> None:
    assert [block.type for block in told["image"].content] == ["text", "image"]


def test_a_wrong_argument_is_told(told: dict[str, Any]) -> None:
    assert told["wrong"].is_error
    assert "code: missing" in text_of(told["wrong"])


def test_a_long_output_is_cut_and_says_where_the_whole_is(told: dict[str, Any]) -> None:
    lines = text_of(told["long"]).splitlines()
    assert lines[1:3] == ["x" * 200, "... (truncated)"]
    assert told["uri"] in lines[3]


def test_the_whole_output_can_be_read_as_a_resource(told: dict[str, Any]) -> None:
    (contents,) = told["resource"]
    assert contents.text == "x" * 1000 + "\n"
    assert told["uri"] in told["resources"]
    assert [template.uri_template for template in told["templates"]] == ["halflap://runs/{run}/output"]


def test_the_beginning_of_an_identifier_is_no_resource_and_names_no_run(told: dict[str, Any]) -> None:
    for refused in told["beginnings"]:
        assert "There is no resource" in refused
        assert told["run"] not in refused


def test_what_is_no_resource_is_refused(told: dict[str, Any]) -> None:
    assert "There is no resource" in told["no run"]
    assert "There is no resource" in told["no uri"]


def test_progress_is_told_while_a_program_runs(told: dict[str, Any]) -> None:
    assert told["progress"]
    assert "running for" in str(told["progress"][0])


def test_cancelling_the_request_ends_the_program_and_its_calls(told: dict[str, Any]) -> None:
    assert told["cancelled"]


# Confirmation -----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module", params=FACES, ids=face_id)
def asked(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Ask a person who answers as they are told to."""
    questions: list[str] = []
    answers: list[types.ElicitResult] = []

    async def answer(_context: Any, params: Any) -> types.ElicitResult:
        questions.append(params.message)
        return answers.pop()

    async def ask() -> dict[str, Any]:
        home = tmp_path_factory.mktemp("confirmation")
        got: dict[str, Any] = {"questions": questions}
        async with connected(home, request.param, DESTRUCTIVE, elicitation_callback=answer) as client:
            for name, action, content in (
                ("yes", "accept", {"confirm": True}),
                ("yes again", "accept", {"confirm": True}),
                ("declined", "decline", None),
                ("dismissed", "cancel", None),
                ("unticked", "accept", {"confirm": False}),
            ):
                answers.append(types.ElicitResult(action=action, content=content))  # type: ignore[arg-type]
                got[name] = text_of(await execute(client, PID))
            got["harmless"] = text_of(await execute(client, "print(await mcp__echo__echo(text='a'))"))
        async with connected(home, request.param, DESTRUCTIVE) as client:
            got["unasked"] = text_of(await execute(client, PID))
        return got

    return asyncio.run(ask())


def test_a_yes_counts_once(asked: dict[str, Any]) -> None:
    assert asked["yes"].endswith("True")
    assert asked["yes again"].endswith("True")
    assert len(asked["questions"]) == 5


def test_the_question_names_the_tools_and_shows_the_program(asked: dict[str, Any]) -> None:
    assert "mcp__echo__pid" in asked["questions"][0]
    assert PID in asked["questions"][0]


def test_nobody_is_asked_about_a_harmless_program(asked: dict[str, Any]) -> None:
    assert asked["harmless"].endswith("\na")


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        ("declined", "they declined"),
        ("dismissed", "they gave no answer"),
        ("unticked", "they declined"),
        ("unasked", "the client cannot ask (it does not offer elicitation)"),
    ],
)
def test_without_a_yes_the_call_is_refused_and_why(asked: dict[str, Any], answer: str, why: str) -> None:
    assert f"was not confirmed by the person: {why}. It was not called." in asked[answer]


def test_an_answer_to_another_program_or_used_before_does_not_count(home: Path) -> None:
    async def answer(_context: Any, _params: Any) -> types.ElicitResult:
        return types.ElicitResult(action="accept", content={"confirm": True})

    async def use() -> None:
        async with connected(home, ("stdio", "auto"), DESTRUCTIVE, elicitation_callback=answer) as client:
            session = client.session
            first = await session.call_tool("execute_program", {"code": PID}, allow_input_required=True)
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

            other = await again(f"{PID}  # and more", first.request_state)
            assert isinstance(other, types.InputRequiredResult)
            assert isinstance(await again(PID, None), types.InputRequiredResult)
            forged = "0" * 32 + ".99999999999." + "0" * 64
            assert isinstance(await again(PID, forged), types.InputRequiredResult)
            done = await again(PID, first.request_state)
            assert isinstance(done, types.CallToolResult)
            assert not done.is_error
            assert isinstance(await again(PID, first.request_state), types.InputRequiredResult)

    asyncio.run(use())


# Alone ------------------------------------------------------------------------------------------------------


def test_a_run_is_read_by_who_ran_it_alone(home: Path) -> None:
    async def use() -> None:
        async with connected(home, ("http", "auto")) as client:
            result = await execute(client, "print('secret')")
            assert result.meta is not None
            uri = f"halflap://runs/{result.meta['halflap']['run']}/output"
            await client.read_resource(uri)
        async with connected(home, ("stdio", "auto")) as other:
            with pytest.raises(MCPError, match="no resource"):
                await other.read_resource(uri)
            assert uri not in [resource.uri for resource in (await other.list_resources()).resources]

    asyncio.run(use())


def test_code_execution_that_is_off_says_so_and_all_else_works(home: Path) -> None:
    async def use() -> None:
        async with connected(home, ("stdio", "auto"), {"execution": {"sandbox": "off"}}) as client:
            result = await execute(client, "print(1)")
            assert result.is_error
            assert text_of(result).startswith("[Script execution failed]\nCode execution is off: ")
            assert not (await client.call_tool("list_callable_tools", {})).is_error

    asyncio.run(use())


def test_what_a_program_prints_never_reaches_the_protocol(told: dict[str, Any]) -> None:
    assert text_of(told["raw"]).endswith("x\nrefused")
    # What was asked afterwards was answered.
    assert not told["long"].is_error
