"""Messages to programs that ask for something in the wrong way, the same in every sandbox.

Only the standard library is used: the jail loads this module before it is locked.
"""

from __future__ import annotations

from collections.abc import Sequence

from halflap.core.json_bounds import MAX_PARTS

__all__ = [
    "CALL_TOOL",
    "FILE",
    "NOT_AWAITED",
    "NO_FILES",
    "NO_HELP",
    "NO_INPUT",
    "exit_text",
    "keywords_only",
    "listed",
    "not_json",
    "shorten",
    "too_large",
]

FILE = "program.py"
"""What a program is called in its tracebacks."""
_LONGEST = 20_000
_MOST_LISTED = 20

CALL_TOOL = "call_tool() takes the name of a tool as text, and its arguments: as one dict, or by keyword."
NO_INPUT = "input() is not available in execute_program. Write the value into the program."
NO_FILES = "Programs have no files, network or processes: data comes from tools, and goes out by print()."
NO_HELP = "There is no help() in programs: print(tool.__doc__) shows what a tool takes."
NOT_AWAITED = "The value is a call that was not awaited: write `await` before it."


def keywords_only(name: str, signature: str) -> str:
    takes = f" It takes: {signature}" if signature else ""
    return f"{name}() takes keyword arguments only.{takes}"


def not_json(what: str, why: object) -> str:
    return f"{what} only what JSON can hold: {why}"


def too_large(what: str, size: int, most: int) -> str:
    return f"{what} are {size:,} bytes; at most {most:,} are possible (`execution.max_value_bytes`)."


def too_many_parts(what: str) -> str:
    return f"{what} have more than {MAX_PARTS:,} values, keys included. Pass them on as text, or in pieces."


def listed(keys: Sequence[str]) -> str:
    return ", ".join([*keys[:_MOST_LISTED], "…"] if len(keys) > _MOST_LISTED else keys) or "none"


def shorten(text: str) -> str:
    """Return a text of a program with its middle left out if it is long."""
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST // 2]}\n…\n{text[-_LONGEST // 2 :]}"


def exit_text(code: object) -> str:
    """Return, as a traceback, that a program ended itself: with a number, or with a text to be shown."""
    if isinstance(code, int):
        return f"SystemExit: the program ended itself with status {code}\n"
    text = str(code).strip() or "SystemExit: the program ended itself with an empty message"
    return f"{shorten(text)}\n"
