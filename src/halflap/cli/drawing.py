"""How `halflap demo` draws its steps, on the terminal and as a picture."""

from __future__ import annotations

import io
import re
import sys
from typing import TYPE_CHECKING, Any

from halflap.cli.output import harmless, one_line

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from rich.console import Console, RenderableType
    from rich.tree import Tree

__all__ = ["Show", "escaped", "schema_tree"]

_WIDTH = 100


def schema_tree(tool: str, schema: Mapping[str, Any]) -> Tree:
    from rich.tree import Tree

    def label(part: Mapping[str, Any]) -> str:
        kind = part.get("type", "any")
        return " | ".join(kind) if isinstance(kind, list) else str(kind)

    def grow(tree: Tree, part: Mapping[str, Any]) -> None:
        for name, member in part.get("properties", {}).items():
            grow(tree.add(f"[bold]{escaped(one_line(name))}[/]: {label(member)}"), member)
        if isinstance(part.get("items"), dict):
            grow(tree.add(f"each item: {label(part['items'])}"), part["items"])

    tree = Tree(f"[cyan]{tool}[/] returns {label(schema)}", guide_style="dim")
    grow(tree, schema)
    return tree


def escaped(text: str) -> str:
    from rich.markup import escape

    return escape(harmless(text))


class Show:
    """Prints the steps, and keeps them as data and as a picture."""

    def __init__(self, *, quiet: bool, records: bool) -> None:
        from rich.console import Console as RichConsole

        width = min(RichConsole().width, _WIDTH)
        options: dict[str, Any] = {"highlight": False, "emoji": False}
        self.consoles: list[Console] = [RichConsole(width=width, quiet=quiet, **options)]
        if records:
            self.consoles.append(
                RichConsole(file=io.StringIO(), record=True, width=_WIDTH, force_terminal=True, **options)
            )
        self.data: dict[str, Any] = {}
        self.number = 0

    def heading(self, text: str) -> None:
        self.text("[bold]Halflap: one MCP server in front of all your others[/]")
        self.text(text)

    def step(self, title: str, why: str = "") -> None:
        self.number += 1
        self.text("")
        self.text(f"[bold cyan]{self.number} ▸ {title}[/]")
        if why:
            self.text(f"[italic]{why}[/]")

    def text(self, markup: str) -> None:
        self.print(markup)

    def print(self, what: RenderableType) -> None:
        for console in self.consoles:
            if console.is_terminal or console.quiet:
                console.print(what)
                continue
            with console.capture() as capture:
                console.print(what)
            # In a pipe, lines have no blanks at their ends.
            sys.stdout.write("".join(f"{line.rstrip()}\n" for line in capture.get().splitlines()))
            sys.stdout.flush()

    def code(self, program: str, *, marked: Collection[int] = ()) -> None:
        from rich.syntax import Syntax

        self.print(
            Syntax(
                harmless(program).rstrip("\n"),
                "python",
                theme="ansi_dark",
                background_color="default",
                line_numbers=True,
                highlight_lines=set(marked),
                word_wrap=True,
            )
        )

    def panel(self, text: str) -> None:
        from rich.panel import Panel
        from rich.text import Text

        self.print(Panel(Text(harmless(text).rstrip("\n")), border_style="dim", expand=False))

    def picture(self) -> str:
        drawn = self.consoles[-1].export_svg(title="halflap demo", unique_id="demo")
        # Load no font from elsewhere, and keep blanks at the ends of texts.
        kept = drawn.replace("<svg ", '<svg xml:space="preserve" ', 1)
        return re.sub(r"\s*@font-face \{.*?\}", "", kept, flags=re.DOTALL)
