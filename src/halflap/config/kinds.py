"""The kinds of values that settings take: each reads a value, or says what it should have been."""

from __future__ import annotations

import json
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from halflap.config.nodes import shown

if TYPE_CHECKING:
    from halflap.config.nodes import Node, Problems

__all__ = ["WRONG", "Choice", "Flag", "Kind", "ListOf", "MapOf", "Number", "Text", "Value"]

WRONG: Final = object()
"""What reading gives when the value does not fit; the problem is noted by then."""

_LARGEST = 10**12


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """What a setting takes. The value of a `secret` one is never shown, not even when it is wrong."""

    secret: bool = False

    @property
    @abstractmethod
    def expected(self) -> str:
        """Say it with its article: *a number greater than 0*."""

    @abstractmethod
    def read(self, node: Node, where: str, problems: Problems) -> Any:
        """Give the plain value, or note a problem and give `WRONG`."""

    def wrong(self, node: Node, where: str, problems: Problems) -> object:
        """Note that the value is not what was expected."""
        suggestion = "Leave the key out to get the default." if node.value is None else self.advice(node)
        problems.add(node.line, f"{where} must be {self.expected}, not {self._said(node)}.", suggestion)
        return WRONG

    def advice(self, node: Node) -> str | None:  # noqa: ARG002 -- some kinds look at what was written
        """Say how to write it."""
        return None

    def _said(self, node: Node) -> str:
        if self.secret or node.value is None or isinstance(node.value, tuple | Mapping):
            return node.kind
        if isinstance(node.value, str):
            return f'"{shown(node.value)}"'
        return shown(node.text or json.dumps(node.value))


@dataclass(frozen=True, slots=True, kw_only=True)
class Number(Kind):
    """A number, within limits; never a boolean, never a text that looks like a number."""

    whole: bool = False
    zero: bool = False

    @property
    def expected(self) -> str:
        noun = "a whole number" if self.whole else "a number"
        return f"{noun} of at least 0" if self.zero else f"{noun} greater than 0"

    def advice(self, node: Node) -> str | None:
        return "Write it without quotes, as digits." if isinstance(node.value, str) else None

    def read(self, node: Node, where: str, problems: Problems) -> Any:
        value = node.value
        kinds = int if self.whole else (int, float)
        if isinstance(value, bool) or not isinstance(value, kinds):
            return self.wrong(node, where, problems)
        if not (value > 0 or (self.zero and value == 0)):
            return self.wrong(node, where, problems)
        if value > _LARGEST:
            problems.add(node.line, f"{where} must be at most {_LARGEST:,}.")
            return WRONG
        return value if self.whole else float(value)


@dataclass(frozen=True, slots=True, kw_only=True)
class Text(Kind):
    """A string."""

    empty: bool = False
    noun: str = "a string"

    @property
    def expected(self) -> str:
        return self.noun

    def advice(self, node: Node) -> str | None:
        if isinstance(node.value, tuple):
            return "Write a single text; what follows a command goes into `args`."
        return "Write a single text." if isinstance(node.value, Mapping) else None

    def read(self, node: Node, where: str, problems: Problems) -> Any:
        if not isinstance(node.value, str):
            wrong = self.wrong(node, where, problems)
            if isinstance(node.value, bool | int | float):
                last = problems.found.pop()
                problems.add(node.line, last.message, "Put it in quotes.")
            return wrong
        if not node.value.strip() and not self.empty:
            problems.add(node.line, f"{where} must not be empty.", "Leave it out instead.")
            return WRONG
        return node.value


@dataclass(frozen=True, slots=True, kw_only=True)
class Value(Kind):
    """A string, or a number or boolean that stands for its text: `PORT: 8080`."""

    secret: bool = True

    @property
    def expected(self) -> str:
        return "a string, a number or a boolean"

    def read(self, node: Node, where: str, problems: Problems) -> Any:
        match node.value:
            case str():
                return node.value
            case bool() | int() | float():
                return node.text or json.dumps(node.value)
            case _:
                problems.add(node.line, f"{where} must be {self.expected}, not {node.kind}.")
                return WRONG


@dataclass(frozen=True, slots=True, kw_only=True)
class Flag(Kind):
    """True or false, and nothing that only looks like it."""

    def advice(self, node: Node) -> str | None:  # noqa: ARG002 -- the same for all
        return "Write it without quotes."

    @property
    def expected(self) -> str:
        return "true or false"

    def read(self, node: Node, where: str, problems: Problems) -> Any:
        return node.value if isinstance(node.value, bool) else self.wrong(node, where, problems)


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice(Kind):
    """One of a few words; some have other spellings that mean the same."""

    options: tuple[str, ...]
    spellings: Mapping[str, str] | None = None

    @property
    def expected(self) -> str:
        *others, last = self.options
        return f"{', '.join(others)} or {last}" if others else last

    def advice(self, node: Node) -> str | None:
        from rapidfuzz import fuzz, process  # noqa: PLC0415 -- few make a mistake

        near = process.extractOne(str(node.value), self.options, scorer=fuzz.ratio, score_cutoff=60)
        return f"Did you mean `{near[0]}`?" if near else None

    def read(self, node: Node, where: str, problems: Problems) -> Any:
        if isinstance(node.value, str):
            value = (self.spellings or {}).get(node.value, node.value)
            if value in self.options:
                return value
        return self.wrong(node, where, problems)


@dataclass(frozen=True, slots=True, kw_only=True)
class ListOf(Kind):
    """A list, given as a tuple."""

    item: Kind
    noun: str = "strings"

    @property
    def expected(self) -> str:
        return f"a list of {self.noun}"

    def advice(self, node: Node) -> str | None:  # noqa: ARG002 -- the same for all
        return "Write them within `[` and `]`, each in quotes, with commas between."

    def read(self, node: Node, where: str, problems: Problems) -> Any:
        if not isinstance(node.value, tuple):
            return self.wrong(node, where, problems)
        values = [
            self.item.read(item, f"{where}[{index}]", problems) for index, item in enumerate(node.value)
        ]
        return WRONG if any(value is WRONG for value in values) else tuple(values)


@dataclass(frozen=True, slots=True, kw_only=True)
class MapOf(Kind):
    """A mapping whose keys are the user's own."""

    item: Kind
    noun: str

    @property
    def expected(self) -> str:
        return f"a mapping of {self.noun}"

    def advice(self, node: Node) -> str | None:  # noqa: ARG002 -- the same for all
        return "Write `key: value` for each."

    def read(self, node: Node, where: str, problems: Problems) -> Any:
        if not isinstance(node.value, Mapping):
            return self.wrong(node, where, problems)
        values = {
            key: self.item.read(member, f"{where}.{shown(key)}", problems)
            for key, member in node.value.items()
        }
        return WRONG if any(value is WRONG for value in values.values()) else values
