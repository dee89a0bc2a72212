"""Read YAML with the scalar rules of YAML 1.2, so that `off` is a word and `010` is not octal."""

from __future__ import annotations

import re
from typing import Any

import yaml

from halflap.config.problems import SyntaxProblem

_TAG = "tag:yaml.org,2002:"
_SCALARS = {
    "null": (r"(?:~|null|Null|NULL|)\Z", ["~", "n", "N", ""]),
    "bool": (r"(?:true|True|TRUE|false|False|FALSE)\Z", list("tTfF")),
    "int": (r"-?(?:0|[1-9][0-9]*)\Z", list("-0123456789")),
    "float": (r"[-+]?(?:[0-9]*\.[0-9]+|[0-9]+\.?(?=[eE]))(?:[eE][-+]?[0-9]+)?\Z", list("-+.0123456789")),
}
_HINT = "Indent with spaces, and quote a value that contains `: ` or starts with a special character."


class Loader(yaml.SafeLoader):
    """Takes every key as text, and notes keys that occur twice."""

    yaml_implicit_resolvers = {}  # noqa: RUF012 -- PyYAML's own attribute

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.repeated: list[tuple[str, int, int]] = []
        """Keys with the lines of their first and second occurrence in one mapping."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        lines: dict[str, int] = {}
        for key, _ in node.value:
            line = key.start_mark.line + 1
            if not isinstance(key, yaml.ScalarNode):
                raise SyntaxProblem(line, "A key must be a string.", "Quote it.")
            key.tag = f"{_TAG}str"
            if key.value in lines:
                self.repeated.append((key.value, lines[key.value], line))
            lines.setdefault(key.value, line)
        return super().construct_mapping(node, deep)


for _name, (_pattern, _first) in _SCALARS.items():
    Loader.add_implicit_resolver(f"{_TAG}{_name}", re.compile(_pattern), _first)
Loader.add_constructor(f"{_TAG}int", lambda _, node: int(node.value))


def read_yaml(text: str) -> tuple[Any, yaml.Node | None, list[tuple[str, int, int]]]:
    """Return the value ({} for an empty file), its nodes and the keys that occur twice."""
    try:
        loader = Loader(text)
        node = loader.get_single_node()
        value = {} if node is None else loader.construct_document(node)
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        raise SyntaxProblem(line, "A control character is not allowed in YAML.", "Remove it.") from error
    except yaml.MarkedYAMLError as error:
        raise _explain(error) from error
    except RecursionError as error:
        raise SyntaxProblem(None, "The nesting is too deep.", code="config-too-large") from error
    except (ValueError, OverflowError) as error:
        raise SyntaxProblem(None, "A number is too long, or an escape is not a character.") from error
    return value, node, loader.repeated


def _explain(error: yaml.MarkedYAMLError) -> SyntaxProblem:
    marks = [error.problem_mark, error.context_mark]
    if "end of stream" in str(error.problem):
        # What is never closed is reported where it was opened.
        marks.reverse()
    mark = next((mark for mark in marks if mark is not None), None)
    said = ": ".join(part for part in (error.context, error.problem) if part)
    # Quoted characters and token names stay; anything else in quotes comes from the file and may be a secret.
    said = re.sub(r"'(?!<)[^']{3,}'|\"[^\"]{3,}\"", "'…'", said)
    column = f" (column {mark.column + 1})" if mark else ""
    return SyntaxProblem(mark.line + 1 if mark else None, f"This is not YAML: {said}{column}.", _HINT)
