"""What a file says, as plain values that remember their line, and the problems found in it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from halflap.core.errors import ConfigProblem

if TYPE_CHECKING:
    from pathlib import Path

    from halflap.core.codes import ConfigCode

__all__ = ["DEEPEST", "MOST_NODES", "Node", "Problems", "broken_text", "plain", "shown", "with_repeated"]

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
    again: Mapping[str, Node] | None = None
    """The members of a mapping whose keys were there already: a problem, but what they say is looked at, too."""

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


def with_repeated(node: Node) -> Node | None:
    """Give a document with the later of all members that occur twice; None if none does."""
    changed = False

    def later(one: Node) -> Node:
        nonlocal changed
        if isinstance(one.value, tuple):
            return replace(one, value=tuple(map(later, one.value)))
        if not isinstance(one.value, Mapping):
            return one
        changed |= bool(one.again)
        members = {**one.value, **(one.again or {})}
        return replace(one, value={key: later(member) for key, member in members.items()})

    other = later(node)
    return other if changed else None


@dataclass(slots=True)
class Problems:
    """Collects what is wrong with one file, so that all of it can be said at once."""

    file: Path | None = None
    found: list[ConfigProblem] = field(default_factory=list)

    def add(
        self,
        line: int | None,
        message: str,
        suggestion: str | None = None,
        *,
        code: ConfigCode = "config-wrong-value",
    ) -> None:
        """Note one problem of this file."""
        self.found.append(ConfigProblem(self.file, line, message, suggestion, code))

    def add_new(self, others: Problems) -> None:
        """Note the problems that are not noted yet."""
        self.found += [problem for problem in others.found if problem not in self.found]


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
