"""Saved scripts from end to end: a real gateway and the real sandbox."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from cli import plain
from halflap import Gateway
from halflap.core.errors import (
    ConfigError,
    InvalidArgumentsError,
    SandboxError,
    ScriptError,
    ToolBlockedError,
    ToolHeldError,
    ToolNotFoundError,
    ToolRefusedError,
)
from halflap.core.values import CallContext
from sandbox.desk import Desk
from servers.memory import Memory

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterator
    from contextlib import AbstractAsyncContextManager
    from pathlib import Path

    from halflap.core.values import Tool

    Run = Callable[[Coroutine[Any, Any, Any]], Any]

DOUBLE = '''
async def main(number: int) -> int:
    """Double a number, by adding it to itself."""
    return await mcp__plain__add(a=number, b=number)
'''


def server() -> Memory:
    return Memory(*plain.TOOLS, answer=plain.call)


def opened(**settings: Any) -> AbstractAsyncContextManager[Gateway]:
    # What the check says of scripts is tested where the check is; here it would be started for each test.
    execution = {"check": "off", **settings.pop("execution", {})}
    return Gateway.open({"execution": execution, **settings}, servers={"plain": server()})


class Scripts:
    """A folder of scripts, written to as an editor would."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True)

    def put(self, **scripts: str) -> None:
        for name, code in scripts.items():
            (self.folder / f"{name}.py").write_text(code)


@pytest.fixture
def scripts(home: Path) -> Scripts:
    return Scripts(home / "data" / "scripts")


class Shared(Scripts):
    """A gateway for all tests that need no settings of their own."""

    def __init__(self, home: Path, desk: Desk) -> None:
        super().__init__(home / "scripts")
        self.desk = desk

    def run(self, code: str, context: CallContext | None = None) -> Any:
        return self.desk.do(self.desk.gateway.execute(code, context or CallContext()))

    def call(self, tool: str, **arguments: Any) -> Any:
        return self.desk.do(self.desk.gateway.call(tool, **arguments))


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shared]:
    home = tmp_path_factory.mktemp("scripts") / "data"
    with Desk({"execution": {"check": "off", "max_programs": 4}}, home, {"plain": server()}) as desk:
        yield Shared(home, desk)


# Values and output --------------------------------------------------------------------------------------

VALUES = {
    "async def main(): return await mcp__plain__add(a=20, b=22)": 42,
    "def main() -> dict[str, int]: return {'a': 1}": {"a": 1},
    "def main() -> dict[str, int]: return {'result': 1}": {"result": 1},
    "def main() -> str: return '{\"a\": 1}'": '{"a": 1}',
    "def main() -> int | None: return None": None,
    "def main(): return '42'": "42",
    "def main(): return {'result': 1}": {"result": 1},
    "def main(): return [1, None, 'ä']": [1, None, "ä"],
    "def main(): print('printed')": "printed\n",
    "def main() -> None: print('printed')": "printed\n",
    "print('just', end=' ')\nprint('lines')": "just lines\n",
    "async def main(): return 1\nprint(await main())": "1\n",
    "pass": "",
}


def test_the_value_is_what_main_returned_else_what_was_printed(shared: Shared) -> None:
    made = {f"s{number}": code for number, code in enumerate(VALUES)}
    shared.put(**made)
    calls = ", ".join(f"await script__{name}()" for name in made)
    assert shared.run(f"print([{calls}])").output == f"{list(VALUES.values())!r}\n"


def test_images_that_a_script_shows_reach_its_caller_and_the_model(shared: Shared) -> None:
    show = "show((await mcp__plain__image())[0])"
    shared.put(
        returning=f"async def main() -> int:\n    {show}\n    return 3",
        failing=f"async def main():\n    {show}\n    1 / 0",
        showing=f"def main(): pass\n{show}",
    )
    code = "part = (await script__showing())\nprint(part.kind, part.mime_type)"
    assert shared.run(code).output == "image image/png\n"
    done = shared.run("print(await script__returning())")
    assert (done.output, [block["type"] for block in done.shown]) == ("3\n", ["image"])
    done = shared.run("await script__failing()")
    assert [block["type"] for block in done.shown] == ["image"]
    assert "ZeroDivisionError" in done.text


def test_a_script_that_fails_says_where_what_it_had_done_and_printed(shared: Shared) -> None:
    fail = "async def main():\n    print('x' * 5000, 'the end')\n    await mcp__plain__echo(text='x')\n    return {}['gone']"
    shared.put(fail=fail)
    error = shared.run("await script__fail()").error
    assert "ToolError: script__fail failed: KeyError: 'gone'" in error
    assert "line 4, in main" in error
    assert "mcp__plain__echo" in error
    assert "xxx the end\n" in error
    assert len(error) < 4_000


def test_a_value_that_is_not_what_main_declares_is_delivered_and_recorded(shared: Shared) -> None:
    shared.put(wrong="def main() -> int: return 'text'")
    assert shared.call("script__wrong").structured_content == {"result": "text"}
    (record, *_) = shared.desk.do(shared.desk.gateway.recent_calls(1))
    assert "integer" in str(record.breach)


def test_wrong_arguments_are_refused_before_anything_runs(shared: Shared) -> None:
    shared.put(double=DOUBLE)
    before = len(shared.desk.do(shared.desk.gateway.runs()))
    for arguments in ({"number": "x"}, {"numbr": 1}):
        with pytest.raises(InvalidArgumentsError):
            shared.call("script__double", **arguments)
    assert len(shared.desk.do(shared.desk.gateway.runs())) == before


def test_a_broken_script_is_an_error_with_its_reason_and_the_others_work(shared: Shared) -> None:
    shared.put(double=DOUBLE, broken="def main(*a): ...")
    with pytest.raises(ScriptError, match="line 1"):
        shared.call("script__broken")
    code = "try:\n    await script__broken()\nexcept ToolError as error:\n    print('line 1' in str(error))\nprint(await script__double(number=1))"
    assert shared.run(code).output == "True\n2\n"


def test_a_script_and_its_calls_are_recorded_as_part_of_the_run(shared: Shared) -> None:
    shared.put(double=DOUBLE)
    outer = shared.run("await script__double(number=1)", CallContext(principal="somebody"))
    gateway = shared.desk.gateway
    calls = {call.tool: call for call in shared.desk.do(gateway.recent_calls(2))}
    runs = {run.name: run for run in shared.desk.do(gateway.runs(principal="somebody"))}
    assert (runs[None].kind, runs[None].id) == ("program", outer.run)
    assert (runs["double"].kind, runs["double"].outcome) == ("script", "ok")
    assert (calls["double"].server, calls["double"].run) == ("script", outer.run)
    assert (calls["add"].run, calls["add"].parent) == (runs["double"].id, outer.run)
    assert {call.principal for call in calls.values()} == {"somebody"}


def test_the_rule_of_the_caller_holds_within_the_script(shared: Shared) -> None:
    shared.put(double=DOUBLE)

    def rule(tool: Tool) -> None:
        if tool.name == "mcp__plain__add":
            raise ToolRefusedError("not today")

    context = CallContext(rule=rule)
    result = shared.desk.do(shared.desk.gateway.call_tool("script__double", {"number": 1}, context))
    assert result.is_error
    assert "not today" in result.text
    assert "not today" in shared.run("await script__double(number=1)", context).error


def test_scripts_call_each_other_up_to_a_depth(shared: Shared) -> None:
    shared.put(down="async def main(n: int):\n    return await script__down(n=n - 1) if n else 'bottom'")
    assert shared.run("print(await script__down(n=3))").output == "bottom\n"
    assert "4 deep" in shared.run("print(await script__down(n=4))").error
    with pytest.raises(SandboxError):
        shared.desk.do(shared.desk.gateway.call_tool("script__down", {"n": 0}, CallContext(depth=5)))


def test_many_scripts_at_once_wait_for_each_other(shared: Shared) -> None:
    shared.put(outer="async def main(n: int): return await script__double(number=n)", double=DOUBLE)
    code = "import asyncio\nprint(sum(await asyncio.gather(*(script__outer(n=n) for n in range(8)))))"
    assert shared.run(code).output == "56\n"


# What there is ------------------------------------------------------------------------------------------


def test_scripts_are_listed_inspected_searched_and_suggested_like_tools(run: Run, scripts: Scripts) -> None:
    scripts.put(double=DOUBLE, hidden='def main():\n    """Say\u200b no\u202ething\x1b[31m."""')

    async def scenario() -> None:
        async with opened() as gateway:
            names = [tool.name for tool in await gateway.tools()]
            assert names[-2:] == ["script__double", "script__hidden"]
            described = await gateway.inspect("script__double")
            assert described["description"] == "Double a number, by adding it to itself."
            assert (described["server"], described["originalName"]) == ("script", "double")
            assert described["annotations"]["readOnly"] is None
            assert (await gateway.inspect("script__hidden"))["description"] == "Say nothing."
            schema = await gateway.get_schema("script__double")
            assert schema.format_compact() == "script__double(number: integer) -> integer"
            assert not schema.stale
            for query in ("script__double", "double", "call script__double now", "doubling numbers"):
                assert (await gateway.search(query))[0].name == "script__double"
            for wrong in ("script__duoble", "mcp__script__double", "scripts.double"):
                with pytest.raises(ToolNotFoundError) as caught:
                    await gateway.inspect(wrong)
                assert "script__double" in caught.value.suggestions

    run(scenario())


def test_new_changed_and_removed_files_are_noticed_while_running(run: Run, scripts: Scripts) -> None:
    upstream = server()

    async def scenario() -> None:
        async with Gateway.open({"execution": {"check": "off"}}, servers={"plain": upstream}) as gateway:
            await asyncio.to_thread(scripts.put, one="def main(): return 1")
            assert (await gateway.call("script__one")).structured_content == 1
            assert upstream.starts == 0, "A script that needs no server starts none."
            await asyncio.to_thread(scripts.put, one="def main(n: int): return n")
            assert (await gateway.call("script__one", n=2)).structured_content == 2
            await asyncio.to_thread((scripts.folder / "one.py").rename, scripts.folder / "two.py")
            assert "script__two" in [tool.name for tool in await gateway.tools()]
            with pytest.raises(ToolNotFoundError):
                await gateway.call("script__one", n=1)
            await asyncio.to_thread((scripts.folder / "two.py").unlink)
            assert (await gateway.refresh()).removed == ("script__two",)

    run(scenario())


def test_the_next_start_knows_the_scripts_and_writes_nothing_if_none_changed(
    run: Run, scripts: Scripts
) -> None:
    scripts.put(double=DOUBLE)

    async def scenario() -> None:
        async with opened() as gateway:
            seen = gateway.snapshot.servers["script"].listed_at
        async with opened() as gateway:
            assert gateway.snapshot.servers["script"].listed_at == seen
            assert "script__double" in gateway.snapshot.callable
        await asyncio.to_thread((scripts.folder / "double.py").unlink)
        async with opened() as gateway:
            assert "script__double" not in gateway.snapshot.tools

    run(scenario())


# What may be called ---------------------------------------------------------------------------------------


def test_scripts_are_blocked_and_allowed_like_tools(run: Run, scripts: Scripts) -> None:
    scripts.put(one="def main(): return 1", double=DOUBLE)

    async def scenario() -> None:
        async with opened(tools={"block": ["script__o*", "mcp__plain__add"]}) as gateway:
            assert "script__one" not in [tool.name for tool in await gateway.tools()]
            with pytest.raises(ToolBlockedError):
                await gateway.call("script__one")
            # What is blocked is blocked in a script, too.
            assert "mcp__plain__add" in (await gateway.call("script__double", number=1)).text
        async with opened(tools={"allow": ["mcp__*"]}) as gateway:
            with pytest.raises(ToolBlockedError):
                await gateway.call("script__one")

    run(scenario())


def test_a_definition_that_an_editor_changed_is_held_and_one_that_was_saved_is_not(
    run: Run, scripts: Scripts
) -> None:
    scripts.put(one="def main(): return 1")

    async def scenario() -> None:
        async with opened(tools={"pin": "hold"}) as gateway:
            assert (await gateway.call("script__one")).structured_content == 1
            await asyncio.to_thread(scripts.put, one="def main(n: int = 2): return n")
            with pytest.raises(ToolHeldError):
                await gateway.call("script__one")
            assert (await gateway.inspect("script__one"))["changed"] == ["input schema"]
            assert await gateway.accept(["script__one"]) == ("script__one",)
            assert (await gateway.call("script__one")).structured_content == 2
            await gateway.scripts.save("one", "def main(m: int = 3): return m", force=True)
            assert (await gateway.call("script__one")).structured_content == 3

    run(scenario())


@pytest.mark.parametrize(
    ("rules", "called"),
    [
        ({"read_only": ["mcp__plain__add"]}, True),
        # To call a script read-only lets it do no more.
        ({"read_only": ["script__*"]}, False),
        ({"read_only": ["mcp__plain__add"], "destructive": ["script__double"]}, False),
    ],
    ids=["its tools only read", "said of the script", "destructive script"],
)
def test_where_programs_only_read_a_script_is_judged_by_what_it_calls(
    run: Run, scripts: Scripts, rules: dict[str, Any], *, called: bool
) -> None:
    scripts.put(double=DOUBLE)

    async def scenario() -> Any:
        async with opened(execution={"read_only": True}, tools=rules) as gateway:
            return await gateway.execute("print(await script__double(number=2))")

    done = run(scenario())
    assert done.ok == called
    assert ("is not known to be read-only" in done.error) != called


CONFIRM = {
    "execution": {"confirm_destructive": True},
    "tools": {"destructive": ["mcp__plain__echo", "script__c"]},
}
CHAIN = {
    "a": "async def main(): return await script__b()",
    "b": "async def main(): return await script__c()",
    "c": "async def main(): return await mcp__plain__echo(text='gone')\n# script__a: a circle",
}


def test_destructive_calls_are_asked_about_through_all_scripts_that_are_named(
    run: Run, scripts: Scripts
) -> None:
    scripts.put(**CHAIN)

    async def scenario() -> None:
        async with opened(**CONFIRM) as gateway:
            await gateway.tools()
            code = "print(await script__a())"
            asked = [tool.name for tool in await gateway.needing_confirmation(code)]
            assert asked == ["mcp__plain__echo", "script__c"]
            confirmed = await gateway.execute(code, CallContext(confirmations=frozenset(asked)))
            assert confirmed.output == "gone\n"
            refused = await gateway.execute(code, CallContext(unconfirmed="they declined"))
            assert "'script__c'" in refused.error
            assert "they declined" in refused.error
            half = await gateway.execute(code, CallContext(confirmations=frozenset({"script__c"})))
            assert "'mcp__plain__echo'" in half.error

    run(scenario())


def test_a_script_has_what_is_left_of_its_callers_time(run: Run, scripts: Scripts) -> None:
    scripts.put(slow="import asyncio\nasync def main(): await asyncio.sleep(1_000)")

    async def scenario() -> None:
        async with opened(execution={"timeout_seconds": 1}) as gateway:
            assert (await gateway.execute("await script__slow()")).outcome == "timeout"

    run(scenario())


# What is on disk is not believed --------------------------------------------------------------------------


def test_nothing_of_a_script_runs_when_it_is_saved_listed_or_inspected(
    run: Run, scripts: Scripts, home: Path
) -> None:
    mark = home / "was-here"
    touch = f"open({str(mark)!r}, 'w')"
    code = f"""
{touch}
def main(x: Annotated[int, {touch}, 'a number'] = 1):
    pass
class A({touch}): pass
"""

    async def scenario() -> None:
        async with opened() as gateway:
            await gateway.scripts.save("touch", code)
            await gateway.tools()
            await gateway.inspect("script__touch")
            await gateway.search("touch")
            assert not await asyncio.to_thread(mark.exists)
            result = await gateway.call("script__touch")
            assert result.is_error
            assert "PermissionError" in result.text
            assert not await asyncio.to_thread(mark.exists)

    assert scripts.folder.exists()
    run(scenario())


def test_a_link_is_neither_listed_nor_run_and_shows_nothing_of_its_target(
    run: Run, scripts: Scripts, home: Path
) -> None:
    secret = home / "secret.py"
    secret.write_text('def main():\n    """The secret is 4711."""')
    (scripts.folder / "leak.py").symlink_to(secret)
    scripts.put(one="def main(): return 1")

    def swap() -> None:
        (scripts.folder / "one.py").unlink()
        (scripts.folder / "one.py").symlink_to(secret)

    async def scenario() -> None:
        async with opened() as gateway:
            shelf = await gateway.scripts.shelf()
            assert list(shelf.scripts) == ["one"]
            assert "4711" not in str(shelf.broken)
            await asyncio.to_thread(swap)
            for name in ("script__one", "script__leak", "script__../secret"):
                with pytest.raises((ScriptError, ToolNotFoundError)):
                    await gateway.call(name)

    run(scenario())


def test_no_server_can_have_the_name_of_the_scripts(run: Run) -> None:
    async def scenario() -> None:
        async with Gateway.open({"mcpServers": {"script": {"command": "x"}}}):
            pass

    with pytest.raises(ConfigError):
        run(scenario())


@pytest.mark.slow
def test_a_server_of_nearly_that_name_is_not_confused_with_them(run: Run, scripts: Scripts) -> None:
    scripts.put(echo="def main(): return 'script'")

    async def scenario() -> None:
        async with Gateway.open({}, servers={"Script": server()}) as gateway:
            assert {"mcp__Script__echo", "script__echo"} <= {tool.name for tool in await gateway.tools()}
            assert (await gateway.call("mcp__Script__echo", text="server")).text == "server"
            assert (await gateway.call("script__echo")).text == "script"

    run(scenario())
