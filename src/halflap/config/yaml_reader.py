"""Read YAML with the scalar rules of YAML 1.2, so that `off` is a word and `010` is not octal."""

from __future__ import annotations

import re
from typing import Any

import yaml

from halflap.config.problems import MAX_DEPTH, SyntaxProblem

__all__ = ["Loader", "compose", "value_of"]

_TAG = "tag:yaml.org,2002:"
_NULL = re.compile(r"(?:~|null|Null|NULL|)\Z")
_BOOL = re.compile(r"(?:true|True|TRUE|false|False|FALSE)\Z")
_INT = re.compile(r"[-+]?[0-9]+\Z")
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?\Z")
_QUOTED = re.compile(r"'([^']*)'|\"[^\"]*\"")
_HINT = "Indent with spaces, and quote a value that contains `: ` or starts with a special character."


class Loader(yaml.SafeLoader):
    """Composes nodes, and stops at once where they are nested too deeply."""

    yaml_implicit_resolvers = {}  # noqa: RUF012 -- PyYAML's own attribute
    depth = 0

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        self.depth += 1
        if self.depth > MAX_DEPTH + 1:
            raise SyntaxProblem(self.line + 1, "The nesting is too deep.", code="config-too-large")
        node = super().compose_node(parent, index)
        self.depth -= 1
        return node


Loader.add_implicit_resolver(f"{_TAG}null", _NULL, ["~", "n", "N", ""])
Loader.add_implicit_resolver(f"{_TAG}bool", _BOOL, list("tTfF"))
Loader.add_implicit_resolver(f"{_TAG}int", _INT, list("-+0123456789"))
Loader.add_implicit_resolver(f"{_TAG}float", _FLOAT, list("-+.0123456789"))


def compose(text: str) -> yaml.Node | None:
    try:
        return yaml.compose(text, Loader=Loader)
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        raise SyntaxProblem(line, "A control character is not allowed in YAML.", "Remove it.") from error
    except yaml.MarkedYAMLError as error:
        raise _explain(error) from error
    except (ValueError, OverflowError) as error:
        raise SyntaxProblem(None, r"An escape such as `\U00110000` is not a character.") from error


def value_of(node: yaml.Node | None) -> Any:
    """Return the value of a node, {} if there is none. An alias is the same object as what it refers to."""
    return {} if node is None else _value(node, {})


def _explain(error: yaml.MarkedYAMLError) -> SyntaxProblem:
    marks = [error.problem_mark, error.context_mark]
    if "end of stream" in str(error.problem):
        # What is never closed is reported where it was opened.
        marks.reverse()
    mark = next((mark for mark in marks if mark is not None), None)
    said = ": ".join(part for part in (error.context, error.problem) if part)
    column = f" (column {mark.column + 1})" if mark else ""
    return SyntaxProblem(
        mark.line + 1 if mark else None, f"This is not YAML: {_QUOTED.sub(_veil, said)}{column}.", _HINT
    )


def _veil(quoted: re.Match[str]) -> str:
    """Keep single characters and names of tokens; anything longer comes from the file and may be a secret."""
    inner = quoted[1] or ""
    return quoted[0] if len(inner.removeprefix("\\")) == 1 or re.fullmatch("<.*>", inner) else "'…'"


def _value(node: yaml.Node, known: dict[int, Any]) -> Any:
    if id(node) in known:
        return known[id(node)]
    line, kind = node.start_mark.line + 1, node.tag.removeprefix(_TAG)
    if isinstance(node, yaml.ScalarNode):
        return _scalar(str(node.value), kind, line)
    if isinstance(node, yaml.SequenceNode) and kind == "seq":
        items: list[Any] = []
        known[id(node)] = items
        items.extend(_value(item, known) for item in node.value)
        return items
    if isinstance(node, yaml.MappingNode) and kind == "map":
        members: dict[str, Any] = {}
        known[id(node)] = members
        for key, member in node.value:
            if not isinstance(key, yaml.ScalarNode) or key.tag == f"{_TAG}null":
                raise SyntaxProblem(key.start_mark.line + 1, "A key must be a string.", "Quote it.")
            members[str(key.value)] = _value(member, known)
        return members
    raise _unknown_tag(line)


def _scalar(text: str, kind: str, line: int) -> Any:
    try:
        if kind == "str":
            return text
        if kind == "null" and _NULL.match(text):
            return None
        if kind == "bool" and _BOOL.match(text):
            return text.lower() == "true"
        if kind == "int" and _INT.match(text):
            return int(text)
        if kind == "float" and _FLOAT.match(text):
            return float(text)
    except ValueError as error:
        raise SyntaxProblem(line, "A number has too many digits.", "Quote it if it is text.") from error
    raise _unknown_tag(line)


def _unknown_tag(line: int) -> SyntaxProblem:
    return SyntaxProblem(line, "A tag (`!…`) has no meaning here.", "Quote a value that starts with `!`.")
