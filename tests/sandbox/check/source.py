"""A program's text and its syntax tree, so that what the tree finds can be changed in the text."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["Edit", "Source"]


@dataclass(frozen=True)
class Edit:
    """One place of a text, in bytes, and what is to stand there."""

    start: int
    end: int
    text: str


@dataclass(frozen=True)
class Source:
    """A program, for edits that leave the number of its lines as it is."""

    code: str

    @cached_property
    def data(self) -> bytes:
        """The text as the tree counts it."""
        return self.code.encode()

    @cached_property
    def tree(self) -> ast.Module:
        """The program, parsed."""
        return ast.parse(self.code)

    @cached_property
    def parents(self) -> dict[ast.AST, ast.AST]:
        """What each node stands in."""
        return {child: node for node in ast.walk(self.tree) for child in ast.iter_child_nodes(node)}

    def walk(self) -> Iterator[ast.AST]:
        """Go through all nodes, in the order of the text as far as they have a place in it."""
        nodes = [node for node in ast.walk(self.tree) if hasattr(node, "lineno")]
        yield from sorted(
            nodes, key=lambda node: (getattr(node, "lineno", 0), getattr(node, "col_offset", 0))
        )

    def span(self, node: ast.expr | ast.keyword) -> tuple[int, int] | None:
        """Give the place of a node; None where the tree does not know it well, as in some f-strings before 3.12."""
        if node.end_lineno is None or node.end_col_offset is None:
            return None
        start = self._at(node.lineno, node.col_offset)
        end = self._at(node.end_lineno, node.end_col_offset)
        text = self.data[start:end].decode(errors="replace")
        try:
            if isinstance(node, ast.keyword):
                call = ast.parse(f"f({text})", mode="eval").body
                assert isinstance(call, ast.Call)
                found: ast.AST = call.keywords[0] if len(call.keywords) == 1 else call
            else:
                found = ast.parse(f"({text})", mode="eval").body
        except SyntaxError:
            return None
        return (start, end) if ast.dump(found) == ast.dump(node) else None

    def text(self, start: int, end: int) -> str:
        """Give a part of the text."""
        return self.data[start:end].decode()

    def edited(self, edit: Edit) -> str:
        """Make an edit; line breaks that it would take away stay, so that every other line keeps its number."""
        gone = self.data[edit.start : edit.end].count(b"\n") - edit.text.count("\n")
        put = edit.text.encode() + b"\n" * gone
        return (self.data[: edit.start] + put + self.data[edit.end :]).decode()

    def line(self, start: int) -> int:
        """Give the line of a place."""
        return self.data[:start].count(b"\n") + 1

    @cached_property
    def _lines(self) -> list[int]:
        starts = [0]
        for line in self.data.splitlines(keepends=True):
            starts.append(starts[-1] + len(line))
        return starts

    def _at(self, line: int, column: int) -> int:
        return self._lines[line - 1] + column
