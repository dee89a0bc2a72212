"""What a program is told when it asks for something in the wrong way: the same words in every sandbox.

The standard library alone: the jail loads this before the locks, too.
"""

from __future__ import annotations

__all__ = [
    "CALL_TOOL",
    "NO_INPUT",
    "keywords_only",
    "left_with",
    "not_json",
    "returned_no_json",
    "returned_too_much",
    "shown_too_much",
    "too_large",
    "twice",
]

_LONGEST = 20_000

CALL_TOOL = "call_tool() takes the name of a tool as text, and its arguments: as one dict, or by keyword."
NO_INPUT = "input() is not available in execute_program: nobody is there to answer. Write the value into the program."


def keywords_only(name: str, signature: str) -> str:
    takes = f" It takes: {signature}" if signature else ""
    return f"{name}() takes keyword arguments only.{takes}"


def twice(name: str, parameter: str) -> str:
    return f"{name}() got multiple values for argument {parameter!r}"


def not_json(name: str, why: object) -> str:
    """Say that an argument is nothing that JSON has."""
    return f"{name}() takes values that JSON can hold: {why}"


def too_large(name: str, size: int, most: int) -> str:
    """Say that arguments are larger than may be."""
    return f"The arguments of {name!r} are {size:,} bytes; at most {most:,} are possible (`execution.max_value_bytes`)."


def returned_no_json(why: object) -> str:
    """Say that a script's `main` returned nothing that JSON has."""
    return f"main() returned what JSON cannot hold: {why}"


def returned_too_much(size: int, most: int) -> str:
    """Say that a script's `main` returned more than may be."""
    return f"main() returned {size:,} bytes; at most {most:,} are possible (`execution.max_value_bytes`)."


def shown_too_much(size: int, most: int) -> str:
    """Say that something is too large to be shown."""
    return f"show() was given {size:,} bytes; at most {most:,} are possible (`execution.max_value_bytes`)."


def left_with(code: object) -> str:
    """Say, as a traceback, that a program ended itself: with a number, or with a text to be shown."""
    if isinstance(code, int):
        return f"SystemExit: the program ended itself with status {code}\n"
    text = str(code)
    if not text.strip():
        return "SystemExit: the program ended itself with an empty message\n"
    return f"{text if len(text) <= _LONGEST else text[:_LONGEST] + ' …'}\n"
