"""Options that several commands share, and what they do with them: names, arguments, questions, files."""

from __future__ import annotations

import asyncio
import contextlib
import json
import signal
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Argument, Option

from halflap.cli.output import note, one_line, write
from halflap.core.errors import (
    ToolRefusedError,
    UpstreamError,
    UsageError,
)
from halflap.core.values import CallContext, Tool

if TYPE_CHECKING:
    from halflap.gateway import Gateway

_NO_TERMINAL = "no terminal to confirm on; use --yes"


YesOption = Annotated[bool, Option("--yes", "-y", help="Don't ask.")]
ServerOption = Annotated[str | None, Option("--server", "-s", help="Only the tools of this server.")]
OutputOption = Annotated[Path | None, Option("--output", "-o", metavar="FILE", help="Write to this file.")]
ToolArgument = Annotated[str, Argument(help="The tool's name; the short name if only one tool has it.")]
ArgumentsOption = Annotated[
    list[str] | None,
    Option("--arg", "-a", metavar="KEY=VALUE", help="One argument; JSON unless text is expected."),
]
JsonArgumentsOption = Annotated[
    str | None, Option("--json-args", metavar="JSON", help="All arguments as a JSON object; - reads stdin.")
]


def exclusive(**given: Any) -> None:
    """Raise `UsageError` if more than one of these options was given."""
    names = [f"--{name.replace('_', '-')}" for name, value in given.items() if value]
    if len(names) > 1:
        raise UsageError(f"Use only one of {', '.join(names)}.")


async def list_unlisted(gateway: Gateway, code: str | None = None) -> None:
    """List the servers that were never listed, or only those that a program names, however long they take to start."""
    from halflap.catalog import namespaced

    async def refresh(name: str) -> None:
        with contextlib.suppress(UpstreamError):  # The command reports all that are not available.
            await gateway.refresh(name)

    usable = [one.name for one in gateway.config.servers if not (one.disabled or one.broken)]
    wanted = [name for name in usable if code is None or namespaced(name, "") in code]
    await asyncio.gather(*(refresh(name) for name in wanted if name not in gateway.snapshot.servers))
    if code is None:
        await gateway.settle()


async def resolve(gateway: Gateway, name: str) -> str:
    """Return the full name of a tool that may be given by its short name."""
    if name in gateway.snapshot.tools or name.startswith("mcp__"):
        return name

    def meant() -> list[str]:
        tools = gateway.snapshot.tools.values()
        return sorted(
            tool.name for tool in tools if name in {tool.original_name, tool.name.split("__", 2)[-1]}
        )

    found = meant()
    if not found and any(one.name not in gateway.snapshot.servers for one in gateway.config.servers):
        await gateway.settle()
        found = meant()
    if len(found) > 1:
        raise UsageError(f"Several tools are named {name!r}: {', '.join(found)}. Use the full name.")
    return found[0] if found else name


def confirm(question: str, refusal: str, *, yes: bool) -> None:
    """Ask on the terminal, unless --yes was given. `refusal` says what was not done."""
    if yes:
        return
    if not sys.stdin.isatty():
        raise UsageError(f"{refusal} No terminal to confirm on; use --yes.", code="confirmation-needed")
    try:
        answer = _ask(f"{question} [y/N] ")
    except KeyboardInterrupt:
        note(f"\n{refusal}")
        raise
    if answer.strip().lower() not in {"y", "yes"}:
        note(refusal)
        raise typer.Exit(1)


def _ask(question: str) -> str:
    """Read a line; Ctrl-C ends it at once, also in a command whose event loop handles SIGINT."""
    handler = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        sys.stderr.write(question)
        sys.stderr.flush()
        return sys.stdin.readline()
    finally:
        signal.signal(signal.SIGINT, handler)


def confirmed(tools: Sequence[Tool], code: str, *, yes: bool) -> CallContext:
    """Ask whether a program may call these destructive tools."""
    names = frozenset(tool.name for tool in tools)
    if tools and not yes:
        if not sys.stdin.isatty():
            if code in names:
                raise ToolRefusedError(f"{code!r} is destructive and was not run: {_NO_TERMINAL}.")
            return CallContext(unconfirmed=_NO_TERMINAL)
        note("The program can call destructive tools:")
        for tool in tools:
            note(f"  {tool.name}: {one_line(tool.description)}" if tool.description else f"  {tool.name}")
        confirm("Allow this once?", "It was not run.", yes=False)
    return CallContext(confirmations=names)


def given_arguments(
    pairs: Sequence[str] | None, text: str | None, schema: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the arguments given with --arg, read as the schema says, or with --json-args."""
    exclusive(arg=pairs, json_args=text)
    if text is None:
        properties = schema.get("properties")
        wanted = properties if isinstance(properties, dict) else {}
        texts = key_values("--arg", pairs or [])
        return {key: _value(value, wanted.get(key), schema) for key, value in texts.items()}
    try:
        value = json.loads(sys.stdin.buffer.read() if text == "-" else text)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"--json-args is not JSON: {error}.") from None
    if not isinstance(value, dict):
        raise UsageError('--json-args must be a JSON object, like {"path": "README.md"}.')
    return value


def key_values(option: str, pairs: Sequence[str]) -> dict[str, str]:
    """Split KEY=VALUE pairs."""
    found: dict[str, str] = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not equals or not key:
            raise UsageError(f"{option} {pair!r} is not KEY=VALUE.")
        if key in found:
            raise UsageError(
                f"{option} {key!r} is given twice. A list is one value: {option} '{key}=[1, 2]'."
            )
        found[key] = value
    return found


def _value(text: str, wanted: Any, schema: Mapping[str, Any]) -> Any:
    from halflap.schema import compile_schema

    wanted = wanted if isinstance(wanted, dict) else {}
    if wanted.get("type") == "string":
        return text
    definitions = {key: schema[key] for key in ("$defs", "definitions") if key in schema}
    compiled = compile_schema({**definitions, **wanted})
    return read_value(text, lambda value: compiled is None or not compiled.problems(value))


def read_value(text: str, fits: Callable[[Any], bool]) -> Any:
    """Read a value as JSON, unless only the text itself fits what is taken."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return text
    return text if fits(text) and not fits(value) else value


def read_at_most(file: Path, limit: int) -> bytes:
    """Read a file, or stdin for `-`; a larger one is refused."""
    where = "stdin" if str(file) == "-" else str(file)
    try:
        if str(file) == "-":
            data = sys.stdin.buffer.read(limit + 1)
        else:
            with file.open("rb") as stream:
                data = stream.read(limit + 1)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "its name is not valid"
        raise UsageError(
            f"{where} can't be read: {reason}. Name a file that you may read.", code="file"
        ) from None
    if len(data) > limit:
        raise UsageError(f"{where} is larger than {limit // 1_000_000} MB.", code="file")
    return data


def write_text(text: str, output: Path | None) -> None:
    """Write a text to a file, or to stdout."""
    text = text if text.endswith("\n") else f"{text}\n"
    if output is None or str(output) == "-":
        write(text, exact=True)
        return
    try:
        output.write_text(text, encoding="utf-8", errors="surrogatepass")
    except OSError as error:
        raise UsageError(
            f"{output} can't be written: {error.strerror}. Name a file that you may write.", code="file"
        ) from None
    note(f"Written to {output}.")
