"""`halflap call`."""

from __future__ import annotations

import asyncio
import json
import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from halflap.cli.arguments import ArgumentsOption, JsonArgumentsOption, arguments_of, json_object
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
from halflap.core.values import CallContext

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from halflap.config import Config
    from halflap.core.codes import OtherCode
    from halflap.core.values import Result

__all__ = ["call"]

_FAILED: OtherCode = "tool-error"


@reported
def call(
    name: Annotated[str, typer.Argument(help="The tool's namespaced name.", autocompletion=tool_names)],
    arguments: ArgumentsOption = None,
    json_arguments: JsonArgumentsOption = None,
    config: ConfigOption = None,
    as_json: JsonOption = False,
    verbose: VerboseOption = False,
) -> None:
    """Call a tool and print what it returns. The exit code is 1 if the tool says that it failed."""
    set_up_logging(verbose=verbose, tells_of_servers=True)
    given = json_object(arguments, json_arguments)
    result = asyncio.run(_call(read_config(config), name, arguments or [], given, as_json=as_json))
    if result.is_error:
        raise typer.Exit(1)


async def _call(
    config: Config, name: str, pairs: Sequence[str], given: Mapping[str, Any] | None, *, as_json: bool
) -> Result:
    async with opened(config) as gateway:
        with working(f"Calling {one_line(name)}"):
            if given is None:
                given = arguments_of(pairs, (await gateway.inspect(name))["inputSchema"] if pairs else {})
            context = CallContext(unconfirmed="`halflap call` does not ask; `halflap run` does, of a script")
            result = await gateway.call_tool(name, given, context)
        # Before the servers are stopped: that may take longer than the call.
        if as_json:
            print_json(result.to_wire())
        else:
            _show(result)
        return result


def _show(result: Result) -> None:
    if result.is_error:
        note(f"Error [{_FAILED}]: The tool says that it failed:")
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
