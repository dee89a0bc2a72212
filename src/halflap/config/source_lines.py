"""Parse YAML and JSON files, and find the line of every value in them."""

from __future__ import annotations

import json
import os
import re
import stat
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from halflap.config.problems import MAX_DEPTH, Problems, SyntaxProblem, show

if TYPE_CHECKING:
    import yaml

__all__ = ["MAX_FILE_BYTES", "Source", "parse", "parse_json", "read_bytes", "source_of"]

MAX_FILE_BYTES = 1024 * 1024
"""Files above this are refused: a larger one is not a configuration."""
_MAX_VALUES = 100_000
"""Values in one file, each YAML alias counted as often as it is used; bounds what aliases can blow up."""
_STRING = r'"(?:[^"\\\n]|\\.)*"'
_COMMENT = re.compile(rf"{_STRING}|(?P<blank>//[^\n]*|/\*.*?\*/|\t)", re.DOTALL)
_TRAILING_COMMA = re.compile(rf"{_STRING}|(?P<blank>,)(?=\s*[}}\]])")


@dataclass(frozen=True)
class Source:
    """The value of a file, as dicts, lists and scalars. A value given in Python has no text, and so no lines."""

    value: Any
    text: str | None = None
    """What PyYAML can compose: the YAML, or the JSON without comments."""

    def line(self, path: Sequence[str | int]) -> int | None:
        """Return the line of the key or item at a path, or of the closest one above it that exists."""
        line, node = None, self._root
        for part in path:
            found = _child(node, part)
            if found is None:
                break
            line, node = found[0].start_mark.line + 1, found[1]
        return line if line is not None or self._root is None else 1

    def written(self, path: Sequence[str | int]) -> str | None:
        """Return the scalar at a path as the file spells it, so that `1.10` stays `1.10`."""
        node = self._root
        for part in path:
            found = _child(node, part)
            node = None if found is None else found[1]
        return node.value if node is not None and isinstance(node.value, str) else None

    def duplicates(self) -> Iterator[tuple[str, int, int]]:
        """Yield each key that occurs twice in one mapping, with the lines of the first and the second."""
        pending, seen = [self._root], set()
        while pending:
            node = pending.pop()
            if node is None or isinstance(node.value, str) or id(node) in seen:
                continue
            seen.add(id(node))
            first_lines: dict[str, int] = {}
            for member in node.value:
                if not isinstance(member, tuple):
                    pending.append(member)
                    continue
                key, line = str(member[0].value), member[0].start_mark.line + 1
                if key in first_lines:
                    yield key, first_lines[key], line
                first_lines.setdefault(key, line)
                pending.append(member[1])

    @cached_property
    def _root(self) -> yaml.Node | None:
        # Composed only to report a problem or to spell a number: most files are fine, and PyYAML is slow.
        if self.text is None:
            return None
        from halflap.config.yaml_reader import compose  # noqa: PLC0415

        try:
            return compose(self.text)
        except SyntaxProblem:
            return None


def _child(node: yaml.Node | None, part: str | int) -> tuple[yaml.Node, yaml.Node] | None:
    """Return the node that has the line, and the node of the value."""
    if node is None or isinstance(node.value, str):
        return None
    if isinstance(part, int):
        item = node.value[part] if part < len(node.value) else None
        return None if item is None or isinstance(item, tuple) else (item, item)
    pairs = [pair for pair in node.value if isinstance(pair, tuple) and pair[0].value == part]
    return pairs[-1] if pairs else None


def read_bytes(path: Path, problems: Problems, *, regular: bool = False) -> bytes | None:
    """Read a file, or add the reason why it can't be read. `regular` refuses pipes and devices without waiting."""
    try:
        # Without O_NONBLOCK, opening a named pipe waits for somebody to write to it.
        flags = os.O_RDONLY | getattr(os, "O_CLOEXEC", 0) | (getattr(os, "O_NONBLOCK", 0) if regular else 0)
        with os.fdopen(os.open(path, flags), "rb") as file:
            mode = os.fstat(file.fileno()).st_mode
            if stat.S_ISDIR(mode) or (regular and not stat.S_ISREG(mode)):
                problems.add(None, "This is not a file.", "Name a file.", code="config-unreadable")
                return None
            data = file.read(MAX_FILE_BYTES + 1)
    except FileNotFoundError:
        problems.add(None, "There is no such file.", "Check its path.", code="config-not-found")
        return None
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else "invalid file name"
        problems.add(
            None,
            f"The file can't be read: {reason}.",
            "Name one that you may read.",
            code="config-unreadable",
        )
        return None
    if len(data) > MAX_FILE_BYTES:
        problems.add(None, "The file is larger than 1 MiB.", "Check its path.", code="config-too-large")
        return None
    return data


def parse(data: bytes, path: Path, problems: Problems) -> Source | None:
    """Parse a file whose top level is a mapping, or add the reason why that fails."""
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        problems.add(line, "The file is not UTF-8.", "Save it as UTF-8.", code="config-not-utf8")
        return None
    try:
        if path.suffix.lower() in {".json", ".jsonc"} or text.lstrip().startswith(("{", "[")):
            value, text, repeated = parse_json(text)
        else:
            from halflap.config.yaml_reader import compose, value_of  # noqa: PLC0415 -- most files are JSON

            value, repeated = value_of(compose(text)), True
        source = Source(_bounded(value), text)
    except SyntaxProblem as problem:
        problems.add(problem.line, problem.message, problem.suggestion, code=problem.code)
        return None
    if not isinstance(source.value, Mapping):
        problems.add(
            source.line(()) or 1, "The file must be a mapping.", "Start with a key such as `mcpServers`."
        )
        return None
    for key, first, line in source.duplicates() if repeated else ():
        problems.add(
            line,
            f"The key `{show(key)}` occurs twice; the first is on line {first}.",
            "Keep one of them.",
            code="config-duplicate-key",
        )
    return source


def source_of(value: Any, problems: Problems) -> Source:
    """Take a Python value as if a file said it; what no file could say is a problem."""
    try:
        return Source(_bounded(value))
    except SyntaxProblem as problem:
        problems.add(None, problem.message, problem.suggestion, code=problem.code)
        return Source({})


def parse_json(text: str) -> tuple[Any, str, bool]:
    """Parse JSON that may have comments and trailing commas.

    Returns the value, the text with those replaced by blanks of the same length, and whether a key occurs twice.
    """
    text = _TRAILING_COMMA.sub(_blank, _COMMENT.sub(_blank, text))
    repeated = False

    def members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        nonlocal repeated
        found = dict(pairs)
        repeated |= len(found) < len(pairs)
        return found

    try:
        value = (
            json.loads(text, object_pairs_hook=members, parse_constant=_no_constant) if text.strip() else {}
        )
    except json.JSONDecodeError as error:
        # A missing comma belongs to the line that lacks it, not to the next token.
        at_end = not text[error.pos :].strip()
        at = (
            error.pos
            if at_end
            else len(text[: error.pos].rstrip())
            if "delimiter" in error.msg
            else error.pos
        )
        line = text.count("\n", 0, at) + 1
        column = at - (text.rfind("\n", 0, at) + 1) + 1
        raise SyntaxProblem(line, f"This is not JSON: {error.msg} (column {column}).") from error
    except RecursionError as error:
        raise _too_deep() from error
    except ValueError as error:
        raise SyntaxProblem(None, "A number has too many digits.") from error
    return value, text, repeated


def _blank(match: re.Match[str]) -> str:
    return match[0] if match["blank"] is None else re.sub(r"[^\n]", " ", match[0])


def _no_constant(word: str) -> Any:
    raise SyntaxProblem(None, f"`{word}` is not JSON.", "Write a number, or leave the key out.")


def _too_deep() -> SyntaxProblem:
    return SyntaxProblem(
        None, f"Lists and mappings are nested more than {MAX_DEPTH} deep.", code="config-too-large"
    )


def _bounded(value: Any, depth: int = 1, count: list[int] | None = None) -> Any:
    """Copy a value made of what JSON has, and refuse one that is too deep or too large."""
    count = [0] if count is None else count
    count[0] += 1
    if depth > MAX_DEPTH:
        raise _too_deep()
    if count[0] > _MAX_VALUES:
        raise SyntaxProblem(None, f"There are more than {_MAX_VALUES:,} values.", code="config-too-large")
    if isinstance(value, Mapping):
        if odd := next((key for key in value if not isinstance(key, str)), None):
            raise SyntaxProblem(None, f"A key must be a string, not {type(odd).__name__}.")
        return {key: _bounded(member, depth + 1, count) for key, member in value.items()}
    if isinstance(value, list | tuple):
        return [_bounded(item, depth + 1, count) for item in value]
    if isinstance(value, Path):
        return str(value)
    if value is None or isinstance(value, str | bool | int | float):
        return value
    raise SyntaxProblem(None, f"A configuration can't hold a value of type {type(value).__name__}.")
