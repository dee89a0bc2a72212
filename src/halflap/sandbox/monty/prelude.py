"""What is run in monty before a program, so that it finds what it finds in the jail."""

from __future__ import annotations

import json
import keyword
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

from halflap.sandbox import messages

if TYPE_CHECKING:
    from halflap.sandbox.sandbox import Entry, ToolHelp

__all__ = ["CALL", "CARRIER", "SHOW", "call_main", "define"]

# What the prelude asks of the host. A program can ask the same, and gains nothing by it.
CALL = "_halflap_call"
SHOW = "_halflap_show"

CARRIER = "binascii.Incomplete"
"""Monty has no custom exceptions. This one is a plain `Exception` that nothing raises any more: it is `ToolError`."""

_PRELUDE = f"""\
from binascii import Incomplete as ToolError

def _halflap_names():
    from json import dumps, loads

    def to_json(value, what):
        try:
            return dumps(value, allow_nan=False), None
        except (TypeError, ValueError, RecursionError) as error:
            return None, what + {messages.not_json("", "")!r} + str(error)

    async def call(name, arguments):
        body, problem = to_json(arguments, name + "() takes")
        if problem is not None:
            raise TypeError(problem)
        return await {CALL}(name, body)

    def tool_of(name, positional, keywords_only):
        async def tool(*unnamed, **arguments):
            if len(unnamed) == 1 and positional is not None and positional not in arguments:
                arguments[positional] = unnamed[0]
            elif unnamed:
                raise TypeError(keywords_only)
            return await call(name, arguments)
        return tool

    async def call_tool(*given, **arguments):
        if not given or len(given) > 2 or not isinstance(given[0], str):
            raise TypeError({messages.CALL_TOOL!r})
        if len(given) == 2:
            if not isinstance(given[1], dict):
                raise TypeError({messages.CALL_TOOL!r})
            arguments = given[1] | arguments
        return await call(given[0], arguments)

    plain = (str, int, float, dict, tuple, set, list, type(None))

    def show(value):
        if isinstance(value, list) and any(not isinstance(part, plain) for part in value):
            for part in value:
                show(part)
        elif isinstance(value, plain) or not {SHOW}(value):
            print(value)

    def no_input(*_):
        raise RuntimeError({messages.NO_INPUT!r})

    def returned(value):
        body, problem = to_json(value, "main() may return")
        if problem is not None:
            raise TypeError(problem)
        return body

    return tool_of, call_tool, show, no_input, returned, loads

_halflap_tool, call_tool, show, input, _halflap_returned, _halflap_loads = _halflap_names()
"""


def define(tools: Mapping[str, ToolHelp]) -> str:
    """Return the code that defines the tools as async functions, and what else programs find."""
    return _PRELUDE + "".join(
        f"{name} = _halflap_tool({name!r}, {tool.positional!r}, {messages.keywords_only(name, tool.signature)!r})\n"
        for name, tool in tools.items()
        if name.isidentifier() and not keyword.iskeyword(name)
    )


def call_main(code: str, entry: Entry) -> str:
    """Return the line that calls `main` after the lines of a script, and returns its value as JSON."""
    waits = "await " if re.search(r"^async\s+def\s+main\b", code, re.MULTILINE) else ""
    arguments = repr(json.dumps(dict(entry.arguments)))
    return f"\n_halflap_returned({waits}main(**_halflap_loads({arguments})))"
