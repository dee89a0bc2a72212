"""Options and behaviour that commands share: tool names, arguments, confirmations, files."""

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
from halflap.core.errors import ToolRefusedError, UpstreamError, UsageError
from halflap.core.files import read_limited
from halflap.core.values import CallContext, Tool

if TYPE_CHECKING:
    from halflap.gateway import Gateway

_NO_TERMINAL = "no terminal to confirm on; use --yes"
_MAX_INPUT = 256_000_000

YesOption = Annotated[bool, Option("--yes", "-y", help="Don't ask for confirmation.")]
ServerOption = Annotated[str | None, Option("--server", "-s", help="Only this server's tools.")]
OutputOption = Annotated[
    Path | None, Option("--output", "-o", metavar="FILE", help="Write to this file, not to stdout.")
]
ToolArgument = Annotated[str, Argument(help="The tool's name; a unique short name is enough.")]
NewNameArgument = Annotated[str, Argument(help="Lower-case letters, digits and _.")]
ForceOption = Annotated[bool, Option("--force", help="Replace an existing one of that name.")]
ArgumentsOption = Annotated[
    list[str] | None,
    Option("--arg", "-a", metavar="KEY=VALUE", help="An argument; JSON, unless the tool expects text."),
]
JsonArgumentsOption = Annotated[
    str | None, Option("--json-args", metavar="JSON", help="All arguments as a JSON object, or - for stdin.")
]


def exclusive(**given: Any) -> None:
    """Raise `UsageError` if more than one of these options was given."""
    names = [f"--{name.replace('_', '-')}" for name, value in given.items() if value]
    if len(names) > 1:
        raise UsageError(f"Use only one of {', '.join(names)}.")


async def list_unlisted(gateway: Gateway, code: str | None = None) -> None:
    """Start and list the servers that were never listed; with `code`, only those that it names."""
    from halflap.catalog import namespaced

    async def refresh(name: str) -> None:
        with contextlib.suppress(UpstreamError):  # Reported by the command.
            await gateway.refresh(name)

    usable = [one.name for one in gateway.config.servers if not one.blocked]
    wanted = [name for name in usable if code is None or namespaced(name, "") in code]
    await asyncio.gather(*(refresh(name) for name in wanted if name not in gateway.snapshot.servers))
    if code is None:
        await gateway.settle()


async def resolve(gateway: Gateway, name: str) -> str:
    """Return the full name for a tool's full or short name."""
    if name in gateway.snapshot.tools or name.startswith("mcp__"):
        return name

    def matches() -> list[str]:
        tools = gateway.snapshot.tools.values()
        return sorted(
            tool.name for tool in tools if name in {tool.original_name, tool.name.split("__", 2)[-1]}
        )

    found = matches()
    if not found and any(one.name not in gateway.snapshot.servers for one in gateway.config.servers):
        await gateway.settle()
        found = matches()
    if len(found) > 1:
        raise UsageError(f"Several tools are named {name!r}: {', '.join(found)}. Use the full name.")
    return found[0] if found else name


def confirm(question: str, refusal: str, *, yes: bool) -> None:
    """Ask on the terminal, unless --yes was given; `refusal` is the message after a no."""
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
    """Read a line; Ctrl-C works even while an event loop handles SIGINT."""
    handler = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        sys.stderr.write(question)
        sys.stderr.flush()
        return sys.stdin.readline()
    finally:
        signal.signal(signal.SIGINT, handler)


def confirmed(tools: Sequence[Tool], code: str, *, yes: bool) -> CallContext:
    """Ask whether a program may call destructive tools; return the context that says so."""
    names = frozenset(tool.name for tool in tools)
    if tools and not yes:
        if not sys.stdin.isatty():
            if code in names:
                raise ToolRefusedError(f"{code!r} is destructive and was not run: {_NO_TERMINAL}.")
            return CallContext(unconfirmed=_NO_TERMINAL)
        note("This program can call destructive tools:")
        for tool in tools:
            note(f"  {tool.name}: {one_line(tool.description)}" if tool.description else f"  {tool.name}")
        confirm("Allow this once?", "It was not run.", yes=False)
    return CallContext(confirmations=names)


def given_arguments(
    pairs: Sequence[str] | None, text: str | None, schema: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the arguments of --arg, interpreted by the schema, or of --json-args."""
    exclusive(arg=pairs, json_args=text)
    if text is None:
        properties = schema.get("properties")
        wanted = properties if isinstance(properties, dict) else {}
        texts = key_values("--arg", pairs or [])
        return {key: _value(value, wanted.get(key), schema) for key, value in texts.items()}
    try:
        value = json.loads(sys.stdin.buffer.read() if text == "-" else text)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"--json-args is not valid JSON: {error}.") from None
    if not isinstance(value, dict):
        raise UsageError('--json-args must be a JSON object, like {"path": "README.md"}.')
    return value


def key_values(option: str, pairs: Sequence[str]) -> dict[str, str]:
    """Parse KEY=VALUE pairs."""
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
    """Parse a value as JSON, unless only the text itself fits."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return text
    return text if fits(text) and not fits(value) else value


def read_input(file: Path) -> bytes:
    """Read a file, or stdin for `-`."""
    try:
        if str(file) == "-":
            return sys.stdin.buffer.read()
        return read_limited(file, _MAX_INPUT)[0]
    except OSError as error:
        raise UsageError(f"{file} can't be read: {error.strerror}.", code="file") from None


def write_text(text: str, output: Path | None) -> None:
    """Write a text to a file, or to stdout without one or for `-`."""
    text = text if text.endswith("\n") else f"{text}\n"
    if output is None or str(output) == "-":
        write(text, exact=True)
        return
    try:
        output.write_text(text, encoding="utf-8", errors="surrogatepass")
    except OSError as error:
        raise UsageError(f"{output} can't be written: {error.strerror}.", code="file") from None
    note(f"Written to {output}.")
