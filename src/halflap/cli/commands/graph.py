"""`halflap graph` and `halflap suggest`: links between tools, and plans over them."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Literal

from typer import Argument, Exit, Option

from halflap.cli.command import Invocation, command, group
from halflap.cli.options import ToolArgument, exclusive, key_values, read_value, resolve
from halflap.cli.output import (
    note,
    one_line,
    outline,
    print_json,
    print_lines,
    warn_about_servers,
    working,
    write,
)
from halflap.core.errors import UsageError

if TYPE_CHECKING:
    from halflap.graph.edges import Graph

graph = group("graph", "Show which results can be passed as which arguments.", has_default=True)


@command(graph, "show", is_default=True)
async def show_graph(
    invocation: Invocation,
    tool: Annotated[str | None, Option("--tool", "-t", help="Only links of this tool.")] = None,
    form: Annotated[
        Literal["mermaid", "dot"] | None, Option("--format", "-f", help="Draw a diagram.")
    ] = None,
) -> None:
    """Show which results can be passed as which arguments."""
    exclusive(json=invocation.as_json, format=form)
    async with invocation.gateway() as gateway:
        with working("Finding links between tools"):
            found = await gateway.graph()
            warn_about_servers(gateway)
            if tool is None:
                edges, tools = await asyncio.to_thread(lambda: list(found.edges())), dict(found.tools)
            else:
                name = (await gateway.parts.composer()).tool_named(found, await resolve(gateway, tool))
                around = {(one.source, one.target): one for one in (*found.into(name), *found.out_of(name))}
                edges, ends = list(around.values()), {name, *(end for pair in around for end in pair)}
                tools = {one: found.tools[one] for one in sorted(ends)}
    if form is not None:
        from halflap.graph.draw import edges_dot, edges_mermaid

        linked = {name: tools[name] for edge in edges for name in (edge.source, edge.target)}
        write((edges_dot if form == "dot" else edges_mermaid)(edges, dict(sorted(linked.items()))))
        return
    keys = {"name": "tool", "server": "server", "destructive": "is_destructive", "latencyMs": "latency_ms"}
    nodes = [{key: getattr(one, name) for key, name in keys.items()} for _, one in sorted(tools.items())]
    data = {"nodes": nodes, "edges": [edge.to_json() for edge in edges]}
    if edges or invocation.as_json:
        invocation.show(data, (line for edge in data["edges"] for line in _edge_lines(edge)))
    else:
        note("No links found. `halflap graph explain TOOL TOOL` explains why two tools are not linked.")


def _edge_lines(edge: Mapping[str, Any]) -> Iterator[str]:
    fields = ", ".join(f"{link['from']} → {link['to']}" for link in edge["mappings"])
    ends = f"{one_line(edge['from'])} → {one_line(edge['to'])}"
    yield f"{ends}  ({edge['coverage']}, confidence {edge['confidence']:.2f})"
    yield f"      {fields}"


@command(graph)
async def explain(invocation: Invocation, source: ToolArgument, target: ToolArgument) -> None:
    """Explain why two tools are linked, or why not."""
    async with invocation.gateway() as gateway:
        with working("Finding links between tools"):
            ends = [await resolve(gateway, name) for name in (source, target)]
            found = await gateway.explain_edge(*ends)
            warn_about_servers(gateway)
    data = found.to_json()
    verdict = "No link" if found.edge is None else "Linked"
    details = data["edge"] or data
    shown = {key: value for key, value in details.items() if key not in {"from", "to"}}
    invocation.show(data, [f"{verdict}: {ends[0]} → {ends[1]}", *outline(shown)])


@command()
async def suggest(
    invocation: Invocation,
    goal: Annotated[list[str] | None, Argument(help="What to search for.")] = None,
    want: Annotated[
        list[str] | None, Option("--want", "-w", metavar="NAME", help="The tool or field to plan for.")
    ] = None,
    have: Annotated[
        list[str] | None,
        Option(metavar="NAME=VALUE", help="An available value; NAME alone to fill in later."),
    ] = None,
    may_change: Annotated[bool, Option("--may-change", help="Allow tools that change something.")] = False,
    limit: Annotated[
        int | None, Option("--limit", "-n", min=1, max=10, help="Maximum number of suggestions.")
    ] = None,
    program: Annotated[bool, Option("--program", help="Print only the program of the best one.")] = False,
    net: Annotated[bool, Option("--net", help="Print only the best one, as a workflow.")] = False,
) -> None:
    """Suggest a program that combines tools.

    The exit code is 1 if nothing was found.
    """
    exclusive(json=invocation.as_json, program=program, net=net)
    if not goal and not want:
        raise UsageError("Give words to search for, or a tool or field with --want.")
    async with invocation.gateway() as gateway:
        with working("Planning"):
            values = _available(have or [], await gateway.graph())
            words = " ".join(goal or ()) or None
            found = await gateway.suggest_workflow(
                words, values, want, limit, may_change=may_change, nets=net
            )
            warn_about_servers(gateway)
    best = next(iter(found["suggestions"]), None)
    if (program or net) and best is None:
        note("\n".join(outline({"missing": found["missing"]})))
    elif program and best is not None:
        print_lines([best["program"].rstrip()])
    elif net and best is not None:
        print_json(best["net"])
        for remark in best["net"].get("notes", ()):
            note(f"Note: {one_line(remark, 500)}")
    else:
        invocation.show(found, _suggestion_lines(found))
    if best is None and not found["changes"]:
        raise Exit(1)


def _available(pairs: Sequence[str], graph: Graph) -> dict[str, Any]:
    later = [pair.strip() for pair in pairs if "=" not in pair]
    given = key_values("--have", [pair for pair in pairs if "=" in pair])
    values = {name.strip(): _value(name.strip(), text, graph) for name, text in given.items()}
    return {**dict.fromkeys(later), **values}


def _value(name: str, text: str, graph: Graph) -> Any:
    from halflap.graph.naming import words_of
    from halflap.graph.plan import admits

    slots = [slot for ports in graph.tools.values() for slot in ports.slots if slot.path[-1].kind == "key"]
    types = [slot.type for slot in slots if words_of(slot.path[-1].key) == words_of(name)]

    def fits(value: Any) -> bool:
        # A list of matching values means one call for each.
        each = value if isinstance(value, list) else [value]
        return any(admits(kind, value) or all(admits(kind, one) for one in each) for kind in types)

    return read_value(text, fits)


def _suggestion_lines(found: Mapping[str, Any]) -> Iterator[str]:
    for number, one in enumerate([*found["suggestions"], *found["changes"]], 1):
        if number == len(found["suggestions"]) + 1:
            yield "These may change something. Name one with --want to get its program:"
        missing = ", ".join(dict.fromkeys(one_line(lack["parameter"]) for lack in one["missing"]))
        state = f"incomplete: fill in {missing}" if missing else f"confidence {one['confidence']:.2f}"
        yield f"{number}. {' → '.join(map(one_line, one['tools']))}  ({state})"
        if one.get("signature"):
            yield f"   {one_line(one['signature'], 300)}"
        for unused in one["unused"]:
            yield f"   Not used: {one_line(unused['name'])}: {one_line(unused['why'], 300)}"
    yield from outline({"missing": found["missing"]})
    if found["suggestions"]:
        yield from ("", "The program of the first (--json shows where each value comes from):", "")
        yield found["suggestions"][0]["program"].rstrip()
