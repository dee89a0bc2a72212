"""Saved scripts from end to end: a real gateway and the real sandbox."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from halflap.core.errors import (
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
from servers import swift
from servers.memory import Memory

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterator
    from pathlib import Path

    from halflap.core.values import Tool

    Run = Callable[[Coroutine[Any, Any, Any]], Any]

DOUBLE = '''
async def main(number: int) -> int:
    """Double a number, by adding it to itself."""
    return await mcp__plain__add(a=number, b=number)
'''


class Shop:
    """A gateway, and its folder of scripts, written to as an editor would."""

    def __init__(self, home: Path, **settings: Any) -> None:
        self.folder = home / "scripts"
        self.folder.mkdir(parents=True)
        self.server = Memory(*swift.TOOLS, answer=lambda name, given: swift.ANSWERS[name](given))
        # tests/sandbox/check tests what the check finds in scripts.
        execution = {"check": "off", "max_programs": 4, **settings.pop("execution", {})}
        self.desk = Desk({"execution": execution, **settings}, home, {"plain": self.server})
        self.gateway = self.desk.gateway

    def put(self, **scripts: str) -> None:
        for name, code in scripts.items():
            (self.folder / f"{name}.py").write_text(code)

    def run(self, code: str, context: CallContext | None = None) -> Any:
        return self.desk.do(self.gateway.execute(code, context or CallContext()))

    def call(self, tool: str, **arguments: Any) -> Any:
        return self.desk.do(self.gateway.call(tool, **arguments))


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shop]:
    made = Shop(tmp_path_factory.mktemp("scripts") / "data")
    with made.desk:
        yield made


@pytest.fixture(scope="module")
def strict(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shop]:
    """Some tools are blocked, some need a confirmation, and changed definitions are held."""
    rules = {
        "block": ["script__kept*", "mcp__plain__env"],
        "destructive": ["mcp__plain__echo", "script__c"],
        "pin": "hold",
    }
    home = tmp_path_factory.mktemp("strict") / "data"
    made = Shop(home, tools=rules, execution={"confirm_destructive": True})
    with made.desk:
        yield made


# Values and output --------------------------------------------------------------------------------------

VALUES = {
    "async def main(): return await mcp__plain__add(a=20, b=22)": 42,
    "def main() -> dict[str, int]: return {'result': 1}": {"result": 1},
    "def main() -> str: return '{\"a\": 1}'": '{"a": 1}',
    "def main() -> int | None: return None": None,
    "def main(): return '42'": "42",
    "def main(): return [1, None, 'ä']": [1, None, "ä"],
    "def main() -> None: print('printed')": "printed\n",
    "print('just', end=' ')\nprint('lines')": "just lines\n",
    "async def main(): return 1\nprint(await main())": "1\n",
    "pass": "",
    "def main(): return __name__\nif __name__ == '__main__':\n    raise SystemExit('no')": "script",
}


def test_the_value_is_what_main_returned_else_what_was_printed(shop: Shop) -> None:
    made = {f"s{number}": code for number, code in enumerate(VALUES)}
    shop.put(**made)
    calls = ", ".join(f"await script__{name}()" for name in made)
    assert shop.run(f"print([{calls}])").output == f"{list(VALUES.values())!r}\n"


@pytest.mark.parametrize("value", ["{1, 2}", "float('nan')", "{(1, 2): 3}", "itself"])
def test_a_value_that_json_cannot_hold_is_a_type_error_at_the_end(shop: Shop, value: str) -> None:
    shop.put(
        odd=f"def main():\n    print('done')\n    itself = []\n    itself.append(itself)\n    return {value}"
    )
    text = shop.call("script__odd").text
    assert ("TypeError: " in text, "done" in text) == (True, True)


def test_images_that_a_script_shows_reach_its_caller_and_the_model(shop: Shop) -> None:
    show = "show((await mcp__plain__image())[0])"
    shop.put(failing=f"async def main():\n    {show}\n    1 / 0", showing=f"def main(): pass\n{show}")
    code = "part = (await script__showing())\nprint(part.kind, part.mime_type)\nawait script__failing()"
    done = shop.run(code)
    assert done.output == "image image/png\n"
    assert [block["type"] for block in done.shown] == ["image"]
    assert "ZeroDivisionError" in done.text


def test_a_failed_script_reports_the_line_its_calls_and_its_output(shop: Shop) -> None:
    shop.put(
        fail="async def main():\n    print('x' * 5000, 'the end')\n    await mcp__plain__echo(text='x')\n    return {}['gone']"
    )
    error = shop.run("await script__fail()").error
    assert "ToolError: script__fail failed: KeyError: 'gone'" in error
    assert "line 4, in main" in error
    assert "mcp__plain__echo" in error
    assert "xxx the end\n" in error
    assert len(error) < 4_000


def test_wrong_arguments_are_refused_before_anything_runs(shop: Shop) -> None:
    shop.put(double=DOUBLE)
    before = len(shop.desk.do(shop.gateway.runs()))
    for arguments in ({"number": "x"}, {"numbr": 1}):
        with pytest.raises(InvalidArgumentsError):
            shop.call("script__double", **arguments)
    assert len(shop.desk.do(shop.gateway.runs())) == before


def test_a_broken_script_is_an_error_with_its_reason_and_the_others_work(shop: Shop) -> None:
    shop.put(double=DOUBLE, broken="def main(*a): ...")
    with pytest.raises(ScriptError, match="line 1"):
        shop.call("script__broken")
    code = "try:\n    await script__broken()\nexcept ToolError as error:\n    print('line 1' in str(error))\nprint(await script__double(number=1))"
    assert shop.run(code).output == "True\n2\n"


# As part of the caller's run ----------------------------------------------------------------------------


def test_a_script_and_its_calls_are_recorded_as_part_of_the_run(shop: Shop) -> None:
    shop.put(double=DOUBLE)
    outer = shop.run("await script__double(number=1)", CallContext(principal="ann"))
    calls = {call.tool: call for call in shop.desk.do(shop.gateway.recent_calls(2))}
    runs = {run.name: run for run in shop.desk.do(shop.gateway.runs(principal="ann"))}
    assert (runs[None].kind, runs[None].id) == ("program", outer.run)
    assert (runs["double"].kind, runs["double"].outcome) == ("script", "ok")
    assert (calls["double"].server, calls["double"].run) == ("script", outer.run)
    assert (calls["add"].run, calls["add"].parent) == (runs["double"].id, outer.run)
    assert {call.principal for call in calls.values()} == {"ann"}


def test_the_rule_and_the_deadline_of_the_caller_hold_within_the_script(shop: Shop) -> None:
    shop.put(double=DOUBLE, slow="import asyncio\nasync def main(): await asyncio.sleep(1_000)")

    def rule(tool: Tool) -> None:
        if tool.name == "mcp__plain__add":
            raise ToolRefusedError("not today")

    context = CallContext(rule=rule)
    result = shop.desk.do(shop.gateway.call_tool("script__double", {"number": 1}, context))
    assert result.is_error
    assert "not today" in result.text

    async def hurried() -> Any:
        deadline = asyncio.get_running_loop().time() + 1
        return await shop.gateway.call_tool("script__slow", {}, CallContext(deadline=deadline))

    assert shop.desk.do(hurried()).meta["halflap"]["outcome"] == "timeout"


def test_scripts_call_each_other_up_to_a_depth_and_many_at_once(shop: Shop) -> None:
    shop.put(
        down="async def main(n: int):\n    return await script__down(n=n - 1) if n else 'bottom'",
        outer="async def main(n: int): return await script__double(number=n)",
        double=DOUBLE,
    )
    assert shop.run("print(await script__down(n=3))").output == "bottom\n"
    assert "4 deep" in shop.run("print(await script__down(n=4))").error
    with pytest.raises(SandboxError):
        shop.desk.do(shop.gateway.call_tool("script__down", {"n": 0}, CallContext(depth=5)))
    code = "import asyncio\nprint(sum(await asyncio.gather(*(script__outer(n=n) for n in range(6)))))"
    assert shop.run(code).output == "30\n"


# Which scripts there are --------------------------------------------------------------------------------


def test_scripts_are_listed_inspected_searched_and_suggested_like_tools(shop: Shop) -> None:
    shop.put(double=DOUBLE, hidden='def main():\n    """Say\u200b no\u202ething\x1b[31m."""')

    async def scenario() -> None:
        gateway = shop.gateway
        assert {"script__double", "script__hidden"} <= {tool.name for tool in await gateway.tools()}
        described = await gateway.inspect("script__double")
        assert described["description"] == "Double a number, by adding it to itself."
        assert (described["server"], described["originalName"]) == ("script", "double")
        assert described["annotations"]["readOnly"] is None
        assert (await gateway.inspect("script__hidden"))["description"] == "Say nothing."
        schema = await gateway.get_schema("script__double")
        assert schema.format_compact() == "script__double(number: integer) -> integer"
        for query in ("script__double", "doubling numbers"):
            assert (await gateway.search(query))[0].name == "script__double"
        with pytest.raises(ToolNotFoundError) as caught:
            await gateway.inspect("script__duoble")
        assert "script__double" in caught.value.suggestions

    shop.desk.do(scenario())


def test_new_changed_and_removed_files_are_noticed_while_running(shop: Shop) -> None:
    shop.put(one="def main(): return 1")
    assert shop.call("script__one").structured_content == 1
    shop.put(one="def main(n: int): return n")
    assert shop.call("script__one", n=2).structured_content == 2
    (shop.folder / "one.py").rename(shop.folder / "two.py")
    assert "script__two" in [tool.name for tool in shop.desk.do(shop.gateway.tools())]
    with pytest.raises(ToolNotFoundError):
        shop.call("script__one", n=1)
    (shop.folder / "two.py").unlink()
    assert "script__two" in shop.desk.do(shop.gateway.refresh()).removed


# What may be called -------------------------------------------------------------------------------------


def test_scripts_are_blocked_like_tools_and_so_is_what_they_call(strict: Shop) -> None:
    strict.put(kept_out="def main(): return 1", leak="async def main(): return await mcp__plain__env()")
    assert "script__kept_out" not in [tool.name for tool in strict.desk.do(strict.gateway.tools())]
    with pytest.raises(ToolBlockedError):
        strict.call("script__kept_out")
    assert "tools.block" in strict.call("script__leak").text


def test_a_definition_that_an_editor_changed_is_held_and_one_that_was_saved_is_not(strict: Shop) -> None:
    strict.put(one="def main(): return 1")
    assert strict.call("script__one").structured_content == 1
    strict.put(one="def main(n: int = 2): return n")
    with pytest.raises(ToolHeldError):
        strict.call("script__one")
    assert strict.desk.do(strict.gateway.inspect("script__one"))["changed"] == ["input schema"]
    strict.desk.do(strict.gateway.scripts.save("one", "def main(m: int = 3): return m", force=True))
    assert strict.call("script__one").structured_content == 3


def test_destructive_calls_are_asked_about_through_all_scripts_that_are_named(strict: Shop) -> None:
    strict.put(
        a="async def main(): return await script__b()",
        b="async def main(): return await script__c()",
        c="async def main(): return await mcp__plain__echo(text='gone')\n# script__a: a circle",
    )
    code = "print(await script__a())"
    strict.desk.do(strict.gateway.tools())
    asked = [tool.name for tool in strict.desk.do(strict.gateway.needing_confirmation(code))]
    assert asked == ["mcp__plain__echo", "script__c"]
    assert strict.run(code, CallContext(confirmations=frozenset(asked))).output == "gone\n"
    refused = strict.run(code, CallContext(unconfirmed="they declined")).error
    assert "'script__c'" in refused
    assert "they declined" in refused
    half = strict.run(code, CallContext(confirmations=frozenset({"script__c"}))).error
    assert "'mcp__plain__echo'" in half


def test_where_programs_only_read_a_script_is_judged_by_what_it_calls(tmp_path: Path) -> None:
    rules = {"read_only": ["mcp__plain__add", "script__*"], "destructive": ["script__marked"]}
    shop = Shop(tmp_path / "data", tools=rules, execution={"read_only": True})
    echo = "async def main(): return await mcp__plain__echo(text='x')"
    shop.put(double=DOUBLE, marked=DOUBLE, echoes=echo)
    with shop.desk:
        assert shop.run("print(await script__double(number=2))").ok
        for code in ("await script__marked(number=2)", "await script__echoes()"):
            assert "is not known to be read-only" in shop.run(code).error


# What is on disk is not trusted -------------------------------------------------------------------------


def test_nothing_of_a_script_runs_when_it_is_saved_listed_or_inspected(shop: Shop, tmp_path: Path) -> None:
    mark = tmp_path / "was-here"
    touch = f"open({str(mark)!r}, 'w')"
    code = (
        f"{touch}\ndef main(x: Annotated[int, {touch}, 'a number'] = 1):\n    pass\nclass A({touch}): pass\n"
    )

    async def scenario() -> None:
        await shop.gateway.scripts.save("touch", code)
        await shop.gateway.tools()
        await shop.gateway.inspect("script__touch")
        await shop.gateway.search("touch")

    shop.desk.do(scenario())
    assert not mark.exists()
    assert "PermissionError" in shop.call("script__touch").text
    assert not mark.exists()


def test_a_link_is_neither_listed_nor_run_and_shows_nothing_of_its_target(shop: Shop, tmp_path: Path) -> None:
    secret = tmp_path / "secret.py"
    secret.write_text('def main():\n    """The secret is 4711."""')
    shop.put(swapped="def main(): return 1")
    assert shop.call("script__swapped").structured_content == 1
    (shop.folder / "swapped.py").unlink()
    (shop.folder / "swapped.py").symlink_to(secret)
    assert "4711" not in shop.desk.do(shop.gateway.scripts.saved()).broken["swapped"]
    for name in ("script__swapped", "script__../secret"):
        with pytest.raises((ScriptError, ToolNotFoundError)):
            shop.call(name)
