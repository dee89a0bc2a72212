"""What is told of a program that failed."""

from __future__ import annotations

from textwrap import indent
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

    from execution.desk import Desk


def test_what_was_printed_before_a_failure_is_kept(desk: Desk) -> None:
    execution = desk.run("print('one')\nprint('two', end='')\n1 / 0")
    assert execution.text.startswith(
        "[Script execution failed]\none\ntwo\nTraceback (most recent call last):\n"
    )


def test_a_traceback_has_the_lines_of_the_program_and_none_of_ours(desk: Desk) -> None:
    execution = desk.run("import json\ndef f(x):\n    return json.loads(x)\n\nf('{')")
    assert execution.error == (
        "Traceback (most recent call last):\n"
        '  File "program.py", line 5, in <module>\n'
        "    f('{')\n"
        '  File "program.py", line 3, in f\n'
        "    return json.loads(x)\n"
        "           ^^^^^^^^^^^^^\n"
        "json.decoder.JSONDecodeError: Expecting property name enclosed in double quotes: line 1 column 2 (char 1)"
    )


def test_a_traceback_of_a_cause_has_none_of_our_lines_either(desk: Desk) -> None:
    execution = desk.run(
        "async def f():\n    try:\n        await mcp__echo__fail()\n    except ToolError as e:\n"
        "        raise ValueError('no') from e\nawait f()"
    )
    assert "halflap" not in execution.error
    assert "ToolError: this tool always fails\n" in execution.error
    assert execution.error.endswith("ValueError: no")


def test_a_syntax_error_shows_where(desk: Desk) -> None:
    execution = desk.run("x = 1\nprint((x)\n")
    assert 'File "program.py", line 2' in execution.text
    assert "SyntaxError: '(' was never closed" in execution.text
    assert "Calls made before that: none." in execution.text


def test_the_calls_that_were_made_are_named_with_outcome_and_time(desk: Desk) -> None:
    execution = desk.run(
        "await mcp__echo__echo(text='a')\ntry:\n    await mcp__echo__fail()\nexcept ToolError:\n    pass\n1 / 0"
    )
    made = execution.text.partition("Calls made before that:\n")[2].splitlines()
    assert made[0].startswith("1. mcp__echo__echo — ok, ")
    assert made[0].endswith(" ms")
    assert made[1].startswith("2. mcp__echo__fail — tool_error, ")
    assert made[1].endswith("this tool always fails")


def test_an_error_of_a_tool_can_be_caught_and_carries_its_message(desk: Desk) -> None:
    code = "try:\n    await mcp__echo__fail()\nexcept ToolError as error:\n    print('caught', error)"
    assert desk.output(code) == "caught this tool always fails\n"


def test_a_lost_server_is_an_error_that_can_be_caught(desk: Desk) -> None:
    code = "try:\n    await mcp__echo__crash()\nexcept ToolError as error:\n    print(error)\nprint(await mcp__echo__echo(text='back'))"
    printed = desk.output(code)
    assert "Server 'echo'" in printed
    assert printed.endswith("back\n")


def test_wrong_arguments_are_told_all_at_once_and_nothing_is_sent(desk: Desk) -> None:
    execution = desk.run("await mcp__echo__add(a='x', c=1)")
    assert "a: expected integer" in execution.text
    assert "b: missing" in execution.text
    assert "It takes: " in execution.text


def test_arguments_without_names_are_told_the_signature(desk: Desk) -> None:
    execution = desk.run("await mcp__echo__add(1, 2)")
    assert (
        "TypeError: mcp__echo__add() takes keyword arguments only. It takes: mcp__echo__add(a: integer"
        in (execution.text)
    )


def test_an_argument_that_is_not_json_is_told_at_the_line_of_the_call(desk: Desk) -> None:
    execution = desk.run("x = {1, 2}\nawait mcp__echo__echo(text=x)")
    assert "line 2, in <module>" in execution.text
    assert "TypeError: mcp__echo__echo() takes values that JSON can hold: " in execution.text


def test_an_unknown_tool_gets_suggestions(desk: Desk) -> None:
    execution = desk.run("await mcp__echo__ecko(text='a')")
    assert "ToolError: 'mcp__echo__ecko' is not available in execute_program\n" in execution.text
    assert "Did you mean 'mcp__echo__echo'" in execution.text


def test_a_name_without_its_prefix_gets_suggestions(desk: Desk) -> None:
    execution = desk.run("await cancelled_count()")
    assert "NameError: name 'cancelled_count' is not defined" in execution.text
    assert "Hint: Did you mean mcp__echo__cancelled_count?" in execution.text


def test_a_blocked_tool_is_not_available(desk_with: Callable[..., Desk]) -> None:
    desk = desk_with(tools={"block": ["mcp__echo__pid"]})
    execution = desk.run("await mcp__echo__pid()")
    assert "ToolError: 'mcp__echo__pid' is not available in execute_program\n" in execution.text


REPLY = "import json\nr = json.loads(await mcp__echo__echo(text='')) if False else await mcp__echo__echo(text='{}')\n"


@pytest.mark.parametrize(
    ("code", "hint"),
    [
        (
            "print(r['revenue'])",
            "'revenue' is not in the result of mcp__echo__echo; keys: totalRevenue, rows",
        ),
        ("print(r.revenue)", "'revenue' is not in the result of mcp__echo__echo; keys: totalRevenue, rows"),
        (
            "print(r.totalRevenue)",
            "The result of mcp__echo__echo is a dict: write ['totalRevenue'] instead of .totalRevenue.",
        ),
        ("print(r['rows'][0]['nam'])", "'nam' is not in the result of mcp__echo__echo; keys: name, id"),
        (
            "print([x['nam'] for x in r['rows']])",
            "'nam' is not in the result of mcp__echo__echo; keys: name, id",
        ),
        (
            "print(max(r['rows'], key=lambda x: x['sum']))",
            "'sum' is not in the result of mcp__echo__echo; keys: name, id",
        ),
        (
            "print(r['rows']['name'])",
            (
                "The value is a list of 2, the first of them a dict with the keys name, id: take one by its index, "
                "or go through them."
            ),
        ),
        ("t = 'plain'\nprint(t['x'])", "The value is text, not an object: 'plain'"),
        ("n = None\nprint(n['x'])", "The value is None."),
        (
            "c = mcp__echo__pid()\nprint(c['x'])",
            "The value is a call that was not awaited: write `await` before it.",
        ),
        ("own = {'a': 1}\nown['b']", "'b' is not in this dict; keys: a"),
        ("import numpy_of_my_own", "Programs have Python's standard library. For more, the user can add"),
        ("open('notes.txt')", "Programs have no files, network or processes"),
        (
            "import socket\nsocket.create_connection(('127.0.0.1', 80))",
            "Programs have no files, network or processes",
        ),
        ("import subprocess\nsubprocess.run(['ls'])", "Programs have no files, network or processes"),
        ("import threading\nthreading.Thread(target=print).start()", "Programs have one thread"),
        (
            "import asyncio\nasync def main(): pass\nawait asyncio.sleep(0)\nasyncio.run(main())",
            "The program already runs in an event loop: write `await main()` instead of `asyncio.run(main())`.",
        ),
        (
            '(await mcp__echo__echo(text=\'{"a": {"b": [{"c": 1}]}}\'))[\'rows\']',
            "'rows' is not in the result of mcp__echo__echo; keys: a",
        ),
        (
            '(await mcp__echo__echo(text=\'{"a": {"b": [{"c": 1}]}}\')).rows',
            "'rows' is not in the result of mcp__echo__echo; keys: a",
        ),
        (
            "(await mcp__echo__echo(text='{\"a\": {\"b\": [{\"c\": 1}]}}'))['a']['b'][0]['d']",
            "'d' is not in the result of mcp__echo__echo; keys: c",
        ),
        (
            "(await call_tool('mcp__echo__echo', text='{\"a\": 1}'))['rows']",
            "'rows' is not in the result of mcp__echo__echo; keys: a",
        ),
        (
            "from operator import itemgetter\nitemgetter('nope')(r)",
            "'nope' is not in the result of mcp__echo__echo; keys: totalRevenue, rows",
        ),
        (
            "from operator import itemgetter\nitemgetter('b')(await mcp__echo__echo(text='{\"a\": 1}'))",
            "'b' is not in the result of mcp__echo__echo; keys: a",
        ),
        (
            "print('{revenue}'.format(**r))",
            "'revenue' is not in the result of mcp__echo__echo; keys: totalRevenue, rows",
        ),
        (
            "print('%(revenue)s' % r)",
            "'revenue' is not in the result of mcp__echo__echo; keys: totalRevenue, rows",
        ),
        (
            "from operator import itemgetter\nsorted(r['rows'], key=itemgetter('x'))",
            "'x' is not in the result of mcp__echo__echo; keys: name, id",
        ),
        (
            "from operator import itemgetter\nrows = r['rows']\nprint([x for x in map(itemgetter('x'), rows)])",
            "'x' is not in the result of mcp__echo__echo; keys: name, id",
        ),
        (
            "from string import Template\nTemplate('$revenue').substitute(r)",
            "'revenue' is not in the result of mcp__echo__echo; keys: totalRevenue, rows",
        ),
        ("n = 1\nr[f'x{n}']", "'x1' is not in the result of mcp__echo__echo; keys: totalRevenue, rows"),
        ("r.pop('nope')", "'nope' is not in the result of mcp__echo__echo; keys: totalRevenue, rows"),
        (
            "r.get('nope').get('x')",
            "`.get('nope')` gave None: 'nope' is not in the result of mcp__echo__echo; keys: totalRevenue, rows",
        ),
        (
            "r.get('nope')['x']",
            "`.get('nope')` gave None: 'nope' is not in the result of mcp__echo__echo; keys: totalRevenue, rows",
        ),
        (
            "r['rows'][0] + r['totalRevenue']",
            "Left of `+` is a dict with the keys name, id, right of it an int.",
        ),
        ("d = r['rows'][0]\nprint(d['id'] + d['name'])", "Left of `+` is an int, right of it the text 'a'."),
        (
            "'sum ' + r",
            "Left of `+` is the text 'sum ', right of it a dict with the keys totalRevenue, rows.",
        ),
        ("n = 1\nn += r", "Left of `+` is an int, right of it a dict with the keys totalRevenue, rows."),
        ("r['totalRevenue'] < r.get('limit')", "Left of `<` is an int, right of it None."),
        ("mcp__echo__pid() + 1", "The value is a call that was not awaited: write `await` before it."),
        ("'a' + mcp__echo__pid()", "The value is a call that was not awaited: write `await` before it."),
        ("len(mcp__echo__pid())", "The value is a call that was not awaited: write `await` before it."),
        (
            "for x in mcp__echo__pid(): pass",
            "The value is a call that was not awaited: write `await` before it.",
        ),
        (
            "import json\njson.dumps({'a': mcp__echo__pid()})",
            "The value is a call that was not awaited: write `await` before it.",
        ),
        (
            "import json\njson.loads(mcp__echo__pid())",
            "The value is a call that was not awaited: write `await` before it.",
        ),
        ("mcp__echo__pid().get('x')", "The value is a call that was not awaited: write `await` before it."),
        (
            "', '.join([mcp__echo__pid()])",
            "The value is a call that was not awaited: write `await` before it.",
        ),
        (
            "await mcp__echo__echo(text=mcp__echo__pid())",
            "The value is a call that was not awaited: write `await` before it.",
        ),
        (
            "import socket\nsocket.getaddrinfo('example.com', 80)",
            "Programs have no files, network or processes",
        ),
        (
            "from urllib.request import urlopen\nurlopen('http://example.com')",
            "Programs have no files, network or processes",
        ),
        (
            "from urllib.request import urlopen\nurlopen('http://127.0.0.1:1')",
            "Programs have no files, network or processes",
        ),
        (
            "import http.client\nhttp.client.HTTPConnection('127.0.0.1', 1).request('GET', '/')",
            "Programs have no files, network or processes",
        ),
        (
            "import asyncio\nawait asyncio.open_connection('example.com', 80)",
            "Programs have no files, network or processes",
        ),
        (
            "for row in r: print(row['name'])",
            "The value is text, not an object: 'totalRevenue': it is a key of a dict; going through a dict gives its keys",
        ),
        (
            "d = {'first': {'name': 1}}\nfor row in d: print(row['name'])",
            "The value is text, not an object: 'first': it is a key of a dict; to go through its values write `.values()`",
        ),
        ("help(print)", "There is no help() in programs: print(tool.__doc__) shows what a tool takes."),
    ],
)
def test_a_failure_says_what_is_there(desk: Desk, code: str, hint: str) -> None:
    result = '{"totalRevenue": 5, "rows": [{"name": "a", "id": 1}, {"name": "b", "id": 2}]}'
    execution = desk.run(f"r = await mcp__echo__echo(text={result!r})\n{code}")
    assert f"Hint: {hint}" in execution.text


def test_a_hint_runs_nothing_of_the_program(desk: Desk) -> None:
    execution = desk.run(
        "class Odd(dict):\n    def __missing__(self, key):\n        print('asked')\n        raise KeyError(key)\n"
        "Odd()['x']"
    )
    assert execution.output == "asked\n"
    assert "Hint" not in execution.text


@pytest.mark.parametrize(
    "code",
    [
        "raise KeyError('x')",
        "raise ConnectionError('mine')",
        "s = {1}\ns.remove('x')",
        "import os\nos.environ['x']",
        "import gzip\ngzip.decompress(b'no gzip at all')",
        "import asyncio\nasyncio.create_task(1)\nawait asyncio.sleep(0)",
        "import os\nos.environ.pop('x')",
    ],
)
def test_where_nothing_is_known_no_hint_is_given(desk: Desk, code: str) -> None:
    execution = desk.run(f"r = await mcp__echo__echo(text='{{\"a\": 1}}')\n{code}")
    assert not execution.ok
    assert "Hint" not in execution.text


@pytest.mark.parametrize(
    ("code", "hint"),
    [
        ("k = Key()\nd = {'a': 1}\nd[k]", "A Key is not in this dict; keys: a"),
        ("d = {Key(): 1}\nd['a']", "'a' is not in this dict; keys: Key"),
        ("d = {Key(): 1}\nd.a", "'a' is not in this dict; keys: Key"),
        ("c = Odd()\n'a' + c", "Left of `+` is the text 'a', right of it an Odd."),
        ("t = Text('abc')\nt.nope", "The value is text, not an object: 'abc'"),
    ],
)
def test_a_hint_asks_no_object_of_the_program_what_it_is(desk: Desk, code: str, hint: str) -> None:
    execution = desk.run(
        "def asked(*_): print('asked')\n"
        "class Key:\n    __eq__ = __str__ = asked\n    def __hash__(self): return hash('a')\n"
        "    def __repr__(self): return 'k'\n"
        "class Type(type):\n    __name__ = property(asked)\n"
        "class Odd(metaclass=Type):\n    __class__ = property(asked)\n    __repr__ = __str__ = asked\n"
        "class Text(str):\n    __getitem__ = __str__ = __repr__ = asked\nprint('from here')\n"
        f"def mistake():\n{indent(code, '    ')}\n"
        "try:\n    mistake()\nexcept Exception:\n    print('again')\nmistake()"
    )
    # The dict itself compares, once or, as the hashes of the day fall, on a slot that it comes by again: as often as
    # the first time, where the mistake was caught.
    first, second = execution.output.removeprefix("from here\n").split("again\n")
    assert first == second
    assert f"Hint: {hint}" in execution.text


@pytest.mark.parametrize("leave", ["exit()", "quit()", "exit(0)", "def f():\n    quit(None)\nf()"])
def test_exit_and_quit_end_a_program(desk: Desk, leave: str) -> None:
    assert desk.output(f"print('one')\n{leave}\nprint('two')") == "one\n"


def test_exit_with_a_text_is_a_failure_that_says_it(desk: Desk) -> None:
    execution = desk.run("exit('no rows')")
    assert execution.outcome == "failed"
    assert "no rows" in execution.text


NEVER = "a call of mcp__echo__echo was never awaited: nothing was called. Write `await` before it."


@pytest.mark.parametrize(
    ("code", "warning"),
    [
        (
            "x = mcp__echo__echo(text='x')",
            f"program.py:2: RuntimeWarning: {NEVER}\n  x = mcp__echo__echo(text='x')\n",
        ),
        (
            "mcp__echo__echo(text='x')",
            f"program.py:2: RuntimeWarning: {NEVER}\n  mcp__echo__echo(text='x')\n",
        ),
        (
            "x = [mcp__echo__echo(text=t) for t in 'ab']",
            f"program.py:2: RuntimeWarning: {NEVER}\n  x = [mcp__echo__echo(text=t) for t in 'ab']\n",
        ),
        (
            "async def main():\n    x = mcp__echo__echo(text='x')\nawait main()",
            f"program.py:3: RuntimeWarning: {NEVER}\n  x = mcp__echo__echo(text='x')\n",
        ),
        (
            "async def main(): pass\nmain()",
            (
                "program.py:3: RuntimeWarning: main() was never awaited: nothing of it ran. Write `await` before it.\n"
                "  main()\n"
            ),
        ),
        ("x = mcp__echo__echo(text='x')\nawait x", ""),
        ("import asyncio\nawait asyncio.sleep(0)\nx = asyncio.create_task(mcp__echo__echo(text='x'))", ""),
    ],
)
def test_a_call_that_is_never_awaited_is_warned_of(desk: Desk, code: str, warning: str) -> None:
    assert desk.output(f"print('first')\n{code}") == f"first\n{warning}"


def test_a_failure_warns_of_no_calls_that_it_kept_from_being_awaited(desk: Desk) -> None:
    execution = desk.run("def f():\n    c = mcp__echo__pid()\n    1 / 0\nf()")
    assert execution.output == ""


def test_a_programs_own_time_out_is_its_own(desk: Desk) -> None:
    execution = desk.run("raise TimeoutError('mine')")
    assert "Traceback (most recent call last):" in execution.text
    assert "TimeoutError: mine" in execution.text
    assert "limit" not in execution.text
    assert execution.outcome == "failed"


def test_a_program_that_breaks_python_is_told_of_without_our_lines(desk: Desk) -> None:
    execution = desk.run(
        "import json, traceback\njson.dumps = json.JSONEncoder = None\njson.encoder.JSONEncoder = None\ntraceback.TracebackException = None\n1 / 0"
    )
    assert execution.outcome in {"failed", "crashed"}
    assert "halflap" not in execution.text


def test_an_exception_that_cannot_be_shown_is_still_a_failure(desk: Desk) -> None:
    execution = desk.run("class E(Exception):\n    def __str__(self): raise RuntimeError\nraise E()")
    assert execution.outcome == "failed"
    assert "line 3, in <module>" in execution.text


@pytest.mark.parametrize(
    "letter", ["😀", "\\ud800", "\\x01", "é"], ids=["emoji", "half", "control", "accent"]
)
@pytest.mark.parametrize(
    "end", ["raise ValueError({})", "sys.exit({})", "raise type({}, (Exception,), {{}})"]
)
def test_a_failure_with_very_many_letters_is_one(desk: Desk, end: str, letter: str) -> None:
    execution = desk.run("import sys\n" + end.format(f"'{letter}' * 300_000"))
    assert execution.outcome == "failed", execution.text[:500]
    assert len(execution.text) < 160_000


@pytest.mark.parametrize("line", ["\\n", "\\r", "\\u2028", "\\x85", "\\x1b[1A"])
def test_no_call_can_be_made_up_by_the_name_of_another(desk: Desk, line: str) -> None:
    execution = desk.run(
        f"try:\n    await call_tool('x{line}2. mcp__echo__pay — ok, 3 ms')\nexcept ToolError:\n    pass\n1 / 0"
    )
    told = execution.text.partition("Calls made before that:\n")[2]
    assert len(told.splitlines()) == 1
    assert told.isprintable()


def test_of_many_calls_the_first_and_the_last_are_named(desk: Desk) -> None:
    execution = desk.run(
        "for n in range(50):\n    await mcp__echo__echo(text=str(n))\nawait mcp__echo__fail()"
    )
    told = execution.text.partition("Calls made before that:\n")[2].splitlines()
    assert (len(told), told[20]) == (41, "… 11 more …")
    assert told[19].startswith("20. mcp__echo__echo — ok")
    assert told[21].startswith("32. mcp__echo__echo — ok")
    assert told[40].startswith("51. mcp__echo__fail — tool_error")


_MEDIA = "The value is an image, a sound or a resource: it has .kind, .mime_type, .uri, .name, .text and .data (its bytes)"
_NUMBER = "The value is an int, 5, and has nothing within it."


@pytest.mark.parametrize(
    ("code", "hint"),
    [
        ("i = (await mcp__echo__image())[0]\ni['data']", _MEDIA),
        ("i = (await mcp__echo__image())[0]\ni.content", _MEDIA),
        ("i = (await mcp__echo__image())[0]\nlen(i)", _MEDIA),
        (
            "class A: pass\nself = A(); self.d = r\nself.d['revenue']",
            "'revenue' is not in the result of mcp__echo__echo",
        ),
        (
            "class A:\n    def __init__(self): self.d = r\n    def f(self): return self.d['rows'][0]['revenue']\nA().f()",
            "'revenue' is not in the result of mcp__echo__echo; keys: name, id",
        ),
        ("r['totalRevenue']['x']", _NUMBER),
        ("len(r['totalRevenue'])", _NUMBER),
        ("for x in r['totalRevenue']: pass", _NUMBER),
        ("[x for x in r['totalRevenue']]", _NUMBER),
        ("n = r['totalRevenue']\nsorted(n)", _NUMBER),
        (
            "from operator import itemgetter\nsorted(r['rows'], key=itemgetter('b'))",
            "'b' is not in the result of mcp__echo__echo; keys: name, id",
        ),
        (
            "from operator import itemgetter\nrows = r['rows']\nsorted(rows, key=itemgetter('more'))",
            "'more' is not in the result of mcp__echo__echo; keys: name, id",
        ),
        ("r['rows'][1]['b']", "'b' is not in the result of mcp__echo__echo; keys: name, id, more"),
        (
            "for row in r['rows']: row['more']",
            "'more' is not in the result of mcp__echo__echo; keys: name, id",
        ),
    ],
)
def test_a_failure_says_what_is_there_in_less_plain_places(desk: Desk, code: str, hint: str) -> None:
    result = '{"totalRevenue": 5, "rows": [{"name": "a", "id": 1}, {"name": "b", "id": 2, "more": 1}]}'
    execution = desk.run(f"r = await mcp__echo__echo(text={result!r})\n{code}")
    assert f"Hint: {hint}" in execution.text


def test_a_hint_works_out_no_attribute(desk: Desk) -> None:
    execution = desk.run(
        "class Odd:\n    @property\n    def d(self):\n        print('asked')\n        return {}\n"
        "    def __getattr__(self, name):\n        print('asked for', name)\n        return {}\n"
        "Odd().d['x'] if False else None\no = Odd()\n{}[o.d and 1 or o.e and 2 or 3]"
    )
    assert execution.output == "asked\nasked for e\n"
