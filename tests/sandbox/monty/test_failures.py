"""How a failure in monty is told: the program's own lines, and what was there instead."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

    from halflap.sandbox.sandbox import Ending
    from sandboxing import Stage

    Play = Callable[..., tuple[Ending, Stage]]


def test_output_printed_before_a_failure_is_kept(play: Play) -> None:
    ending, stage = play("print('so far')\n1 / 0")
    assert (ending.outcome, stage.text) == ("failed", "so far\n")


def test_a_traceback_has_the_programs_own_lines(play: Play) -> None:
    ending, _ = play(
        "def inner(d):\n    return d['ü'] + d['b']\n\ndef outer():\n    return inner({'ü': 1})\n\nouter()"
    )
    assert ending.failure is not None
    lines = [line for line in ending.failure.traceback.splitlines() if "~" not in line]
    assert lines == [
        "Traceback (most recent call last):",
        '  File "program.py", line 7, in <module>',
        "    outer()",
        '  File "program.py", line 5, in outer',
        "    return inner({'ü': 1})",
        '  File "program.py", line 2, in inner',
        "    return d['ü'] + d['b']",
        "KeyError: 'b'",
    ]


def test_a_syntax_error_has_its_line(play: Play) -> None:
    ending, stage = play("print('never')\nx = = 1")
    assert ending.failure is not None
    assert ending.failure.type == "SyntaxError"
    assert ending.failure.traceback.startswith('  File "program.py", line 2\n    x = = 1\n')
    assert stage.printed == b""


def test_deep_recursion_is_told_briefly(play: Play) -> None:
    ending, _ = play("def f():\n    return f()\nf()")
    assert ending.failure is not None
    assert ending.failure.type == "RecursionError"
    assert "more times]\n" in ending.failure.traceback
    assert len(ending.failure.traceback) < 1_000


def test_an_unknown_name_is_named(play: Play) -> None:
    ending, _ = play("await revenue(a=1)")
    assert ending.failure is not None
    assert (ending.failure.type, ending.failure.unknown) == ("NameError", "revenue")


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("r = mcp__shop__sales(region='x')\nr['region']", "not awaited"),
        ("open('/etc/passwd')", "no files, network or processes"),
    ],
)  # fmt: skip
def test_a_hint_says_what_is_there(play: Play, code: str, said: str) -> None:
    ending, _ = play(code)
    assert ending.failure is not None
    assert said in (ending.failure.hint or "")


def test_where_nothing_is_known_no_hint_is_given(play: Play) -> None:
    ending, _ = play("def f(row):\n    row = row or {}\n    return row['a']\nf({'b': 1})")
    assert ending.failure is not None
    assert ending.failure.hint is None
