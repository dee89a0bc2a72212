"""What a program shows of its own lines, and what it cannot do to the answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

    from execution.desk import Desk


def test_a_traceback_that_a_program_prints_has_its_own_lines(desk: Desk) -> None:
    code = (
        "import traceback\ndef f(): return 1 / 0\ntry: f()\nexcept ZeroDivisionError: traceback.print_exc()"
    )
    assert "line 2, in f\n    def f(): return 1 / 0\n" in desk.output(code)


def test_a_traceback_of_a_failed_call_that_a_program_prints_has_no_file_of_ours(desk: Desk) -> None:
    code = "import traceback\ntry:\n    await mcp__echo__fail()\nexcept ToolError:\n    print(traceback.format_exc())"
    printed = desk.output(code)
    assert "    await mcp__echo__fail()\n" in printed
    assert "halflap" not in printed
    assert "in mcp__echo__fail" in printed


@pytest.mark.parametrize(
    "call",
    [
        "await mcp__echo__fail()",
        "await call_tool('mcp__echo__fail')",
        "await call_tool('mcp__echo__echo', text={1})",
        "await call_tool('mcp__echo__echo', text='x' * 9_000_000)",
        "show(type((await mcp__echo__image())[0])({'type': 'image'}))",
    ],
)
def test_no_line_of_ours_is_in_a_traceback_that_a_program_prints(desk: Desk, call: str) -> None:
    printed = desk.output(f"import traceback\ntry:\n    {call}\nexcept Exception:\n    traceback.print_exc()")
    files = [line.strip() for line in printed.splitlines() if line.startswith("  File ")]
    assert files[0] == 'File "program.py", line 3, in <module>'
    assert all(line.startswith('File "<tool>", line 1, in ') for line in files[1:]), printed


def test_the_end_of_a_process_by_itself_has_both_its_reasons(desk: Desk) -> None:
    text = desk.run("import os\nos.abort()").text
    assert "recursion that is too deep, or os.abort()" in text


def test_a_warning_shows_the_line_that_it_is_about(desk: Desk) -> None:
    assert "warnings.warn('odd')" in desk.output("import warnings\nwarnings.warn('odd')")


def test_the_source_of_a_function_can_be_had(desk: Desk) -> None:
    code = "import inspect\ndef f():\n    return 1\nprint(inspect.getsource(f))"
    assert desk.output(code) == "def f():\n    return 1\n\n"


@pytest.mark.parametrize(
    "module",
    [
        "xml.dom.minidom",
        "xml.sax",
        "logging.handlers",
        "http.cookiejar",
        "ctypes.util",
        "xmlrpc.client",
        "wsgiref.util",
    ],
)
def test_inner_modules_of_the_standard_library_are_there(desk: Desk, module: str) -> None:
    assert desk.output(f"import {module}\nprint('there')") == "there\n"


def test_what_is_cheap_to_have_of_the_standard_library_is_there(desk: Desk) -> None:
    names = "doctest pdb cProfile profile pstats smtplib wave symtable pickletools trace mailbox socketserver pydoc"
    assert desk.output("".join(f"import {name}\n" for name in names.split()) + "print('there')") == "there\n"


@pytest.mark.parametrize("name", ["cp949", "cp950", "johab", "mac_cyrillic", "hz", "cp037", "shift_jis_2004"])
def test_every_encoding_is_there(desk: Desk, name: str) -> None:
    assert desk.output(f"print('a'.encode({name!r}).decode({name!r}))") == "a\n"


def test_what_is_left_out_of_the_standard_library_is_said_to_be(desk: Desk) -> None:
    assert (
        "'multiprocessing' is one of the few parts of the standard library that are left out"
        in desk.run("import multiprocessing").text
    )


def test_a_name_without_end_is_refused_at_once(desk: Desk) -> None:
    code = "try:\n    await call_tool('mcp__echo__' + 'n' * 8_000_000)\nexcept ToolError as e:\n    print(len(str(e)) < 400)"
    execution = desk.run(code)
    assert execution.output == "True\n"
    assert len(execution.text) < 1000


def test_what_a_forged_failure_says_is_cut(desk: Desk) -> None:
    code = (
        "import json, os, struct\n"
        "body = json.dumps({'type': 'E', 'message': '', 'traceback': 't' * 200_000, 'hint': 'h' * 50_000}).encode()\n"
        "os.write(3, struct.pack('!cI', b'D', len(body)) + body)\nimport time\ntime.sleep(5)"
    )
    assert len(desk.run(code).text) < 30_000


@pytest.mark.parametrize(
    "code", ["import sys\nsys.exit('y' * 6_000_000)", "raise NameError(name='n' * 500_000)"]
)
def test_a_long_last_word_is_cut_and_is_no_misuse(desk: Desk, code: str) -> None:
    execution = desk.run(code)
    assert execution.outcome == "failed"
    assert len(execution.text) < 50_000


def test_an_empty_last_word_is_told_as_such(desk: Desk) -> None:
    assert "the program ended itself with an empty message" in desk.run("import sys\nsys.exit('')").text


def test_a_long_chain_of_causes_is_told(desk: Desk) -> None:
    code = (
        "error = ValueError('first')\nfor i in range(3000):\n    try:\n        raise KeyError(i) from error\n"
        "    except KeyError as e:\n        error = e\nraise error"
    )
    assert "KeyError: 2999" in desk.run(code).text


def test_a_syntax_error_of_any_kind_shows_its_line(desk: Desk) -> None:
    assert "    return 1\n" in desk.run("x = 1\nreturn 1").text


def test_a_byte_order_mark_is_no_part_of_a_program(desk: Desk) -> None:
    assert desk.output("\ufeffprint(1)") == "1\n"


def test_where_the_output_is_not_kept_that_is_said(desk_with: Callable[..., Desk]) -> None:
    desk = desk_with(max_output_bytes=10, traces={"record": "metadata"})
    text = desk.run("print('x' * 100)").text
    assert "The rest was not kept (`traces.record`)." in text
    assert "runs show" not in text
