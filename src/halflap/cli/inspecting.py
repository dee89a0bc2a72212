"""`halflap inspect`."""

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
    one_line,
    print_json,
    reported,
    set_up_logging,
)
from halflap.cli.progress import working
from halflap.cli.setting import opened, read_config

if TYPE_CHECKING:
    from halflap.config import Config

__all__ = ["inspect"]


@reported
def inspect(
    name: Annotated[str, typer.Argument(help="The tool's namespaced name.", autocompletion=tool_names)],
    config: ConfigOption = None,
    as_json: JsonOption = False,
    verbose: VerboseOption = False,
) -> None:
    """Show what a tool takes and returns, who serves it, and what its server says of itself."""
    set_up_logging(verbose=verbose, tells_of_servers=True)
    described = asyncio.run(_inspect(read_config(config), name))
    if as_json:
        print_json(described)
    else:
        _show(described)


async def _inspect(config: Config, name: str) -> dict[str, Any]:
    async with opened(config) as gateway:
        with working(f"Looking for {one_line(name)}"):
            return await gateway.inspect(name)


def _show(described: dict[str, Any]) -> None:
    lines = [described["name"], f"  {one_line(described['description'], 500)}", ""]
    lines.append(f"Server: {described['server']} (there it is {described['originalName']!r})")
    effects = described["annotations"]
    known = [
        word for word, key in (("read-only", "readOnly"), ("destructive", "destructive")) if effects[key]
    ]
    claims = [key for key, value in effects["claimed"].items() if value is True]
    if claims:
        trust = "trusted" if effects["trusted"] else "not trusted; see trust_annotations"
        known.append(f"the server claims {', '.join(claims)} ({trust})")
    if known:
        lines.append(f"Effects: {'; '.join(known)}")
    lines += [
        f"{key.capitalize()}: {described[key]}" for key in ("blocked", "unavailable") if key in described
    ]
    if "changed" in described:
        lines.append(f"Changed since it was accepted: {', '.join(described['changed']) or 'its definition'}")
    lines += ["", "Takes:", _indented(described["inputSchema"]), "", "Returns:"]
    lines.append(
        _indented(described["outputSchema"]) if described["outputSchema"] else f"  {described['note']}"
    )
    if "instructions" in described:
        lines += [
            "",
            "The server says:",
            *(f"  {one_line(line, 500)}" for line in described["instructions"].splitlines()),
        ]
    sys.stdout.write(harmless("\n".join(lines)) + "\n")
    sys.stdout.flush()


def _indented(schema: Any) -> str:
    return "\n".join(f"  {line}" for line in json.dumps(schema, indent=2, ensure_ascii=False).splitlines())
