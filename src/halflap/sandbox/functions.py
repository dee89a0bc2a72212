"""What every program finds defined: its tools as async functions, `call_tool`, `show` and `ToolError`.

Only the standard library is used: the jail loads this module before it is locked.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from json import dumps  # a program may replace it in the module
from typing import Any, Final

from halflap.core.json_bounds import MAX_PARTS, TooManyPartsError, check_parts
from halflap.core.text import visible
from halflap.sandbox.media import Media, picture_of

PREFIXES: Final = ("mcp__", "script__", "dspy__")
"""How tool names begin."""
FILE = "program.py"
"""The file name of a program in its tracebacks."""
_MAX_TEXT = 20_000
_MAX_VALUE = 4_000
_MAX_LISTED = 20
_MAX_KEY = 60
_NAME = re.compile(r"[^\W\d]\w*")

NO_INPUT = "input() is not available in execute_program. Write the value into the program."
NO_FILES = (
    "Programs have no files, network or processes: get data from tools, print() text, and show() images."
)
NOT_AWAITED = "The value is a call that was not awaited: write `await` before it."
_CALL_TOOL = "call_tool() takes a tool's name and its arguments: call_tool('name', {'key': value}) or call_tool('name', key=value)."


class ToolError(Exception):
    """A tool cannot be called, or its call failed; the message says why."""

    __module__ = "builtins"  # A traceback then names it as the program does.


def define(
    tools: Mapping[str, Sequence[Any]],
    call: Callable[[str, dict[str, Any]], Awaitable[Any]],
    show_media: Callable[[Media], None],
    write: Callable[[Any], None] = print,
) -> dict[str, Callable[..., Any]]:
    """Return the functions by name. A tool has a signature, and the parameter that takes one unnamed argument."""

    async def send(name: str, arguments: dict[str, Any]) -> Any:
        try:
            return await call(name, arguments)
        except (ToolError, TypeError) as error:
            # Hide where in our files it was raised.
            raise error.with_traceback(None) from None

    async def call_tool(*unnamed: Any, **named: Any) -> Any:
        """Call a tool by its name, with the arguments as one dict or by keyword."""
        if (order := _name_and_arguments(list(unnamed), named)) is None:
            raise TypeError(_CALL_TOOL)
        return await send(*order)

    def show(value: Any) -> None:
        """Show an image or a sound to the model; print anything else."""
        is_mixed = type(value) is list and any(isinstance(part, Media) for part in value)
        for part in value if is_mixed else [value]:
            media = part if isinstance(part, Media) else picture_of(part)
            if media is None or media.kind not in {"image", "audio"}:
                write(part if media is None or media.text is None else media.text)
                continue
            try:
                show_media(media)
            except ValueError as error:
                raise error.with_traceback(None) from None

    functions: dict[str, Callable[..., Any]] = {"call_tool": call_tool, "show": show}
    functions |= {name: _tool(send, name, *about) for name, about in tools.items()}
    for name, function in {"call": send, **functions}.items():
        disguise(function, name)
    return functions


def names_in(code: str) -> set[str]:
    """Return every word of a text that could be an identifier, such as a tool's name."""
    return set(_NAME.findall(code))


def _name_and_arguments(unnamed: list[Any], named: dict[str, Any]) -> tuple[str, dict[str, Any]] | None:
    """Return what `call_tool` was given, also as `name` and `arguments`, the keywords of MCP's own; None if it is wrong."""
    if not unnamed and "name" in named:
        unnamed.append(named.pop("name"))
    if len(unnamed) == 1 and named.keys() == {"arguments"}:
        unnamed.append(named.pop("arguments"))
    match unnamed:
        case [str(name)]:
            return name, named
        case [str(name), dict(arguments)]:
            return name, arguments | named
    return None


def _tool(send: Callable[..., Any], name: str, signature: str, positional: str | None) -> Callable[..., Any]:
    async def tool(*unnamed: Any, **arguments: Any) -> Any:
        if unnamed and (positional is None or len(unnamed) > 1 or positional in arguments):
            takes = f" It takes: {signature}" if signature else ""
            raise TypeError(f"{name}() takes keyword arguments only.{takes}")
        return await send(name, arguments | {positional: unnamed[0]} if unnamed else arguments)

    tool.__doc__ = signature
    return tool


def disguise(function: Any, name: str) -> None:
    """Rename a function, so that tracebacks show this name and not our file."""
    code = function.__code__
    function.__code__ = code.replace(co_filename="<tool>", co_name=name, co_qualname=name)
    function.__name__ = function.__qualname__ = name
    function.__module__ = "__main__"


def encode(value: Any, what: str, max_bytes: int) -> bytes:
    """Return a value as JSON. Raises `TypeError` for what JSON cannot hold, and `ValueError` for what is too large."""
    try:
        body = dumps(value, allow_nan=False, ensure_ascii=False).encode()
    except (TypeError, ValueError, RecursionError) as error:
        raise TypeError(f"{what} can only have values that JSON can hold: {error}") from None
    if len(body) > max_bytes:
        raise ValueError(
            f"{what} can have at most {max_bytes:,} bytes (`execution.max_value_bytes`), and would have {len(body):,}."
        )
    try:
        check_parts(body)
    except TooManyPartsError:
        raise ValueError(
            f"{what} can have at most {MAX_PARTS:,} values and keys. Use text, or several pieces."
        ) from None
    return body


def last_shown(value: object) -> object:
    """Return what to show of the value of a program's last line: media, or text as an interactive Python shows it, cut if long."""
    parts = value if type(value) is list else [value]
    if any(isinstance(part, Media) for part in parts) or picture_of(value) is not None:
        return value
    text = value if type(value) is str else repr(value)
    if len(text) <= _MAX_VALUE:
        return text
    return f"{text[:_MAX_VALUE]}… ({len(text):,} characters; print() shows all of them)"


def missing_key(key: object, where: str, keys: Sequence[object]) -> str:
    """Return what a program is told about a key that does not exist, before or after it ran."""
    return f"{quoted(key)} is not in {where}; keys: {listed(keys)}"


def quoted(key: object) -> str:
    return f"'{visible(key, _MAX_KEY)}'" if isinstance(key, str) else visible(repr(key), _MAX_KEY)


def listed(keys: Sequence[object]) -> str:
    """Return the first keys, separated by commas."""
    shown = [visible(str(key), _MAX_KEY) for key in keys[:_MAX_LISTED]]
    return ", ".join([*shown, *["…"] * (len(keys) > _MAX_LISTED)]) or "none"


def shorten(text: str) -> str:
    """Return a text without its middle if it is long."""
    return text if len(text) <= _MAX_TEXT else f"{text[: _MAX_TEXT // 2]}\n…\n{text[-_MAX_TEXT // 2 :]}"


def exit_text(code: object) -> str | None:
    """Return the error text of a `SystemExit`, or None if the program left without a failure."""
    if code is None or code == 0:
        return None
    if isinstance(code, int):
        return f"SystemExit: the program ended itself with status {code}\n"
    return f"{shorten(str(code).strip() or 'SystemExit: the program ended itself with an empty message')}\n"
