"""Reads JSON as people write it by hand: with comments and trailing commas, and with positions."""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from typing import TYPE_CHECKING

from halflap.config.nodes import DEEPEST, MOST_NODES, Node, broken_text, shown

if TYPE_CHECKING:
    from halflap.config.nodes import Problems
    from halflap.core.codes import ConfigCode

__all__ = ["read_jsonc"]

_SPACE = re.compile(r"[ \t\r\n]*")
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?(?![0-9A-Za-z_.+-])")
_WORD = re.compile(r"[A-Za-z_$][A-Za-z0-9_$]*")
_WORDS = {"true": True, "false": False, "null": None}
_FOREIGN = {"True": "true", "False": "false", "None": "null", "undefined": "null", "nil": "null"}
_LONGEST_NUMBER = 400
_STRINGS = json.JSONDecoder()


class _SyntaxStop(Exception):  # noqa: N818 - never leaves this module
    def __init__(self, at: int, message: str, suggestion: str | None, code: ConfigCode) -> None:
        super().__init__(message)
        self.code = code
        self.at = at
        self.message = message
        self.suggestion = suggestion


def read_jsonc(text: str, problems: Problems) -> Node | None:
    """Give the file's value, or None when it cannot be read; the problems say why."""
    reader = _Reader(text, problems)
    try:
        return reader.document()
    except _SyntaxStop as stop:
        line, column = reader.position(stop.at)
        problems.add(line, f"{stop.message} (column {column}).", stop.suggestion, code=stop.code)
        return None


class _Reader:
    def __init__(self, text: str, problems: Problems) -> None:
        self.text = text
        self.problems = problems
        self.at = 0
        self.nodes = 0
        self.line_starts = [0, *(match.end() for match in re.finditer("\n", text))]

    def position(self, at: int) -> tuple[int, int]:
        line = bisect_right(self.line_starts, at)
        return line, at - self.line_starts[line - 1] + 1

    def line(self, at: int) -> int:
        return bisect_right(self.line_starts, at)

    def error(
        self,
        message: str,
        suggestion: str | None = None,
        *,
        at: int | None = None,
        code: ConfigCode = "config-syntax",
    ) -> _SyntaxStop:
        return _SyntaxStop(self.at if at is None else at, message, suggestion, code)

    def document(self) -> Node:
        self.skip()
        if self.at == len(self.text):
            return Node({}, 1)
        node = self.value(self.line(self.at), 1)
        self.skip()
        if self.at < len(self.text):
            raise self.error("there is more text after the end of the JSON value")
        return node

    def skip(self) -> None:
        """Go past whitespace and comments."""
        while True:
            space = _SPACE.match(self.text, self.at)
            self.at = space.end() if space else self.at
            if self.text.startswith("//", self.at):
                end = self.text.find("\n", self.at)
                self.at = len(self.text) if end < 0 else end
            elif self.text.startswith("/*", self.at):
                end = self.text.find("*/", self.at + 2)
                if end < 0:
                    raise self.error("a comment that starts with `/*` is never closed", "Close it with `*/`.")
                self.at = end + 2
            elif self.text.startswith("#", self.at):
                raise self.error("`#` starts no comment in JSON", "Write `//` instead.")
            else:
                return

    def value(self, line: int, depth: int) -> Node:
        self.nodes += 1
        if self.nodes > MOST_NODES:
            raise self.error(f"the file has more than {MOST_NODES:,} values", code="config-too-large")
        if depth > DEEPEST:
            raise self.error(
                f"lists and objects are nested more than {DEEPEST} deep", code="config-too-large"
            )
        head = self.text[self.at : self.at + 1]
        if head == "{":
            return self.object(line, depth)
        if head == "[":
            return self.array(line, depth)
        if head == '"':
            return Node(self.string(), line)
        number = _NUMBER.match(self.text, self.at)
        if number:
            return self.number(number, line)
        return Node(self.word(), line)

    def object(self, line: int, depth: int) -> Node:
        opened = self.at
        self.at += 1
        members: dict[str, Node] = {}
        first_lines: dict[str, int] = {}
        again: dict[str, Node] = {}
        while True:
            self.skip()
            if self.text.startswith("}", self.at):
                self.at += 1
                return Node(members, line, again=again)
            key_line = self.line(self.at)
            key = self.key(opened)
            self.skip()
            if not self.text.startswith(":", self.at):
                raise self.error("a key needs `:` and a value after it")
            self.at += 1
            self.skip()
            node = self.value(key_line, depth + 1)
            if key in members:
                self.problems.add(
                    key_line,
                    f"the key `{shown(key)}` occurs twice; the first is on line {first_lines[key]}.",
                    "Keep one of them.",
                    code="config-duplicate-key",
                )
                again[key] = node
            else:
                members[key] = node
                first_lines[key] = key_line
            self.separator(opened, "}")

    def array(self, line: int, depth: int) -> Node:
        opened = self.at
        self.at += 1
        items: list[Node] = []
        while True:
            self.skip()
            if self.text.startswith("]", self.at):
                self.at += 1
                return Node(tuple(items), line)
            if self.at == len(self.text):
                raise self.unclosed(opened)
            items.append(self.value(self.line(self.at), depth + 1))
            self.separator(opened, "]")

    def separator(self, opened: int, closing: str) -> None:
        """Go past a comma; the closing bracket stays for the caller."""
        after = self.at
        self.skip()
        if self.text.startswith(",", self.at):
            self.at += 1
        elif self.at == len(self.text):
            raise self.unclosed(opened)
        elif not self.text.startswith(closing, self.at):
            raise self.error(f"expected `,` or `{closing}` after the value", at=after)

    def unclosed(self, opened: int) -> _SyntaxStop:
        bracket = self.text[opened]
        return self.error(f"the file ends before the `{bracket}` of line {self.line(opened)} is closed")

    def key(self, opened: int) -> str:
        if self.text.startswith('"', self.at):
            return self.string()
        if self.at == len(self.text):
            raise self.unclosed(opened)
        comma = self.text.startswith(",", self.at)
        raise self.error("there is a comma too many" if comma else "a key must be a string in double quotes")

    def string(self) -> str:
        try:
            value, end = _STRINGS.raw_decode(self.text, self.at)
        except json.JSONDecodeError as error:
            raise self.string_error(error) from error
        text = str(value)
        if broken_text(text):
            raise self.error("a string holds half a surrogate pair, which is no character")
        self.at = end
        return text

    def string_error(self, error: json.JSONDecodeError) -> _SyntaxStop:
        if error.msg.startswith("Unterminated"):
            return self.error("a string is never closed", 'Close it with `"`.')
        if error.msg.startswith("Invalid control"):
            how = r'Close the string with `"`, or write a line break as `\n` and a tab as `\t`.'
            return self.error("a string holds a line break or another control character", how, at=error.pos)
        return self.error(
            "a backslash starts no escape that JSON knows", r"Write `\\` for a backslash.", at=error.pos
        )

    def number(self, match: re.Match[str], line: int) -> Node:
        text = match.group()
        if len(text) > _LONGEST_NUMBER:
            raise self.error("a number has too many digits")
        self.at = match.end()
        whole = match.group(1) is None and match.group(2) is None
        return Node(int(text) if whole else float(text), line, text)

    def word(self) -> bool | None:
        match = _WORD.match(self.text, self.at)
        word = match.group() if match else ""
        if word in _WORDS:
            self.at += len(word)
            return _WORDS[word]
        if word in _FOREIGN:
            raise self.error(f"`{word}` is not JSON", f"Write `{_FOREIGN[word]}`.")
        if self.at == len(self.text):
            raise self.error("the file ends where a value should be")
        if self.text.startswith("'", self.at):
            raise self.error("a string must be in double quotes")
        if self.text.startswith(",", self.at):
            raise self.error("there is a comma too many")
        raise self.error(
            "expected a value: a string in double quotes, a number, true, false, null, a list or an object"
        )
