"""A program behaves as a plain Python file does."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from sandbox.desk import Desk

FILES = {
    "an await at top level": ("print(await mcp__echo__echo(text='hi'))", "hi\n"),
    "asyncio.run": (
        "import asyncio\nasync def main():\n    print(await mcp__echo__echo(text='hi'))\nasyncio.run(main())",
        "hi\n",
    ),
    "asyncio.run twice": (
        "import asyncio\nasync def f(t):\n    print(await mcp__echo__echo(text=t))\nasyncio.run(f('a'))\nasyncio.run(f('b'))",
        "a\nb\n",
    ),
    "a future import": (
        "'''Doc.'''\nfrom __future__ import annotations\ndef f(x: Nonsense): return x\nprint(f(1), __doc__)",
        "1 Doc.\n",
    ),
    "a dataclass": (
        "from dataclasses import dataclass\n@dataclass\nclass P:\n    x: int = 1\nprint(P(2))",
        "P(x=2)\n",
    ),
    "an async generator": (
        "async def g():\n    for t in 'ab':\n        yield await mcp__echo__echo(text=t)\nasync for x in g():\n    print(x)",
        "a\nb\n",
    ),
    "asyncio.gather": (
        "import asyncio\nprint(await asyncio.gather(mcp__echo__echo(text='a'), mcp__echo__add(a=1, b=2)))",
        "['a', 3]\n",
    ),
    "gather with exceptions": (
        "import asyncio\nr = await asyncio.gather(mcp__echo__fail(), mcp__echo__echo(text='b'), return_exceptions=True)\nprint(type(r[0]).__name__, r[1])",
        "ToolError b\n",
    ),
    "create_task": (
        "import asyncio\nt = asyncio.create_task(mcp__echo__echo(text='a'))\nprint('first')\nprint(await t)",
        "first\na\n",
    ),
    "a TaskGroup": (
        "import asyncio\nasync with asyncio.TaskGroup() as g:\n    t = g.create_task(mcp__echo__echo(text='a'))\nprint(t.result())",
        "a\n",
    ),
    "async with": (
        "from contextlib import asynccontextmanager\n@asynccontextmanager\nasync def c():\n    print('in')\n    yield 1\n    print('out')\nasync with c() as x:\n    print(x)",
        "in\n1\nout\n",
    ),
    "asyncio.timeout": (
        "import asyncio\ntry:\n    async with asyncio.timeout(0.1):\n        await mcp__echo__sleep(seconds=30)\nexcept TimeoutError:\n    print('gave up')",
        "gave up\n",
    ),
    "sys.exit within await": (
        "import sys\nawait mcp__echo__echo(text='x')\nprint('a')\nsys.exit(0)\nprint('b')",
        "a\n",
    ),
    "globals and __name__": (
        "x = 1\ndef f():\n    global x\n    x += 1\nf()\nif __name__ == '__main__':\n    print(x)",
        "2\n",
    ),
    "print to stderr, in order": (
        "import sys\nprint('a')\nprint('b', file=sys.stderr)\nprint('c')",
        "a\nb\nc\n",
    ),
    "bytes to stdout": ("import sys\nsys.stdout.buffer.write(b'\\xc3\\xa9\\n')", "é\n"),
    "a lone surrogate": ("print('\\ud800')", "\\ud800\n"),
    "time zones": (
        "from zoneinfo import ZoneInfo\nfrom datetime import datetime\nprint(datetime(2026, 7, 1, 12, tzinfo=ZoneInfo('Europe/Berlin')).isoformat())",
        "2026-07-01T12:00:00+02:00\n",
    ),
    "the standard library": (
        "import statistics, decimal, csv, io, re, hashlib, itertools, collections, heapq, json, uuid, textwrap, sqlite3, xml.etree.ElementTree as E, urllib.parse, base64, random, string, enum, fractions, difflib\nc = sqlite3.connect(':memory:')\nprint(c.execute('select 1+1').fetchone(), statistics.median([1, 2, 9]), E.fromstring('<a b=\"1\"/>').get('b'), urllib.parse.quote('ä'))",
        "(2,) 2 1 %C3%A4\n",
    ),
    "type hints of a local class": (
        "import typing\nclass A:\n    x: 'int'\nprint(typing.get_type_hints(A))",
        "{'x': <class 'int'>}\n",
    ),
    "a tool by a computed name": ("n = 'add'\nprint(await call_tool(f'mcp__echo__{n}', a=2, b=2))", "4\n"),
    "an argument named name": ("print(await mcp__echo__env(name='NOTHING_OF_THIS_NAME'))", "null\n"),
}


@pytest.mark.parametrize("what", FILES)
def test_runs_as_in_a_plain_file(desk: Desk, what: str) -> None:
    code, expected = FILES[what]
    assert desk.output(code) == expected


@pytest.mark.parametrize("code", ["", "# only a comment", "\ufeffpass"])
def test_a_program_that_does_nothing_succeeds_without_output(desk: Desk, code: str) -> None:
    execution = desk.run(code)
    assert (execution.outcome, execution.output) == ("ok", "")


def test_input_is_a_clear_error(desk: Desk) -> None:
    assert "EOFError: input() is not available" in desk.run("x = input('Name? ')").text


def test_a_task_that_nobody_waits_for_ends_with_the_program(desk: Desk) -> None:
    execution = desk.run(
        "import asyncio\nt = asyncio.create_task(mcp__echo__sleep(seconds=30))\nawait asyncio.sleep(0.1)\nprint('end')"
    )
    assert (execution.ok, execution.output) == (True, "end\n")
    assert [call.outcome for call in execution.calls] == ["cancelled"]


def test_two_programs_at_once_do_not_mix(desk: Desk) -> None:
    code = "import asyncio\nfor i in range(50):\n    print({0!r}, i)\n    await asyncio.sleep(0)"

    async def both() -> list[str]:
        import asyncio  # noqa: PLC0415 -- used here alone

        ran = await asyncio.gather(*(desk.gateway.execute(code.format(name)) for name in "ab"))
        return [one.output for one in ran]

    assert desk.do(both()) == ["".join(f"{name} {i}\n" for i in range(50)) for name in "ab"]


def test_each_program_starts_afresh(desk: Desk) -> None:
    desk.output("import builtins, json\nbuiltins.left = 1\njson.dumps = None\nx = 1")
    assert desk.output(
        "import builtins, json\nprint(hasattr(builtins, 'left'), json.dumps(1), 'x' in globals())"
    ) == ("False 1 False\n")


def test_chance_differs_from_program_to_program(desk: Desk) -> None:
    assert len({desk.output("import random\nprint(random.random())") for _ in range(4)}) == 4


def test_what_is_registered_for_the_end_is_run(desk: Desk) -> None:
    code = "import atexit\natexit.register(print, 'bye')\nprint('hello')"
    assert desk.output(code) == "hello\nbye\n"


def test_what_was_printed_before_the_stream_was_replaced_is_kept(desk: Desk) -> None:
    code = (
        "import io, sys\nfor i in range(20000): print(i % 10, end='')\nprint('last', end='')\n"
        "sys.stdout = io.StringIO()\nprint('nowhere')"
    )
    output = desk.output(code)
    assert (len(output), output[-4:]) == (20_004, "last")


def test_inner_modules_and_encodings_of_the_standard_library_are_there(desk: Desk) -> None:
    modules = (
        "xml.dom.minidom xml.sax logging.handlers http.cookiejar ctypes.util xmlrpc.client wsgiref.util doctest pdb "
        "cProfile profile pstats smtplib wave symtable pickletools trace mailbox socketserver pydoc"
    )
    encodings = ["cp949", "cp950", "johab", "mac_cyrillic", "hz", "cp037", "shift_jis_2004"]
    code = "".join(f"import {name}\n" for name in modules.split())
    code += f"print([name for name in {encodings} if 'a'.encode(name).decode(name) != 'a'])"
    assert desk.output(code) == "[]\n"
