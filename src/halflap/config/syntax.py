"""Parse YAML and JSON files, and find the line of every value."""

from __future__ import annotations

import errno
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from halflap.core.errors import ConfigError, ConfigProblem
from halflap.core.files import read_limited
from halflap.core.text import visible

if TYPE_CHECKING:
    import yaml

    from halflap.core.codes import ConfigCode

Location = tuple[str | int, ...]

_MAX_FILE_BYTES = 1024 * 1024
_MAX_SHOWN = 60
_STRING = r'"(?:[^"\\\n]|\\.)*"'
_COMMENT = re.compile(rf"{_STRING}|(?P<blank>//[^\n]*|/\*.*?\*/|\t)", re.DOTALL)
_TRAILING_COMMA = re.compile(rf"{_STRING}|(?P<blank>,)(?=\s*[}}\]])")
_TAG = "tag:yaml.org,2002:"
_SCALARS = {
    "null": (r"(?:~|null|)\Z", ["~", "n", ""]),
    "bool": (r"(?:true|false)\Z", ["t", "f"]),
    "int": (r"-?(?:0|[1-9][0-9]*)\Z", list("-0123456789")),
    "float": (r"-?[0-9]+(?:\.[0-9]+(?:[eE][-+]?[0-9]+)?|[eE][-+]?[0-9]+)\Z", list("-0123456789")),
}
"""As in JSON: `off`, `010` and `12:30` are strings."""


@dataclass(frozen=True)
class Source:
    """The value of a file; without a text there are no line numbers."""

    value: Mapping[str, Any]
    file: Path | None = None
    text: str | None = None
    """The YAML, or the JSON without comments."""

    def line(self, path: Sequence[str | int]) -> int | None:
        """Return the line of the key or item at a path, or of its nearest parent that exists."""
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
        # PyYAML is slow, so this is done only to report a problem.
        return None if self.text is None else _loader()(self.text).get_single_node()


def show(text: str) -> str:
    """Return a name that is safe to print."""
    return visible(text, _MAX_SHOWN)


def location(path: Sequence[str | int]) -> str:
    """Format a path of keys and positions, as `servers[0].args`."""
    text = ""
    for part in path:
        if part != "[key]":
            text += f"[{part}]" if isinstance(part, int) else f"{'.' if text else ''}{show(part)}"
    return text


def read_bytes(path: Path, *, regular: bool = False) -> bytes:
    """Read a file; raise `ConfigError` if that fails. `regular` refuses pipes and devices."""
    try:
        return read_limited(path, _MAX_FILE_BYTES, regular=regular)[0]
    except FileNotFoundError:
        raise _error(path, None, "There is no such file.", "Check its path.", "config-not-found") from None
    except OSError as error:
        code: ConfigCode = "config-too-large" if error.errno == errno.EFBIG else "config-unreadable"
        message = f"The file can't be read: {error.strerror}."
        raise _error(path, None, message, "Check its path.", code) from None


def parse(data: bytes, path: Path) -> Source:
    """Parse a file whose top level is a mapping, or raise `ConfigError`."""
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise _error(path, line, "The file is not UTF-8.", "Save it as UTF-8.", "config-not-utf8") from error
    if path.suffix.lower() in {".json", ".jsonc"} or text.lstrip().startswith(("{", "[")):
        text = without_comments(text)
        value = parse_json(text, path)
    else:
        value = parse_yaml(text, path)
    if not isinstance(value, Mapping):
        advice = "Start with a key such as `mcpServers`."
        raise _error(path, 1, "The file must be a mapping.", advice, "config-wrong-value")
    return Source(value, path, text)


def parse_json(text: str, path: Path | None = None) -> Any:
    """Parse JSON with comments and trailing commas; an empty text is an empty object."""
    text = without_comments(text)
    has_repeated_key = False

    def members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        nonlocal has_repeated_key
        has_repeated_key |= len(dict(pairs)) < len(pairs)
        return dict(pairs)

    try:
        value = json.loads(text, object_pairs_hook=members) if text.strip() else {}
    except json.JSONDecodeError as error:
        # Report a missing comma on the line that lacks it, not at the next token.
        is_missing = "delimiter" in error.msg and text[error.pos :].strip()
        line = text.count("\n", 0, len(text[: error.pos].rstrip()) if is_missing else error.pos) + 1
        raise _error(path, line, f"This is not JSON: {error.msg}.") from error
    except (ValueError, RecursionError) as error:
        raise _error(path, None, "A number is too long, or the nesting too deep.") from error
    # PyYAML reports the line of a repeated key.
    return parse_yaml(text, path) if has_repeated_key else value


def parse_yaml(text: str, path: Path | None = None) -> Any:
    """Parse YAML with unique string keys; an empty text is an empty mapping."""
    import yaml  # noqa: PLC0415 -- most files are JSON

    try:
        value = _loader()(text).get_single_data()
    except ConfigError as error:
        raise ConfigError([replace(problem, file=path) for problem in error.problems]) from None
    except yaml.MarkedYAMLError as error:
        raise _explained(error, path) from error
    except (yaml.YAMLError, ValueError, OverflowError, RecursionError) as error:
        message = (
            "This is not YAML: a character is not allowed, a number is too long, or the nesting too deep."
        )
        raise _error(path, None, message) from error
    return {} if value is None else value


@cache
def _loader() -> type[yaml.SafeLoader]:
    import yaml  # noqa: PLC0415 -- as above

    class Loader(yaml.SafeLoader):
        yaml_implicit_resolvers = {}  # noqa: RUF012 -- PyYAML's own attribute

        def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
            lines: dict[str, int] = {}
            for key, _ in node.value:
                line = key.start_mark.line + 1
                if not isinstance(key, yaml.ScalarNode):
                    raise yaml.constructor.ConstructorError(None, None, "a key must be text", key.start_mark)
                key.tag = f"{_TAG}str"
                if key.value in lines:
                    message = (
                        f"The key `{show(key.value)}` occurs twice; the first is on line {lines[key.value]}."
                    )
                    raise _error(None, line, message, "Keep one of them.", "config-duplicate-key")
                lines[key.value] = line
            return super().construct_mapping(node, deep)

    for name, (pattern, first) in _SCALARS.items():
        Loader.add_implicit_resolver(f"{_TAG}{name}", re.compile(pattern), first)
    return Loader


def _explained(error: yaml.MarkedYAMLError, path: Path | None) -> ConfigError:
    marks = [error.problem_mark, error.context_mark]
    if "end of stream" in str(error.problem):
        # Report an unclosed bracket or quote where it was opened.
        marks.reverse()
    mark = next((mark for mark in marks if mark is not None), None)
    words = ": ".join(part for part in (error.context, error.problem) if part)
    # Anything long in quotes comes from the file and may be a secret.
    words = re.sub(r"'(.)'", r"`\1`", words)
    words = re.sub(r"'(?!<)[^']{3,}'|\"[^\"]{3,}\"", "'…'", words)
    advice = "Indent with spaces, and quote a value that contains `: ` or starts with a special character."
    return _error(path, mark.line + 1 if mark else None, f"This is not YAML: {words}.", advice)


def without_comments(text: str) -> str:
    """Replace comments, tabs and trailing commas by blanks, so that line numbers stay."""
    return _TRAILING_COMMA.sub(_blank, _COMMENT.sub(_blank, text))


def _blank(match: re.Match[str]) -> str:
    return match[0] if match["blank"] is None else re.sub(r"[^\n]", " ", match[0])


def _error(
    path: Path | None,
    line: int | None,
    message: str,
    suggestion: str | None = None,
    code: ConfigCode = "config-syntax",
) -> ConfigError:
    return ConfigError([ConfigProblem(path, line, message, suggestion, code)])
