"""Saved scripts from end to end: a real gateway, a real server, the real sandbox."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import pytest

from cli.program import PLAIN
from halflap import Gateway
from halflap.errors import (
    ConfigError,
    InvalidArgumentsError,
    SandboxError,
    ScriptError,
    ToolBlockedError,
    ToolHeldError,
    ToolNotFoundError,
    ToolRefusedError,
)
from halflap.values import CallContext

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Coroutine
    from pathlib import Path

    from halflap.values import Tool

    Run = Callable[[Coroutine[Any, Any, Any]], Any]

DOUBLE = '''
async def main(number: int) -> int:
    """Double a number, by adding it to itself."""
    return await mcp__plain__add(a=number, b=number)
'''


class Desk:
    """A gateway's folder of scripts, written to as an editor would."""

    def __init__(self, home: Path) -> None:
        self.folder = home / "data" / "scripts"
        self.folder.mkdir(parents=True)

    def put(self, **scripts: str) -> None:
        for name, code in scripts.items():
            (self.folder / f"{name}.py").write_text(code)

    @asynccontextmanager
    async def gateway(self, **settings: Any) -> AsyncIterator[Gateway]:
        # What the check says of scripts is tested where the check is; here it would be started for each test.
        execution = {"check": "off", **settings.pop("execution", {})}
        config = {"servers": [PLAIN], "execution": execution, **settings}
        async with Gateway.open(config) as gateway:
            yield gateway


@pytest.fixture
def desk(home: Path) -> Desk:
    return Desk(home)


@pytest.fixture
def told(run: Run, desk: Desk) -> Callable[..., str]:
    """Run a program beside saved scripts; gives what it printed, or how it failed."""

    def tell(code: str, scripts: dict[str, str], **settings: Any) -> str:
        desk.put(**scripts)

        async def scenario() -> str:
            async with desk.gateway(**settings) as gateway:
                execution = await gateway.execute(code)
                return execution.output if execution.ok else execution.error

        return str(run(scenario()))

    return tell


def test_a_program_calls_a_script_like_any_tool(told: Callable[..., str]) -> None:
    assert told("print(await script__double(number=21) + 0)", {"double": DOUBLE}) == "42\n"


VALUES = {
    "def main() -> dict[str, int]: return {'a': 1}": {"a": 1},
    "def main() -> dict[str, int]: return {'result': 1}": {"result": 1},
    "def main() -> str: return '{\"a\": 1}'": '{"a": 1}',
    "def main() -> int | None: return None": None,
    "def main(): return 42": 42,
    "def main(): return '42'": "42",
    "def main(): return '[1]'": "[1]",
    "def main(): return {'result': 1}": {"result": 1},
    "def main(): return [1, None, 'ä']": [1, None, "ä"],
    "def main(): return False": False,
    "def main(): print('printed')": "printed\n",
    "def main() -> None: print('printed')": "printed\n",
    "print('just', end=' ')\nprint('lines')": "just lines\n",
    "async def main(): return 1\nprint(await main())": "1\n",
    "pass": "",
}


def test_the_value_is_what_main_returned_else_what_was_printed(told: Callable[..., str]) -> None:
    scripts = {f"s{number}": code for number, code in enumerate(VALUES)}
    calls = ", ".join(f"await script__{name}()" for name in scripts)
    assert told(f"print([{calls}])", scripts) == f"{list(VALUES.values())!r}\n"


def test_what_a_script_shows_comes_to_its_caller(told: Callable[..., str]) -> None:
    show = "def main():\n    pass\nfor part in await mcp__plain__image():\n    show(part)\nawait mcp__plain__image()"
    code = "part = (await script__picture())[1]\nprint(part.kind, part.mime_type)"
    assert told(code, {"picture": show}) == "image image/png\n"


def test_what_a_script_shows_that_returns_something_reaches_the_model(run: Run, desk: Desk) -> None:
    desk.put(pic="async def main() -> int:\n    show((await mcp__plain__image())[0])\n    return 3")

    async def scenario() -> None:
        async with desk.gateway() as gateway:
            execution = await gateway.execute("print(await script__pic())")
            assert (execution.output, [block["type"] for block in execution.shown]) == ("3\n", ["image"])

    run(scenario())


def test_what_a_script_shows_before_it_fails_reaches_the_model(run: Run, desk: Desk) -> None:
    desk.put(pic="async def main():\n    show((await mcp__plain__image())[0])\n    1 / 0")

    async def scenario() -> None:
        async with desk.gateway() as gateway:
            execution = await gateway.execute("await script__pic()")
            assert [block["type"] for block in execution.shown] == ["image"]
            assert "ToolError: script__pic failed: ZeroDivisionError" in execution.text

    run(scenario())


def test_a_script_that_fails_tells_the_end_of_what_it_had_printed(told: Callable[..., str]) -> None:
    error = told("await script__fail()", {"fail": "def main():\n    print('x' * 5000, 'the end')\n    1 / 0"})
    assert "It had printed:\n…xxx" in error
    assert "xxx the end\n" in error
    assert len(error) < 4_000


def test_a_script_that_fails_says_how_where_and_what_it_had_done(told: Callable[..., str]) -> None:
    fail = "async def main():\n    await mcp__plain__echo(text='x')\n    return {}['gone']"
    error = told("await script__fail()", {"fail": fail})
    assert "ToolError: script__fail failed: KeyError: 'gone'" in error
    assert "line 3, in main" in error
    assert "1. mcp__plain__echo — ok" in error


def test_scripts_are_listed_inspected_searched_and_suggested_like_tools(run: Run, desk: Desk) -> None:
    desk.put(double=DOUBLE, hidden='def main():\n    """Say\u200b no\u202ething\x1b[31m."""')

    async def scenario() -> None:
        async with desk.gateway() as gateway:
            names = [tool.name for tool in await gateway.tools()]
            assert names[-2:] == ["script__double", "script__hidden"]
            described = await gateway.inspect("script__double")
            assert described["description"] == "Double a number, by adding it to itself."
            assert described["server"] == "script"
            assert described["originalName"] == "double"
            assert described["annotations"]["readOnly"] is None
            assert (await gateway.inspect("script__hidden"))["description"] == "Say nothing."
            schema = await gateway.get_schema("script__double")
            assert schema.format_compact() == "script__double(number: integer) -> integer"
            assert not schema.stale
            for query in ("script__double", "double", "call script__double now", "doubling numbers"):
                assert (await gateway.search(query))[0].name == "script__double"
            assert [hit.name for hit in await gateway.search("number", server="script")] == ["script__double"]
            for wrong in ("script__duoble", "mcp__script__double", "scripts.double"):
                with pytest.raises(ToolNotFoundError) as caught:
                    await gateway.inspect(wrong)
                assert "script__double" in caught.value.suggestions
            with pytest.raises(ToolNotFoundError, match="Server 'script' has: script__double"):
                await gateway.call("script__")

    run(scenario())


def test_an_unknown_script_in_a_program_is_told_with_a_suggestion(told: Callable[..., str]) -> None:
    error = told("await script__duoble(number=1)", {"double": DOUBLE}, execution={"check": "on"})
    assert "there is no tool script__duoble" in error
    assert "Did you mean script__double?" in error


def test_new_changed_and_removed_files_are_noticed_while_running(run: Run, desk: Desk) -> None:
    async def scenario() -> None:
        async with desk.gateway() as gateway:
            assert not [tool for tool in await gateway.tools() if tool.server == "script"]
            await asyncio.to_thread(desk.put, one="def main(): return 1")
            assert (await gateway.call("script__one")).structured_content == 1
            await asyncio.to_thread(desk.put, one="def main(n: int): return n")
            assert (await gateway.call("script__one", n=2)).structured_content == 2
            assert (await gateway.execute("print(await script__one(n=3))")).output == "3\n"
            await asyncio.to_thread((desk.folder / "one.py").rename, desk.folder / "two.py")
            assert "script__two" in [tool.name for tool in await gateway.tools()]
            with pytest.raises(ToolNotFoundError):
                await gateway.call("script__one", n=1)
            await asyncio.to_thread((desk.folder / "two.py").unlink)
            changes = await gateway.refresh()
            assert changes.removed == ("script__two",)

    run(scenario())


def test_a_script_that_needs_no_server_starts_none(run: Run, desk: Desk) -> None:
    desk.put(one="def main(): return 1")

    async def scenario() -> None:
        async with desk.gateway() as gateway:
            await gateway.call("script__one")
            assert gateway._pool is None

    run(scenario())


def test_the_next_start_knows_the_scripts_and_writes_nothing_if_none_changed(run: Run, desk: Desk) -> None:
    desk.put(double=DOUBLE)

    async def scenario() -> None:
        async with desk.gateway() as gateway:
            seen = gateway.snapshot.servers["script"].listed_at
        async with desk.gateway() as gateway:
            assert gateway.snapshot.servers["script"].listed_at == seen
            assert "script__double" in gateway.snapshot.callable
        await asyncio.to_thread((desk.folder / "double.py").unlink)
        async with desk.gateway() as gateway:
            assert "script__double" not in gateway.snapshot.tools

    run(scenario())


def test_wrong_arguments_are_refused_before_anything_runs(run: Run, desk: Desk) -> None:
    desk.put(double=DOUBLE)

    async def scenario() -> None:
        async with desk.gateway() as gateway:
            with pytest.raises(InvalidArgumentsError, match="number: expected integer"):
                await gateway.call("script__double", number="x")
            with pytest.raises(InvalidArgumentsError, match="numbr"):
                await gateway.call("script__double", numbr=1)
            assert gateway._store is not None
            assert not await gateway._store.runs(10)

    run(scenario())


def test_a_broken_script_is_told_with_its_reason_and_the_others_go_on(run: Run, desk: Desk) -> None:
    desk.put(double=DOUBLE, broken="def main(*a): ...")

    async def scenario() -> None:
        async with desk.gateway() as gateway:
            with pytest.raises(
                ScriptError, match=r"'script__broken' cannot be called: line 1: `\*a` cannot be"
            ):
                await gateway.call("script__broken")
            told = await gateway.execute(
                "try:\n    await script__broken()\nexcept ToolError as error:\n    print(error)\nprint(await script__double(number=1))"
            )
            assert told.output.splitlines() == [
                "'script__broken' cannot be called: line 1: `*a` cannot be a parameter. A list can: `a: list[str]`.",
                "2",
            ]

    run(scenario())


# What may be called ---------------------------------------------------------------------------------------


def test_scripts_are_blocked_and_allowed_like_tools(run: Run, desk: Desk) -> None:
    desk.put(one="def main(): return 1", two="def main(): return 2")

    async def scenario() -> None:
        async with desk.gateway(tools={"block": ["script__o*"]}) as gateway:
            assert "script__one" not in [tool.name for tool in await gateway.tools()]
            with pytest.raises(ToolBlockedError):
                await gateway.call("script__one")
            assert (await gateway.call("script__two")).structured_content == 2
        async with desk.gateway(tools={"allow": ["mcp__*"]}) as gateway:
            with pytest.raises(ToolBlockedError):
                await gateway.call("script__two")

    run(scenario())


def test_a_blocked_tool_is_blocked_in_a_script_too(told: Callable[..., str]) -> None:
    error = told("await script__double(number=1)", {"double": DOUBLE}, tools={"block": ["mcp__plain__add"]})
    assert "'mcp__plain__add' is not available in execute_program" in error


def test_a_definition_that_an_editor_changed_is_held_and_one_that_was_saved_is_not(
    run: Run, desk: Desk
) -> None:
    desk.put(one="def main(): return 1")

    async def scenario() -> None:
        async with desk.gateway(tools={"pin": "hold"}) as gateway:
            assert (await gateway.call("script__one")).structured_content == 1
            await asyncio.to_thread(desk.put, one="def main(n: int = 2): return n")
            with pytest.raises(ToolHeldError):
                await gateway.call("script__one")
            assert (await gateway.inspect("script__one"))["changed"] == ["input schema"]
            assert await gateway.accept(["script__one"]) == ("script__one",)
            assert (await gateway.call("script__one")).structured_content == 2
            await gateway.scripts.save("one", "def main(m: int = 3): return m", force=True)
            assert (await gateway.call("script__one")).structured_content == 3

    run(scenario())


READ_ONLY = {"execution": {"read_only": True}, "tools": {"read_only": ["mcp__plain__add"]}}


def test_where_programs_only_read_a_script_is_judged_by_what_it_calls(told: Callable[..., str]) -> None:
    scripts = {"double": DOUBLE, "echo": "async def main():\n    await mcp__plain__echo(text='x')"}
    code = "print(await script__double(number=2))\ntry:\n    await script__echo()\nexcept ToolError as error:\n    print(str(error).splitlines()[0])"
    assert told(code, scripts, **READ_ONLY).splitlines() == [
        "4",
        "script__echo failed: ToolError: 'mcp__plain__echo' is not known to be read-only, and `execution.read_only` lets programs call no other tools. The user can list it under `tools.read_only`.",
    ]


def test_a_script_that_the_user_calls_read_only_may_do_no_more_for_it(told: Callable[..., str]) -> None:
    settings = {"execution": {"read_only": True}, "tools": {"read_only": ["script__*"]}}
    error = told("await script__double(number=2)", {"double": DOUBLE}, **settings)
    assert "'mcp__plain__add' is not known to be read-only" in error


def test_where_programs_only_read_a_script_that_destroys_is_refused(told: Callable[..., str]) -> None:
    settings = {**READ_ONLY, "tools": {"destructive": ["script__double"], "read_only": ["mcp__plain__add"]}}
    error = told("await script__double(number=2)", {"double": DOUBLE}, **settings)
    assert "'script__double' is not known to be read-only" in error


CONFIRM = {
    "execution": {"confirm_destructive": True},
    "tools": {"destructive": ["mcp__plain__echo", "script__c"]},
}
CHAIN = {
    "a": "async def main(): return await script__b()",
    "b": "async def main(): return await script__c()",
    "c": "async def main(): return await mcp__plain__echo(text='gone')\n# script__a: a circle",
}


def test_what_destroys_is_asked_about_through_all_scripts_that_are_named(run: Run, desk: Desk) -> None:
    desk.put(**CHAIN)

    async def scenario() -> None:
        async with desk.gateway(**CONFIRM) as gateway:
            await gateway.tools()
            code = "print(await script__a())"
            asked = [tool.name for tool in await gateway.needing_confirmation(code)]
            assert asked == ["mcp__plain__echo", "script__c"]
            confirmed = await gateway.execute(code, CallContext(confirmations=frozenset(asked)))
            assert confirmed.output == "gone\n"
            refused = await gateway.execute(code, CallContext(unconfirmed="they declined"))
            assert (
                "'script__c' destroys something and was not confirmed by the person: they declined"
                in refused.error
            )
            half = await gateway.execute(code, CallContext(confirmations=frozenset({"script__c"})))
            assert "'mcp__plain__echo' destroys something and was not confirmed" in half.error

    run(scenario())


def test_the_rule_of_whoever_calls_holds_within_the_script(run: Run, desk: Desk) -> None:
    desk.put(double=DOUBLE)

    def rule(tool: Tool) -> None:
        if tool.name == "mcp__plain__add":
            raise ToolRefusedError("not today")

    async def scenario() -> None:
        async with desk.gateway() as gateway:
            result = await gateway.call_tool("script__double", {"number": 1}, CallContext(rule=rule))
            assert result.is_error
            assert "not today" in result.text
            outer = await gateway.execute("await script__double(number=1)", CallContext(rule=rule))
            assert "not today" in outer.error

    run(scenario())


# Within other runs ----------------------------------------------------------------------------------------


def test_a_script_and_its_calls_are_on_the_record_as_a_part_of_the_run(run: Run, desk: Desk) -> None:
    desk.put(double=DOUBLE)

    async def scenario() -> None:
        async with desk.gateway() as gateway:
            outer = await gateway.execute("await script__double(number=1)", CallContext(principal="somebody"))
            calls = {call.tool: call for call in await gateway.recent_calls()}
            assert gateway._store is not None
            runs = {run.name: run for run in await gateway._store.runs(10)}
            assert (runs[None].kind, runs[None].id) == ("program", outer.run)
            assert (runs["double"].kind, runs["double"].outcome) == ("script", "ok")
            assert (calls["double"].server, calls["double"].run) == ("script", outer.run)
            assert (calls["add"].run, calls["add"].parent) == (runs["double"].id, outer.run)
            principals = [call.principal for call in calls.values()]
            assert {*principals, *(run.principal for run in runs.values())} == {"somebody"}

    run(scenario())


def test_a_value_that_is_not_what_main_says_is_delivered_and_recorded(run: Run, desk: Desk) -> None:
    desk.put(wrong="def main() -> int: return 'text'")

    async def scenario() -> None:
        async with desk.gateway() as gateway:
            assert (await gateway.call("script__wrong")).structured_content == {"result": "text"}
            assert "expected integer" in str((await gateway.recent_calls())[0].breach)

    run(scenario())


def test_scripts_that_call_each_other_in_a_circle_end_with_a_clear_error(told: Callable[..., str]) -> None:
    scripts = {
        "a": "async def main(n: int = 0):\n    return await script__b(n=n + 1)",
        "b": "async def main(n: int):\n    return await script__a(n=n + 1)",
    }
    error = told("await script__a()", scripts)
    assert "scripts and DSPy programs can call each other 4 deep" in error
    assert "in a circle?" in error


def test_scripts_can_call_each_other_as_deep_as_is_said(told: Callable[..., str]) -> None:
    code = "async def main(n: int):\n    return await script__down(n=n - 1) if n else 'bottom'"
    assert told("print(await script__down(n=3))", {"down": code}) == "bottom\n"
    assert "4 deep" in told("print(await script__down(n=4))", {"down": code})


def test_many_scripts_at_once_wait_for_each_other(told: Callable[..., str]) -> None:
    scripts = {"outer": "async def main(n: int): return await script__double(number=n)", "double": DOUBLE}
    code = "import asyncio\nprint(sum(await asyncio.gather(*(script__outer(n=n) for n in range(12)))))"
    assert told(code, scripts, execution={"max_programs": 2}) == "132\n"


def test_a_script_has_what_is_left_of_its_callers_time(run: Run, desk: Desk) -> None:
    desk.put(slow="import asyncio\nasync def main(): await asyncio.sleep(1_000)")

    async def scenario() -> None:
        async with desk.gateway(execution={"timeout_seconds": 2}) as gateway:
            outer = await gateway.execute("await script__slow()")
            assert outer.outcome == "timeout"

    run(scenario())


def test_what_is_too_deep_is_refused_also_from_outside(run: Run, desk: Desk) -> None:
    desk.put(one="def main(): return 1")

    async def scenario() -> None:
        async with desk.gateway() as gateway:
            with pytest.raises(SandboxError, match="in a circle"):
                await gateway.call_tool("script__one", {}, CallContext(depth=5))

    run(scenario())


# What is on disk is not believed --------------------------------------------------------------------------


def test_nothing_of_a_script_runs_when_it_is_saved_listed_or_inspected(
    run: Run, desk: Desk, home: Path
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
        async with desk.gateway() as gateway:
            await gateway.scripts.save("touch", code)
            await gateway.tools()
            await gateway.inspect("script__touch")
            await gateway.search("touch")
            assert not await asyncio.to_thread(mark.exists)
            result = await gateway.call("script__touch")
            assert result.is_error
            assert "PermissionError" in result.text
            assert not await asyncio.to_thread(mark.exists)

    run(scenario())


def test_a_link_in_the_folder_shows_nothing_of_what_it_leads_to(run: Run, desk: Desk, home: Path) -> None:
    secret = home / "secret.py"
    secret.write_text('def main():\n    """The secret is 4711."""')
    (desk.folder / "leak.py").symlink_to(secret)
    (desk.folder / "passwords.py").symlink_to("/etc/passwd")

    async def scenario() -> None:
        async with desk.gateway() as gateway:
            shelf = await gateway.scripts.shelf()
            assert not shelf.scripts
            assert "4711" not in str(shelf.broken)
            for name in ("script__leak", "script__passwords", "script__../secret"):
                with pytest.raises((ScriptError, ToolNotFoundError)):
                    await gateway.call(name)

    run(scenario())


def test_a_script_that_became_a_link_is_no_longer_run(run: Run, desk: Desk, home: Path) -> None:
    desk.put(one="def main(): return 1")
    (home / "other.py").write_text("def main(): return 2")

    def swap() -> None:
        (desk.folder / "one.py").unlink()
        (desk.folder / "one.py").symlink_to(home / "other.py")

    async def scenario() -> None:
        async with desk.gateway() as gateway:
            assert (await gateway.call("script__one")).structured_content == 1
            await asyncio.to_thread(swap)
            with pytest.raises(ScriptError, match="symbolic link"):
                await gateway.call("script__one")

    run(scenario())


def test_no_server_can_have_the_name_of_the_scripts(run: Run) -> None:
    async def scenario() -> None:
        with pytest.raises(ConfigError, match=r"the server name `script` .* belongs to saved scripts"):
            async with Gateway.open({"servers": [{**PLAIN, "name": "script"}]}):
                pass

    run(scenario())


def test_a_server_of_a_name_that_is_nearly_theirs_is_told_apart(run: Run, desk: Desk) -> None:
    desk.put(echo="def main(): return 'script'")

    async def scenario() -> None:
        server = {**PLAIN, "name": "Script"}
        async with Gateway.open({"servers": [server]}) as gateway:
            names = [tool.name for tool in await gateway.tools()]
            assert {"mcp__Script__echo", "script__echo"} <= set(names)
            assert (await gateway.call("mcp__Script__echo", text="server")).text == "server"
            assert (await gateway.call("script__echo")).text == "script"

    run(scenario())
