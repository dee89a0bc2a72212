"""Reads YAML by the scalar rules of YAML 1.2, so that `off` is a word and `010` no octal number."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import yaml

from halflap.config.nodes import DEEPEST, MOST_NODES, Node, broken_text, shown

if TYPE_CHECKING:
    from halflap.config.nodes import Problems
    from halflap.core.codes import ConfigCode

__all__ = ["read_yaml"]

_TAG = "tag:yaml.org,2002:"
_NULL = re.compile(r"(?:~|null|Null|NULL|)\Z")
_BOOL = re.compile(r"(?:true|True|TRUE|false|False|FALSE)\Z")
_INT = re.compile(r"[-+]?[0-9]+\Z")
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?\Z")
_QUOTED = re.compile(r"'([^']*)'|\"[^\"]*\"")
_LONGEST_NUMBER = 400

_KNOWN_MISTAKES = (
    ("undefined alias", "an alias (`*…`) names no anchor", "Quote a value that starts with `*`."),
    ("duplicate anchor", "an anchor (`&…`) occurs twice", "Quote a value that starts with `&`."),
    ("tag handle", "a tag (`!…`) is not known", "Quote a value that starts with `!`."),
    ("'\\t'", "a tab is not allowed here", "Indent with spaces."),
    ("cannot start any token", "a value cannot start with this character", "Quote the value."),
    ("mapping values are not allowed", "a `: ` is not allowed here", "Quote a value that has `: ` in it."),
    ("another document", "the file has more than one document", "Keep what comes before the second `---`."),
)
"""What PyYAML says, what we say instead, and what to do."""


_TOO_DEEP: tuple[str, None, ConfigCode] = (
    f"lists and mappings are nested more than {DEEPEST} deep.",
    None,
    "config-too-large",
)


class _Stop(Exception):  # noqa: N818 - never leaves this module
    def __init__(
        self, line: int, message: str, suggestion: str | None = None, code: ConfigCode = "config-syntax"
    ) -> None:
        super().__init__(message)
        self.code = code
        self.line = line
        self.message = message
        self.suggestion = suggestion


class _Loader(yaml.SafeLoader):
    """Composes nodes and constructs nothing; stops at once when the nesting is too deep."""

    yaml_implicit_resolvers = {}  # noqa: RUF012 - the name and form are PyYAML's
    depth = 0

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        self.depth += 1
        if self.depth > DEEPEST + 1:
            raise _Stop(self.line + 1, *_TOO_DEEP)
        node = super().compose_node(parent, index)
        self.depth -= 1
        return node


_Loader.add_implicit_resolver(f"{_TAG}null", _NULL, ["~", "n", "N", ""])
_Loader.add_implicit_resolver(f"{_TAG}bool", _BOOL, list("tTfF"))
_Loader.add_implicit_resolver(f"{_TAG}int", _INT, list("-+0123456789"))
_Loader.add_implicit_resolver(f"{_TAG}float", _FLOAT, list("-+.0123456789"))


def read_yaml(text: str, problems: Problems) -> Node | None:
    """Give the file's value, or None when it cannot be read; the problems say why."""
    try:
        root = yaml.compose(text, Loader=_Loader)
        return Node({}, 1) if root is None else _Converter(problems).convert(root, None, 1)
    except _Stop as stop:
        problems.add(stop.line, stop.message, stop.suggestion, code=stop.code)
    except yaml.reader.ReaderError as error:
        problems.add(
            text.count("\n", 0, error.position) + 1,
            "a control character is not allowed in YAML.",
            "Take it out, or write it as an escape within double quotes.",
            code="config-syntax",
        )
    except yaml.MarkedYAMLError as error:
        marks = (error.problem_mark, error.context_mark)
        # What is never closed is reported where it was opened, not at the end of the file.
        mark = next(
            (mark for mark in (marks[::-1] if "end of stream" in str(error.problem) else marks) if mark), None
        )
        problems.add(mark.line + 1 if mark else None, *_explained(error, mark), code="config-syntax")
    except (ValueError, OverflowError):
        found = re.search(r"\\U(?!000|0010)", text)
        line = None if found is None else text.count("\n", 0, found.start()) + 1
        problems.add(line, r"an escape such as `\U00110000` names no character.", code="config-syntax")
    return None


def _explained(error: yaml.MarkedYAMLError, mark: yaml.Mark | None) -> tuple[str, str | None]:
    """Say what PyYAML says, less the piece of the file that it quotes: that may be a secret."""
    parts = [part for part in (error.context, error.problem) if part]
    said = ": ".join(parts) or "this is not YAML"
    message, suggestion = next(
        (known[1:] for known in _KNOWN_MISTAKES if known[0] in said), (_QUOTED.sub(_veiled, said), None)
    )
    return (f"{message} (column {mark.column + 1})." if mark else f"{message}."), suggestion


def _veiled(quoted: re.Match[str]) -> str:
    """Keep a single character and the name of a token; anything longer comes from the file."""
    inner = quoted[1] or ""
    return quoted[0] if len(inner) == 1 or (inner.startswith("<") and inner.endswith(">")) else "'…'"


class _Converter:
    def __init__(self, problems: Problems) -> None:
        self.problems = problems
        self.nodes = 0

    def convert(self, node: yaml.Node, line: int | None, depth: int) -> Node:
        own_line = node.start_mark.line + 1
        self.nodes += 1
        if self.nodes > MOST_NODES:
            raise _Stop(
                own_line,
                f"the file has more than {MOST_NODES:,} values once its aliases are followed.",
                code="config-too-large",
            )
        if depth > DEEPEST + 1:
            raise _Stop(own_line, *_TOO_DEEP)
        at = own_line if line is None else line
        kind = node.tag.removeprefix(_TAG)
        if isinstance(node, yaml.ScalarNode):
            return self.scalar(node, kind, at)
        if isinstance(node, yaml.SequenceNode) and kind == "seq":
            return Node(tuple(self.convert(item, None, depth + 1) for item in node.value), at)
        if isinstance(node, yaml.MappingNode) and kind == "map":
            return self.mapping(node, at, depth)
        raise _unknown_tag(own_line)

    def mapping(self, node: yaml.MappingNode, line: int, depth: int) -> Node:
        members: dict[str, Node] = {}
        first_lines: dict[str, int] = {}
        again: dict[str, Node] = {}
        for key_node, value_node in node.value:
            key_line = key_node.start_mark.line + 1
            if not isinstance(key_node, yaml.ScalarNode) or key_node.tag == f"{_TAG}null":
                raise _Stop(
                    key_line, "a key must be a string.", "Quote a text that starts with `{`, `[` or `?`."
                )
            self.scalar(key_node, key_node.tag.removeprefix(_TAG), key_line)
            key = str(key_node.value)
            member = self.convert(value_node, key_line, depth + 1)
            if key in members:
                self.problems.add(
                    key_line,
                    f"the key `{shown(key)}` occurs twice; the first is on line {first_lines[key]}.",
                    "Keep one of them.",
                    code="config-duplicate-key",
                )
                again[key] = member
            else:
                members[key] = member
                first_lines[key] = key_line
        return Node(members, line, again=again)

    def scalar(self, node: yaml.ScalarNode, kind: str, line: int) -> Node:
        text = str(node.value)
        if broken_text(text):
            raise _Stop(line, "a string holds half a surrogate pair, which is no character.")
        if kind == "str":
            return Node(text, line)
        if kind == "null" and _NULL.match(text):
            return Node(None, line)
        if kind == "bool" and _BOOL.match(text):
            return Node(text.lower() == "true", line)
        if kind in {"int", "float"} and len(text) > _LONGEST_NUMBER:
            raise _Stop(line, "a number has too many digits.", "Quote it if it is a text.")
        if kind == "int" and _INT.match(text):
            return Node(int(text), line, text)
        if kind == "float" and _FLOAT.match(text):
            return Node(float(text), line, text)
        raise _unknown_tag(line)


def _unknown_tag(line: int) -> _Stop:
    return _Stop(line, "a tag (`!…`) has no meaning here.", "Quote a value that starts with `!`.")
