"""`halflap graph`."""

from __future__ import annotations

import asyncio
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from halflap.cli.options import (
    ConfigOption,
    JsonOption,
    VerboseOption,
    opened,
    read_config,
    resolve,
    save,
    tool_names,
)
from halflap.cli.output import (
    note,
    one_line,
    print_json,
    print_lines,
    print_table,
    reported,
    write,
)
from halflap.cli.progress import working
from halflap.cli.tools import warn_about_servers
from halflap.core.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from halflap.config import Config
    from halflap.graph.edges import Edge, Explanation
    from halflap.graph.ports import Ports

__all__ = ["graph"]


class Form(StrEnum):
    """Formats besides the table."""

    MERMAID = "mermaid"
    DOT = "dot"
    JSON = "json"


graph = typer.Typer(
    name="graph",
    help="Show links between tools: which results can be which arguments.",
    invoke_without_command=True,
    add_completion=False,
    rich_markup_mode=None,
)


@graph.callback()
@reported
def _graph(
    context: typer.Context,
    tool: Annotated[
        str | None,
        typer.Option("--tool", "-t", help="Only links of this tool.", autocompletion=tool_names),
    ] = None,
    form: Annotated[
        Form | None,
        typer.Option("--format", "-f", help="A format other than a table.", show_default=False),
    ] = None,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Write it to this file.")] = None,
    config: ConfigOption = None,
    as_json: JsonOption = False,
    verbose: VerboseOption = False,
) -> None:
    """Show which results can be which arguments: as a table, a diagram or data."""
    if context.invoked_subcommand is not None:
        return
    if as_json and form not in {None, Form.JSON}:
        raise UsageError("Use --json or --format, not both.")
    edges, tools = asyncio.run(_read(read_config(config), tool))
    if output is None and form is None and not as_json:
        _table(edges)
    elif output is None and (as_json or form is Form.JSON):
        print_json(_data(edges, tools))
    else:
        _write(_text(Form.JSON if as_json else form or Form.MERMAID, edges, tools), output)


async def _read(config: Config, tool: str | None) -> tuple[Sequence[Edge], Mapping[str, Ports]]:
    async with opened(config) as gateway:
        with working("Finding links between tools"):
            found = await gateway.graph(behind=False)
            warn_about_servers(gateway)
            if tool is None:
                return await asyncio.to_thread(lambda: list(found.edges())), dict(found.tools)
            name = gateway.tool_named(found, await resolve(gateway, tool))
            around = {(edge.source, edge.target): edge for edge in (*found.into(name), *found.out_of(name))}
        names = {name, *(end for pair in around for end in pair)}
        return list(around.values()), {one: found.tools[one] for one in sorted(names)}


def _data(edges: Sequence[Edge], tools: Mapping[str, Ports]) -> dict[str, Any]:
    return {
        "nodes": [
            {
                "name": one.tool,
                "server": one.server,
                "destructive": one.is_destructive,
                "latencyMs": one.latency_ms,
            }
            for _, one in sorted(tools.items())
        ],
        "edges": [edge.to_json() for edge in edges],
    }


def _text(form: Form, edges: Sequence[Edge], tools: Mapping[str, Ports]) -> str:
    if form is Form.JSON:
        import json  # noqa: PLC0415 -- only for a file

        return json.dumps(_data(edges, tools), indent=2) + "\n"
    # Tools without links would only clutter the diagram.
    ends = {end for edge in edges for end in (edge.source, edge.target)}
    shown = {name: ports for name, ports in tools.items() if name in ends}
    from halflap.graph.draw import edges_dot, edges_mermaid  # noqa: PLC0415 -- as above

    return (edges_dot if form is Form.DOT else edges_mermaid)(edges, shown)


def _write(text: str, output: Path | None) -> None:
    text = text if text.endswith("\n") else f"{text}\n"
    if output is None:
        write(text)
    else:
        save(text, output)


def _table(edges: Sequence[Edge]) -> None:
    if not edges:
        note("No links between tools are known. `halflap graph explain A B` says why, for two of them.")
        return
    print_table(
        ["from", "to", "coverage", "confidence", "fields"],
        [
            (
                one_line(edge.source),
                one_line(edge.target),
                edge.coverage,
                f"{edge.confidence:.2f}",
                ", ".join(f"{link['from']} → {link['to']}" for link in edge.to_json()["mappings"]),
            )
            for edge in edges
        ],
        right={3},
        wrap=True,
    )


@graph.command()
@reported
def explain(
    source: Annotated[
        str, typer.Argument(help="The tool that returns something.", autocompletion=tool_names)
    ],
    target: Annotated[str, typer.Argument(help="The tool that takes it.", autocompletion=tool_names)],
    config: ConfigOption = None,
    as_json: JsonOption = False,
    verbose: VerboseOption = False,
) -> None:
    """Explain why one tool's result can be another's argument, or why not."""
    told = asyncio.run(_explained(read_config(config), source, target))
    if as_json:
        print_json(told.to_json())
        return
    print_lines(_lines(told))


async def _explained(config: Config, source: str, target: str) -> Explanation:
    async with opened(config) as gateway:
        with working("Finding links between tools"):
            ends = [await resolve(gateway, name) for name in (source, target)]
            found = await gateway.explain_edge(*ends, behind=False)
            warn_about_servers(gateway)
            return found


def _lines(told: Explanation) -> list[str]:
    if told.edge is None:
        lines = [f"{told.source} has nothing for {told.target}."]
        for near in (one.to_json() for one in told.near):
            ends = " → ".join(part for part in (near["from"], near["to"]) if part is not None)
            why = one_line(near["detail"], 300)
            lines.append(f"  {ends}: {near['reason']}: {why}" if ends else f"  {why}")
        return lines
    edge = told.edge
    what = "pages through its own results" if edge.is_pagination else f"provides for {told.target}"
    lines = [f"{told.source} {what}: {edge.coverage}, confidence {edge.confidence:.2f}."]
    for link in edge.to_json()["mappings"]:
        each = ", one call per item" if link["fan_out"] and not edge.is_pagination else ""
        lines.append(f"  {link['from']} → {link['to']}  ({link['confidence']:.2f}{each})")
        for one in link["evidence"]:
            lines.append(f"    {one['kind']:<9} {one['weight']:.2f}  {one_line(one['detail'], 300)}".rstrip())
    return lines
