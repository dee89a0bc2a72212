"""How the demo draws: programs, what they print, schemas, what feeds what, and workflows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich import box
from rich.console import Group
from rich.padding import Padding
from rich.panel import Panel
from rich.syntax import Syntax
from rich.text import Text
from rich.tree import Tree

from halflap.cli.output import harmless, one_line
from halflap.graph.edge import path_text

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from rich.console import RenderableType

    from halflap.graph.edge import Edge, Ports

__all__ = ["NEW", "SEEN", "code", "feeding", "printed", "schema_tree", "workflow"]

_LONGEST = 120
NEW = ("★ ", "bold green")
SEEN = ("● ", "bold cyan")
"""How ways are marked that were not known before, and that values were seen to go."""


def code(program: str, *, marked: Collection[int] = frozenset()) -> RenderableType:
    """Show a program, with the lines marked that something is said of."""
    return Syntax(
        harmless(program).rstrip("\n"),
        "python",
        theme="ansi_dark",
        background_color="default",
        line_numbers=True,
        highlight_lines=set(marked),
        word_wrap=True,
    )


def printed(text: str, title: str | None = None) -> RenderableType:
    """Show what a program printed, or what was said."""
    told = Text(harmless(text).rstrip("\n"))
    name = None if title is None else Text(one_line(title))
    return Panel(told, title=name, title_align="left", box=box.ROUNDED, border_style="dim", expand=False)


def schema_tree(root: str, schema: Mapping[str, Any]) -> Tree:
    """Draw a schema, with how often each place was there."""
    tree = Tree(Text.assemble((f"{root} ", "cyan"), _type(schema)), guide_style="dim")
    _grow(tree, schema)
    return tree


def _grow(tree: Tree, schema: Mapping[str, Any]) -> None:
    for name, part in schema.get("properties", {}).items():
        presence = part.get("x-halflap", {}).get("presence", 1.0)
        often = ("  always", "dim") if presence >= 1 else (f"  in {presence:.0%}", "yellow")
        _grow(tree.add(Text.assemble((one_line(name), "bold"), ": ", _type(part), often)), part)
    if isinstance(schema.get("items"), dict):
        _grow(tree.add(Text.assemble(("each item ", ""), _type(schema["items"]))), schema["items"])
    for branch in schema.get("oneOf", ()):
        _grow(tree.add(Text.assemble(("or ", ""), _type(branch))), branch)


def _type(schema: Mapping[str, Any]) -> tuple[str, str]:
    types = schema.get("type", "one of several" if "oneOf" in schema else "anything")
    word = types if isinstance(types, str) else " or ".join(types)
    return f"{word} ({schema['format']})" if "format" in schema else word, "magenta"


def feeding(
    edges: Iterable[Edge], tools: Mapping[str, Ports], before: Collection[tuple[str, str]]
) -> RenderableType:
    """Draw what feeds what: below each tool, the fields that it returns and the tools that take them."""
    ways: dict[str, dict[str, list[Text]]] = {}
    for edge in edges:
        ends = (edge.source, edge.target)
        mark = NEW if ends not in before else SEEN if "lineage" in edge.kinds else ("", "")
        name = (_own_name(tools[edge.target]), mark[1])
        leaf = Text.assemble(mark, name, (f" {edge.confidence:.2f}", "dim"))
        for link in edge.links:
            way = one_line(f"{path_text(link.source)} → {path_text(link.target)}", _LONGEST)
            ways.setdefault(edge.source, {}).setdefault(way, []).append(leaf)
    trees = []
    for source, fields in ways.items():
        own = tools[source]
        tree = Tree(
            Text.assemble((_own_name(own), "bold cyan"), (f"  {one_line(own.server)}", "dim")),
            guide_style="dim",
        )
        for way, leaves in fields.items():
            tree.add(Text.assemble(f"{way}: ", Text(", ").join(leaves)))
        trees.append(tree)
    return Group(*trees)


def _own_name(ports: Ports) -> str:
    return one_line(ports.original_name or ports.tool, _LONGEST)


def workflow(steps: Sequence[Mapping[str, Any]]) -> RenderableType:
    """Draw the steps of a workflow from above to below, with what goes into each."""
    drawn: list[RenderableType] = []
    for step in steps:
        arrows = []
        for name, given in step["arguments"].items():
            if given["from"] == "have":
                arrows.append(f"{given['name']} → {name}")
            elif given["from"] == "step":
                arrows.append(f"{given['step']} {given['path']} → {name}")
            else:
                arrows.append(f"{name}: {given['from']}")
        each = "  ·  once for each" if step["fan_out"] else ""
        drawn += [Text(f"    │ {one_line(arrow, _LONGEST)}{each}", "green") for arrow in arrows]
        drawn += [Text("    ▼", "green")] if arrows else []
        label = Text.assemble(
            (f"{step['id']} ", "dim"), (one_line(step["tool"]), "bold cyan"), (f"  {step['server']}", "dim")
        )
        drawn.append(Panel(label, box=box.ROUNDED, border_style="cyan", expand=False))
    return Padding(Group(*drawn), (0, 0, 0, 2))
