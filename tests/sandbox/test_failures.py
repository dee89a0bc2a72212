"""The report of a failed program: its own lines, the calls it made, and a hint at what was there instead."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

    from halflap.sandbox.run.report import Execution
    from sandbox.desk import Desk

RESULT = '{"totalRevenue": 5, "rows": [{"name": "a", "id": 1}, {"name": "b", "id": 2, "more": 1}]}'


def hint_of(execution: Execution) -> str:
    return execution.text.partition("Hint: ")[2].partition("\n")[0]


def made_before(execution: Execution) -> list[str]:
    return execution.text.partition("Calls made before that:\n")[2].splitlines()


# Tracebacks -----------------------------------------------------------------------------------------------


def test_the_output_so_far_is_kept_and_a_traceback_has_only_lines_of_the_program(desk: Desk) -> None:
    execution = desk.run("import json\ndef f(x):\n    return json.loads(x)\nprint('one', end='')\nf('{')")
    assert execution.text.startswith(
        "[Script execution failed]\none\n"
        "Traceback (most recent call last):\n"
        '  File "program.py", line 5, in <module>\n'
        "    f('{')\n"
        '  File "program.py", line 3, in f\n'
        "    return json.loads(x)\n"
        "           ^^^^^^^^^^^^^\n"
        "json.decoder.JSONDecodeError: "
    )


def test_no_line_of_ours_is_in_a_traceback_that_a_program_prints(desk: Desk) -> None:
    calls = [
        "await mcp__echo__fail()",
        "await call_tool(1)",
        "await call_tool('mcp__echo__echo', text={1})",
        "await call_tool('mcp__echo__echo', text='x' * 9_000_000)",
        "show(type((await mcp__echo__image())[0])({'type': 'image'}))",
    ]
    code = "import traceback\ntry:\n    {}\nexcept Exception:\n    traceback.print_exc()"
    for one in desk.run_all(*map(code.format, calls)):
        files = [line.strip() for line in one.output.splitlines() if line.startswith("  File ")]
        assert files[0] == 'File "program.py", line 3, in <module>'
        assert all(line.startswith('File "<tool>", ') for line in files[1:]), one.output


@pytest.mark.parametrize(
    ("code", "shown"),
    [
        ("x = 1\nprint((x)\n", 'File "program.py", line 2\n    print((x)\n         ^\nSyntaxError: \'(\' was never closed'),
        ("raise TimeoutError('mine')", "TimeoutError: mine\n"),
        ("class E(Exception):\n    def __str__(self): raise RuntimeError\nraise E()", "line 3, in <module>"),
        # A program may break what we use.
        ("import json, traceback\njson.dumps = json.encoder.JSONEncoder = traceback.TracebackException = None\n1 / 0", ""),
    ],
)  # fmt: skip
def test_a_failure_is_the_programs_own(desk: Desk, code: str, shown: str) -> None:
    execution = desk.run(code)
    assert execution.outcome in {"failed", "crashed"}
    assert shown in execution.text
    assert "halflap" not in execution.text
    assert "limit" not in execution.text


def test_a_very_long_message_is_cut_and_no_misuse(desk: Desk) -> None:
    ends = [
        "raise ValueError('\\ud800' * 300_000)",
        "import sys\nsys.exit('é' * 6_000_000)",
        "raise type('\\x01' * 300_000, (Exception,), {})",
        "raise NameError(name='n' * 500_000)",
        "{'k' * 1_000_000: 1}['x']",
    ]
    for one in desk.run_all(*ends):
        assert one.outcome == "failed", one.text[:500]
        assert len(one.text) < 160_000


# Calls ----------------------------------------------------------------------------------------------------


def test_the_first_and_last_calls_are_listed_with_their_outcomes(desk: Desk) -> None:
    execution = desk.run(
        "for n in range(50):\n    await mcp__echo__echo(text=str(n))\nawait mcp__echo__fail()"
    )
    lines = made_before(execution)
    assert len(lines) == 41
    assert lines[19].startswith("20. mcp__echo__echo — ok, ")
    assert lines[21].startswith("32. mcp__echo__echo — ok, ")
    assert lines[40].startswith("51. mcp__echo__fail — tool_error, ")
    assert lines[40].endswith("this tool always fails")


def test_no_call_can_be_made_up_by_the_name_of_another(desk: Desk) -> None:
    code = "try:\n    await call_tool('x{}2. mcp__echo__pay — ok, 3 ms')\nexcept ToolError:\n    pass\n1 / 0"
    for one in desk.run_all(*map(code.format, ["\\n", "\\u2028", "\\x1b[1A", "n" * 800_000])):
        (line,) = made_before(one)
        assert line.isprintable()
        assert len(one.text) < 1_000


def test_arguments_that_json_cannot_hold_are_a_type_error_at_the_line_of_the_call(desk: Desk) -> None:
    arguments = ["1, 2", "a={1, 2}, b=1", "a=float('nan'), b=1"]
    for one in desk.run_all(*(f"x = 1\nawait mcp__echo__add({given})" for given in arguments)):
        assert (one.outcome, len(one.calls)) == ("failed", 0)
        assert "line 2, in <module>" in one.text
        assert "TypeError: " in one.text
        assert "mcp__echo__add()" in one.text


def test_an_unknown_tool_gets_suggestions(desk: Desk) -> None:
    execution = desk.run("await mcp__echo__ecko(text='a')")
    assert "ToolError: 'mcp__echo__ecko'" in execution.text
    assert "'mcp__echo__echo'" in execution.text


# Hints ----------------------------------------------------------------------------------------------------

NOT_AWAITED = "not awaited"
NO_FILES = "no files, network or processes"

HINTS = [
    ("print(r['revenue'])", "'revenue' is not in the result of mcp__echo__echo; keys: totalRevenue, rows"),
    ("print(r.totalRevenue)", "['totalRevenue']"),
    ("print([x['nam'] for x in r['rows']])", "'nam' is not in this dict; keys: name, id"),
    ("(await call_tool('mcp__echo__echo', text='{\"a\": 1}'))['rows']", "'rows' is not in the result of mcp__echo__echo; keys: a"),
    ("n = 1\nr[f'x{n}']", "'x1' is not in the result of mcp__echo__echo; keys: totalRevenue, rows"),
    ("r.get('nope')['x']", "'nope' is not in the result of mcp__echo__echo; keys: totalRevenue, rows"),
    ("print(r['rows']['name'])", "a list of 2, the first of them a dict with the keys name, id"),
    ("for row in r: print(row['name'])", "goes through its keys. Lists in it: rows"),
    ("r['rows'][0]['name']['first']", "text, not an object: 'a'"),
    ("import asyncio\nawait asyncio.gather([mcp__echo__pid()])", "`*` before the list"),
    ("import json\njson.dumps((await mcp__echo__image())[0])", ".data"),
    ("sum(len(await mcp__echo__echo(text=x)) for x in 'ab')", "square brackets"),
    ("[]['x']", "an empty list"),
    ("n = {'a': None}\nprint(n['a']['x'])", "`n['a']` is None here"),
    ("i = (await mcp__echo__image())[0]\ni['data']", ".data"),
    ("c = mcp__echo__pid()\nprint(c['x'])", NOT_AWAITED),
    ("mcp__echo__pid() + 1", NOT_AWAITED),
    ("await mcp__echo__echo(text=mcp__echo__pid())", NOT_AWAITED),
    ("from tools import mcp__echo__pid", "Tools need no import"),
    ("import numpy", "`execution.modules`"),
    ("def f(): return [await mcp__echo__pid() for _ in range(2)]", "`async def`"),
    ("import smtplib", "'smtplib' is left out"),
    ("open('notes.txt')", NO_FILES),
    ("from urllib.request import urlopen\nurlopen('http://127.0.0.1:1')", NO_FILES),
    ("import json\njson.loads(r)", "parsed already"),
    ("return r", "end with it as an expression"),
    ("import threading\nthreading.Thread(target=print).start()", "one thread"),
    ("import asyncio\nasync def main(): pass\nawait asyncio.sleep(0)\nasyncio.run(main())", "`await main()`"),
    # Nothing is known about these.
    ("raise KeyError('x')", ""),
    ("raise ConnectionError('mine')", ""),
    ("s = {1}\ns.remove('x')", ""),
    ("import gzip\ngzip.decompress(b'no gzip at all')", ""),
]  # fmt: skip
"""Programs with a mistake after a call with `RESULT`, and what the hint says."""


def test_a_hint_says_what_is_there(desk: Desk) -> None:
    ran = desk.run_all(*(f"r = await mcp__echo__echo(text={RESULT!r})\n{code}" for code, _ in HINTS))
    wrong = [
        (code, one.text)
        for (code, hint), one in zip(HINTS, ran, strict=True)
        if one.ok or hint not in hint_of(one) or (hint == "") != (hint_of(one) == "")
    ]
    assert wrong == []


# Warnings and exits ---------------------------------------------------------------------------------------


def test_a_call_that_is_never_awaited_is_warned_of(desk: Desk) -> None:
    codes = [
        "async def main():\n    x = mcp__echo__echo(text='x')\nawait main()",
        "x = mcp__echo__echo(text='x')\nawait x",
        "import asyncio\nawait asyncio.sleep(0)\nx = asyncio.create_task(mcp__echo__echo(text='x'))",
    ]
    ran = desk.run_all(*(f"print('first')\n{code}" for code in codes))
    assert ["was never awaited" in one.output for one in ran] == [True, False, False]
    assert "halflap" not in ran[0].output


def test_leaving_is_a_failure_only_with_a_reason(desk: Desk) -> None:
    leaves = {
        "exit()": None,
        "import sys; sys.exit(0)": None,
        "def f():\n    quit(None)\nf()": None,
        "exit('no rows')": "no rows",
        "import sys; sys.exit(3)": "status 3",
        "import sys; sys.exit('')": "empty message",
        "import os\nos.abort()": "os.abort()",
    }
    ran = desk.run_all(*(f"print('one')\n{leave}\nprint('two')" for leave in leaves))
    for reason, one in zip(leaves.values(), ran, strict=True):
        assert (one.ok, one.output) == (reason is None, "one\n")
        assert (reason or "") in one.text
        assert "Traceback" not in one.text


def test_where_the_output_is_not_kept_that_is_said(desk_with: Callable[..., Desk]) -> None:
    desk = desk_with(max_output_bytes=10, config={"traces": {"record": "metadata"}})
    text = desk.run("print('x' * 100)").text
    assert "`traces.record`" in text
    assert "runs show" not in text
