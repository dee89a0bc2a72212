"""`halflap call`."""

from __future__ import annotations

import asyncio
import json
import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from halflap.cli.complete import tool_names
from halflap.cli.output import (
    ConfigOption,
    JsonOption,
    VerboseOption,
    harmless,
    note,
    one_line,
    print_json,
    reported,
    set_up_logging,
)
from halflap.cli.progress import working
from halflap.cli.setting import opened, read_config
from halflap.errors import UsageError
from halflap.schema import compile_schema

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from halflap.config import Config
    from halflap.values import Result

__all__ = ["call"]


@reported
def call(
    name: Annotated[str, typer.Argument(help="The tool's namespaced name.", autocompletion=tool_names)],
    arguments: Annotated[
        list[str] | None,
        typer.Option(
            "--arg", "-a", metavar="KEY=VALUE", help="An argument; JSON where the tool does not want text."
        ),
    ] = None,
    json_arguments: Annotated[
        str | None,
        typer.Option(
            "--json-args", metavar="JSON", help="All arguments as a JSON object; - reads it from stdin."
        ),
    ] = None,
    config: ConfigOption = None,
    as_json: JsonOption = False,
    verbose: VerboseOption = False,
) -> None:
    """Call a tool and print what it returns. The exit code is 1 if the tool says that it failed."""
    set_up_logging(verbose=verbose, tells_of_servers=True)
    if arguments and json_arguments is not None:
        raise UsageError("Give the arguments with --arg or with --json-args, not both.")
    given = _json_object(json_arguments) if json_arguments is not None else None
    result = asyncio.run(_call(read_config(config), name, arguments or [], given, as_json=as_json))
    if result.is_error:
        raise typer.Exit(1)


async def _call(
    config: Config, name: str, pairs: Sequence[str], given: Mapping[str, Any] | None, *, as_json: bool
) -> Result:
    async with opened(config) as gateway:
        with working(f"Calling {one_line(name)}"):
            if given is None:
                given = _arguments(pairs, (await gateway.inspect(name))["inputSchema"] if pairs else {})
            result = await gateway.call_tool(name, given)
        # Before the servers are stopped: that may take longer than the call.
        if as_json:
            print_json(result.to_wire())
        else:
            _show(result)
        return result


def _json_object(text: str) -> dict[str, Any]:
    try:
        value = json.loads(sys.stdin.buffer.read() if text == "-" else text)
    except ValueError as error:
        raise UsageError(f"--json-args is not JSON: {error}.") from None
    except RecursionError:
        raise UsageError("--json-args is nested too deeply.") from None
    if not isinstance(value, dict):
        raise UsageError('--json-args must be a JSON object, like {"path": "README.md"}.')
    return value


def _arguments(pairs: Sequence[str], schema: Mapping[str, Any]) -> dict[str, Any]:
    properties = schema.get("properties")
    found: dict[str, Any] = {}
    for pair in pairs:
        key, equals, text = pair.partition("=")
        if not equals or not key:
            raise UsageError(f"--arg {pair!r} is not of the form KEY=VALUE.")
        if key in found:
            raise UsageError(f"--arg {key!r} is given twice. A list is one argument: --arg '{key}=[1, 2]'.")
        wanted = properties.get(key) if isinstance(properties, dict) else None
        found[key] = _value(text, wanted if isinstance(wanted, dict) else {}, schema)
    return found


def _value(text: str, wanted: Mapping[str, Any], schema: Mapping[str, Any]) -> Any:
    """Read a value as the tool's schema has it: text where text is wanted, JSON otherwise."""
    if wanted.get("type") == "string":
        return text
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return text
    definitions = {key: schema[key] for key in ("$defs", "definitions") if key in schema}
    fits = compile_schema({**definitions, **wanted})
    if fits is not None and fits.problems(value) and not fits.problems(text):
        # Where text and something else will do, as for an optional name, 123 can be meant as text.
        return text
    return value


def _show(result: Result) -> None:
    if result.is_error:
        note("The tool says that it failed:")
    parts = [_part(block) for block in result.content]
    if not parts and result.has_structured_content:
        parts = [json.dumps(result.structured_content, indent=2, ensure_ascii=False)]
    out = sys.stderr if result.is_error else sys.stdout
    for part in parts:
        # A program gets what the tool said to the letter; a terminal would obey what is hidden in it.
        out.write((harmless(part) if out.isatty() else part).rstrip("\n") + "\n")
    out.flush()


def _part(block: Mapping[str, Any]) -> str:
    if block.get("type") == "text":
        return str(block.get("text", ""))
    kind = str(block.get("mimeType") or "")
    data = str(block.get("data", ""))
    size = len(data) * 3 // 4 - data[-2:].count("=")
    return one_line(
        f"[{block.get('type', 'unknown')}{' ' + kind if kind else ''}{f', {size} bytes' if size else ''}]"
    )
