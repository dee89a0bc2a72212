"""How a failure in monty is told: the program's own lines, and what was there instead."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from halflap.sandbox.sandbox import Ending
    from sandboxing import Stage

    Play = Callable[..., tuple[Ending, Stage]]


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


def test_an_unknown_name_is_named(play: Play) -> None:
    ending, _ = play("await revenue(a=1)")
    assert ending.failure is not None
    assert (ending.failure.type, ending.failure.unknown) == ("NameError", "revenue")
