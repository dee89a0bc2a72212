"""Parse YAML and JSON files, and find the line of every value in them."""

from __future__ import annotations

import errno
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from halflap.config.problems import Problems, SyntaxProblem, show
from halflap.core.errors import ConfigError, ConfigProblem
from halflap.core.files import read_limited

if TYPE_CHECKING:
    import yaml

    from halflap.core.codes import ConfigCode

MAX_FILE_BYTES = 1024 * 1024
"""Files above this are refused: a larger one is not a configuration."""
_MAX_DEPTH = 100
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
        if self._root is None:
            return None
        line, node = 1, self._root
        for part in path:
            items = node.value if isinstance(node.value, list) else []
            if isinstance(part, int):
                found = [(item, item) for item in items[part : part + 1] if not isinstance(item, tuple)]
            else:
                found = [pair for pair in items if isinstance(pair, tuple) and pair[0].value == part]
            if not found:
                break
            line, node = found[-1][0].start_mark.line + 1, found[-1][1]
        return line

    @cached_property
    def _root(self) -> yaml.Node | None:
        # Only to report a problem: most files are fine, and PyYAML is slow.
        if self.text is None:
            return None
        from halflap.config.yaml_reader import read_yaml  # noqa: PLC0415

        try:
            return read_yaml(self.text)[1]
        except SyntaxProblem:
            return None


def read_bytes(path: Path, *, regular: bool = False) -> bytes:
    """Read a file; raise `ConfigError` if that fails. `regular` refuses pipes and devices."""
    try:
        return read_limited(path, MAX_FILE_BYTES, regular=regular)[0]
    except FileNotFoundError:
        problem = ConfigProblem(path, None, "There is no such file.", "Check its path.", "config-not-found")
    except OSError as error:
        code: ConfigCode = "config-too-large" if error.errno == errno.EFBIG else "config-unreadable"
        message = f"The file can't be read: {error.strerror}."
        problem = ConfigProblem(path, None, message, "Check its path.", code)
    raise ConfigError([problem])


def parse(data: bytes, path: Path, problems: Problems) -> Source:
    """Parse a file whose top level is a mapping; raise `ConfigError` if it is not one."""
    try:
        source, repeated = _parse(data, path)
    except SyntaxProblem as problem:
        problems.add(problem.line, problem.message, problem.suggestion, code=problem.code)
        raise ConfigError(problems.found) from None
    for key, first, line in repeated:
        problems.add(
            line,
            f"The key `{show(key)}` occurs twice; the first is on line {first}.",
            "Keep one of them.",
            code="config-duplicate-key",
        )
    return source


def _parse(data: bytes, path: Path) -> tuple[Source, list[tuple[str, int, int]]]:
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise SyntaxProblem(line, "The file is not UTF-8.", "Save it as UTF-8.", "config-not-utf8") from error
    value: Any = None
    has_repeated, repeated = True, list[tuple[str, int, int]]()
    if path.suffix.lower() in {".json", ".jsonc"} or text.lstrip().startswith(("{", "[")):
        value, text, has_repeated = parse_json(text)
    if has_repeated:
        from halflap.config.yaml_reader import read_yaml  # noqa: PLC0415 -- most files are JSON

        value, _, repeated = read_yaml(text)
    if not isinstance(value, Mapping):
        advice = "Start with a key such as `mcpServers`."
        raise SyntaxProblem(1, "The file must be a mapping.", advice, "config-wrong-value")
    return Source(_bounded(value), text), repeated


def source_of(value: Mapping[str, Any]) -> Source:
    """Take a Python value as if a file said it; raise `ConfigError` for what no file could say."""
    try:
        return Source(_bounded(value))
    except SyntaxProblem as problem:
        found = ConfigProblem(None, None, problem.message, problem.suggestion, problem.code)
        raise ConfigError([found]) from None


def parse_json(text: str) -> tuple[Any, str, bool]:
    """Parse JSON that may have comments and trailing commas.

    Returns the value, the text with those replaced by blanks of the same length, and whether a key occurs twice.
    """
    text = _TRAILING_COMMA.sub(_blank, _COMMENT.sub(_blank, text))
    has_repeated = False

    def members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        nonlocal has_repeated
        found = dict(pairs)
        has_repeated |= len(found) < len(pairs)
        return found

    def refuse(word: str) -> Any:
        raise SyntaxProblem(None, f"`{word}` is not JSON.", "Write a number, or leave the key out.")

    try:
        value = json.loads(text, object_pairs_hook=members, parse_constant=refuse) if text.strip() else {}
    except json.JSONDecodeError as error:
        # A missing comma belongs to the line that lacks it, not to the next token.
        is_missing = "delimiter" in error.msg and text[error.pos :].strip()
        at = len(text[: error.pos].rstrip()) if is_missing else error.pos
        line, column = text.count("\n", 0, at) + 1, at - text.rfind("\n", 0, at)
        raise SyntaxProblem(line, f"This is not JSON: {error.msg} (column {column}).") from error
    except RecursionError as error:
        raise _too_deep() from error
    except ValueError as error:
        raise SyntaxProblem(None, "A number has too many digits.") from error
    return value, text, has_repeated


def _blank(match: re.Match[str]) -> str:
    return match[0] if match["blank"] is None else re.sub(r"[^\n]", " ", match[0])


def _too_deep() -> SyntaxProblem:
    return SyntaxProblem(None, "The nesting is too deep.", code="config-too-large")


def _bounded(value: Any, depth: int = 1, count: list[int] | None = None) -> Any:
    """Copy a value made of what JSON has, and refuse one that is too deep or too large."""
    count = [0] if count is None else count
    count[0] += 1
    if depth > _MAX_DEPTH:
        raise _too_deep()
    if count[0] > _MAX_VALUES:
        raise SyntaxProblem(None, f"There are more than {_MAX_VALUES:,} values.", code="config-too-large")
    if isinstance(value, Mapping):
        if any(not isinstance(key, str) for key in value):
            raise SyntaxProblem(None, "A key must be a string.")
        return {key: _bounded(member, depth + 1, count) for key, member in value.items()}
    if isinstance(value, list | tuple):
        return [_bounded(item, depth + 1, count) for item in value]
    if isinstance(value, Path):
        return str(value)
    if value is None or isinstance(value, str | bool | int | float):
        return value
    raise SyntaxProblem(None, f"A configuration can't hold a value of type {type(value).__name__}.")
