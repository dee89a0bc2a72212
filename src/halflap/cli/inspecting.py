"""`halflap inspect`."""

from __future__ import annotations

import asyncio
import json
import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from halflap.cli.complete import tool_names
from halflap.cli.learned import drift_line
from halflap.cli.learned_text import type_rows
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
from halflap.cli.wrapping import print_lines
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
    if sys.stdout.isatty():
        _draw(described, schema)
        return
    lines = _about(described)
    takes = schema.parameter_lines()
    lines += ["", "Takes:", *(f"  {line}" for line in takes or ["nothing"]), "", "Returns:"]
    if schema.returns is not None:
        lines.append(f"  {compact(schema.returns)}")
    print_lines([*lines, *_on_results(described, schema), *_said(described)])


def _draw(described: dict[str, Any], schema: ToolSchema) -> None:
    """Show the same in a terminal, schemas as trees."""
    from halflap.cli.trees import print_parameters, print_places  # noqa: PLC0415 -- only a terminal needs them

    print_lines([*_about(described), ""])
    print_parameters("Takes", schema.parameter_lines() or ["nothing"])
    print_lines([""])
    if schema.returns is not None:
        print_places("Returns", type_rows(schema.returns))
    else:
        print_lines(["Returns"])
    rest = [*_on_results(described, schema), *_said(described)]
    if rest:
        print_lines(rest)


def _about(described: dict[str, Any]) -> list[str]:
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
    return lines


def _on_results(described: dict[str, Any], schema: ToolSchema) -> list[str]:
    lines = []
    if schema.returns is None and described["outputSchema"] is not None:
        lines.append("  The server declares an output schema that says nothing of what is in it.")
    if "note" in described:
        lines.append(f"  {described['note']}")
    if "observedSchema" in described:
        lines.append(f"  Field by field: halflap schema show {described['name']}")
    return lines + [f"  Since {one['since']}: {drift_line(one)}" for one in described.get("drift", ())]


def _said(described: dict[str, Any]) -> list[str]:
    if "instructions" not in described:
        return []
    said = described["instructions"].splitlines()
    return ["", "The server says:", *(f"  {one_line(line, 500)}" for line in said)]
