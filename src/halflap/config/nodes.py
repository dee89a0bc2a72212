"""What a file says, as plain values that remember their line, and the problems found in it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from halflap.errors import ConfigProblem

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["DEEPEST", "MOST_NODES", "Node", "Problems", "broken_text", "plain", "shown"]

MOST_NODES = 100_000
"""Values in one file, with every alias counted as often as it is used."""

DEEPEST = 100
"""Lists and mappings inside each other."""

_LONGEST_SHOWN = 60


@dataclass(frozen=True, slots=True)
class Node:
    """One value of a file; `line` is that of its key, else its own, and None outside of files."""

    value: bool | float | str | tuple[Node, ...] | Mapping[str, Node] | None
    line: int | None = None
    text: str | None = None
    """A number as the file writes it, so that `1.10` can be passed on as it stands."""

    @property
    def kind(self) -> str:
        """What it is, in words that reveal nothing of what it says."""
        match self.value:
            case None:
                return "null"
            case bool():
                return "a boolean"
            case int() | float():
                return "a number"
            case str():
                return "a string"
            case tuple():
                return "a list"
            case _:
                return "a mapping"

    @property
    def mapping(self) -> Mapping[str, Node]:
        """Its members if it is a mapping, else none."""
        return self.value if isinstance(self.value, Mapping) else {}

    @property
    def items(self) -> tuple[Node, ...]:
        """Its items if it is a list, else none."""
        return self.value if isinstance(self.value, tuple) else ()


@dataclass(slots=True)
class Problems:
    """Collects what is wrong with one file, so that all of it can be said at once."""

    file: Path | None = None
    found: list[ConfigProblem] = field(default_factory=list)

    def add(self, line: int | None, message: str, suggestion: str | None = None) -> None:
        """Note one problem of this file."""
        self.found.append(ConfigProblem(self.file, line, message, suggestion))


def shown(text: str) -> str:
    """Give a name from a file in a form that is safe to print: short, and without control characters."""
    cut = text if len(text) <= _LONGEST_SHOWN else text[: _LONGEST_SHOWN - 1] + "…"
    return "".join(
        character if character.isprintable() else character.encode("unicode_escape", "replace").decode()
        for character in cut
    )


def broken_text(text: str) -> bool:
    """Say whether it holds half a surrogate pair, which no file or process can be given."""
    return any("\ud800" <= character <= "\udfff" for character in text) if not text.isascii() else False


def plain(node: Node) -> Any:
    """Give the value without positions."""
    if isinstance(node.value, Mapping):
        return {key: plain(member) for key, member in node.value.items()}
    if isinstance(node.value, tuple):
        return [plain(item) for item in node.value]
    return node.value
