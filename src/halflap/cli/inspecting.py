"""`halflap inspect`."""

from __future__ import annotations

import asyncio
import json
import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from halflap.cli.complete import tool_names
from halflap.cli.learned import drift_line
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
from halflap.schema import compact

if TYPE_CHECKING:
    from halflap.config import Config
    from halflap.schema import ToolSchema

__all__ = ["inspect"]


@reported
def inspect(
    name: Annotated[str, typer.Argument(help="The tool's namespaced name.", autocompletion=tool_names)],
    brief: Annotated[
        bool, typer.Option("--compact", help="Say in one line how to call it and what it returns.")
    ] = False,
    config: ConfigOption = None,
    as_json: JsonOption = False,
    verbose: VerboseOption = False,
) -> None:
    """Show what a tool takes and returns, who serves it, and what its server says of itself.

    With --json, the schemas are shown whole.
    """
    set_up_logging(verbose=verbose, tells_of_servers=True)
    described, schema = asyncio.run(_inspect(read_config(config), name))
    if as_json:
        print_json({"compact": schema.format_compact()} if brief else described)
    elif brief:
        sys.stdout.write(harmless(schema.format_compact()) + "\n")
        sys.stdout.flush()
    else:
        _show(described, schema)


async def _inspect(config: Config, name: str) -> tuple[dict[str, Any], ToolSchema]:
    async with opened(config) as gateway:
        with working(f"Looking for {one_line(name)}"):
            return await gateway.inspect(name), await gateway.get_schema(name)


def _show(described: dict[str, Any], schema: ToolSchema) -> None:
    lines = [described["name"], f"  {one_line(described['description'], 500)}", ""]
    lines.append(f"Server: {described['server']} (there it is '{described['originalName']}')")
    effects = described["annotations"]
    known = [
        word for word, key in (("read-only", "readOnly"), ("destructive", "destructive")) if effects[key]
    ]
    claims = [key for key, value in effects["claimed"].items() if value is True]
    if claims:
        trust = (
            "trusted"
            if effects["vouchedBy"] == "server"
            else "which counts for nothing; see trust_annotations"
        )
        known.append(f"the server claims {', '.join(claims)} ({trust})")
    if known:
        lines.append(f"Effects: {'; '.join(known)}")
    lines += [
        f"{key.capitalize()}: {described[key]}"
        for key in ("blocked", "held", "unavailable", "unchecked", "spelling")
        if key in described
    ]
    if "changed" in described:
        lines.append(f"Changed since it was accepted: {', '.join(described['changed']) or 'its definition'}")
        for key, value in described["accepted"].items():
            lines.append(
                f"  {key} was: {one_line(value if isinstance(value, str) else json.dumps(value), 1000)}"
            )
    takes = schema.parameter_lines()
    lines += ["", "Takes:", *(f"  {line}" for line in takes or ["nothing"]), "", "Returns:"]
    if schema.returns is not None:
        lines.append(f"  {compact(schema.returns)}")
    elif described["outputSchema"] is not None:
        lines.append("  The server declares an output schema that says nothing of what is in it.")
    if "note" in described:
        lines.append(f"  {described['note']}")
    if "observedSchema" in described:
        lines.append(f"  Field by field: halflap schema show {described['name']}")
    lines += [f"  Since {one['since']}: {drift_line(one)}" for one in described.get("drift", ())]
    if "instructions" in described:
        lines += [
            "",
            "The server says:",
            *(f"  {one_line(line, 500)}" for line in described["instructions"].splitlines()),
        ]
    sys.stdout.write(harmless("\n".join(lines)) + "\n")
    sys.stdout.flush()
