"""A program behaves as a plain Python file does."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sandbox.desk import Desk

FILES = [
    ("print(await mcp__echo__echo(text='hi'))", "hi\n"),
    (
        "import asyncio\nasync def f(t):\n    print(await mcp__echo__echo(text=t))\nasyncio.run(f('a'))\nasyncio.run(f('b'))",
        "a\nb\n",
    ),
    ("'''Doc.'''\nfrom __future__ import annotations\ndef f(x: Nonsense): return x\nprint(f(1), __doc__)", "1 Doc.\n"),
    (
        "async def g():\n    for t in 'ab':\n        yield await mcp__echo__echo(text=t)\nasync for x in g():\n    print(x)",
        "a\nb\n",
    ),
    (
        "import asyncio\nr = await asyncio.gather(mcp__echo__fail(), mcp__echo__echo(text='b'), return_exceptions=True)\nprint(type(r[0]).__name__, r[1])",
        "ToolError b\n",
    ),
    (
        "import asyncio\nasync with asyncio.TaskGroup() as g:\n    t = g.create_task(mcp__echo__echo(text='a'))\n    print('first')\nprint(t.result())",
        "first\na\n",
    ),
    (
        "import asyncio\ntry:\n    async with asyncio.timeout(0.1):\n        await mcp__echo__sleep(seconds=30)\nexcept TimeoutError:\n    print('gave up')",
        "gave up\n",
    ),
    ("import sys\nawait mcp__echo__echo(text='x')\nprint('a')\nsys.exit(0)\nprint('b')", "a\n"),
    ("import sys\nprint('a')\nprint('b', file=sys.stderr)\nprint('c')", "a\nb\nc\n"),
    ("import sys\nsys.stdout.buffer.write(b'\\xc3\\xa9\\n')", "é\n"),
    ("print('\\ud800')", "\\ud800\n"),
    (
        "from zoneinfo import ZoneInfo\nfrom datetime import datetime\nprint(datetime(2026, 7, 1, 12, tzinfo=ZoneInfo('Europe/Berlin')).isoformat())",
        "2026-07-01T12:00:00+02:00\n",
    ),
    (
        "import statistics, decimal, csv, io, re, hashlib, itertools, collections, heapq, json, uuid, textwrap, sqlite3, xml.etree.ElementTree as E, urllib.parse, base64, random, string, enum, fractions, difflib\nc = sqlite3.connect(':memory:')\nprint(c.execute('select 1+1').fetchone(), statistics.median([1, 2, 9]), E.fromstring('<a b=\"1\"/>').get('b'), urllib.parse.quote('ä'))",
        "(2,) 2 1 %C3%A4\n",
    ),
    ("import xml.dom.minidom, xml.sax.saxutils, logging.handlers, ctypes.util, email.mime.text, urllib.request, wave\nprint(1)", "1\n"),
    (
        "print([name for name in ['cp949', 'johab', 'mac_cyrillic', 'hz', 'cp037', 'shift_jis_2004'] if 'a'.encode(name).decode(name) != 'a'])",
        "[]\n",
    ),
    ("import typing\nclass A:\n    x: 'int'\nprint(typing.get_type_hints(A))", "{'x': <class 'int'>}\n"),
    ("import atexit\natexit.register(print, 'bye')\nprint('hello')", "hello\nbye\n"),
    # What was printed before the stream was replaced is kept.
    ("import io, sys\nfor i in range(20000): print(i % 10, end='')\nsys.stdout = io.StringIO()\nprint('nowhere')", "0123456789" * 2_000),
    ("", ""),
    ("# only a comment", ""),
    ("\ufeffpass", ""),
]  # fmt: skip


def test_programs_run_as_plain_files_do(desk: Desk) -> None:
    ran = desk.run_all(*(code for code, _ in FILES))
    expected = dict(FILES)
    got = {code: one.output if one.ok else one.text for code, one in zip(expected, ran, strict=True)}
    assert got == expected


def test_a_task_that_nobody_waits_for_ends_with_the_program(desk: Desk) -> None:
    execution = desk.run(
        "import asyncio\nt = asyncio.create_task(mcp__echo__sleep(seconds=30))\nawait asyncio.sleep(0.1)\nprint('end')"
    )
    assert (execution.ok, execution.output) == (True, "end\n")
    assert [call.outcome for call in execution.calls] == ["cancelled"]


def test_two_programs_at_the_same_time_do_not_mix(desk: Desk) -> None:
    code = "import asyncio\nfor i in range(50):\n    print({0!r}, i)\n    await asyncio.sleep(0)"
    ran = desk.run_all(*(code.format(name) for name in "ab"))
    assert [one.output for one in ran] == ["".join(f"{name} {i}\n" for i in range(50)) for name in "ab"]


def test_each_program_starts_afresh(desk: Desk) -> None:
    desk.output("import builtins, json\nbuiltins.left = 1\njson.dumps = None\nx = 1")
    code = "import builtins, json\nprint(hasattr(builtins, 'left'), json.dumps(1), 'x' in globals())"
    assert desk.output(code) == "False 1 False\n"
    assert len({one.output for one in desk.run_all(*["import random\nprint(random.random())"] * 4)}) == 4
