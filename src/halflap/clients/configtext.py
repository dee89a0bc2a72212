"""Halflap's own configuration, added to as text: nothing that stands there is written anew."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import yaml

from halflap.clients import jsontext
from halflap.config.problems import Problems
from halflap.config.source_lines import parse
from halflap.core.errors import ClientFileError, ConfigError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

__all__ = ["Addition", "Additions", "added", "yaml_text"]

_HEAD = """\
# Halflap's configuration. It is yours to edit: `halflap init` only ever adds servers to it.
# Every setting is in docs/configuration.md of Halflap; `halflap doctor` says how the servers are.
"""
_PLAIN = re.compile(r"[A-Za-z_/][A-Za-z0-9_./@+-]*\Z")
_WORDS = frozenset(["true", "false", "null", "yes", "no", "on", "off", "y", "n"])
_COMMA = re.compile(r"(?:\s|(?<=\s)#[^\n]*)*,")
_WIDEST = 100
_ESCAPES = {"\n": "\\n", "\t": "\\t", "\r": "\\r"}


@dataclass(frozen=True, slots=True)
class Addition:
    """A server to be added, with what is to be read beside it."""

    name: str
    entry: Mapping[str, Any]
    comments: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Additions:
    """What is to be added to a configuration."""

    servers: tuple[Addition, ...] = ()
    families: tuple[str, ...] | None = None
    blocked: tuple[str, ...] = ()

    def wanted(self, before: Mapping[str, Any]) -> dict[str, Any]:
        """Give what the configuration says afterwards."""
        after = dict(before)
        if self.families is not None:
            after["server"] = {"families": list(self.families)}
        if self.blocked:
            after["tools"] = {"block": list(self.blocked)}
        if self.servers:
            after["mcpServers"] = {
                **(before.get("mcpServers") or {}),
                **{one.name: dict(one.entry) for one in self.servers},
            }
        return after


def added(path: Path, text: str | None, additions: Additions) -> str:
    """Give the configuration with the additions; None stands for no file. Refuse where text cannot do it."""
    if text is None and path.suffix.lower() not in {".json", ".jsonc"}:
        after = _HEAD + "\n" + _sections(additions, "", "\n")
        before: Mapping[str, Any] = {}
    else:
        text = text or ""
        before = _read(path, text)
        is_json = path.suffix.lower() in {".json", ".jsonc"} or text.lstrip("\ufeff \t\r\n").startswith("{")
        try:
            after = (_added_to_json if is_json else _added_to_yaml)(text, additions)
        except ClientFileError:
            after = ""
    try:
        fits = _read(path, after) == additions.wanted(before)
    except ConfigError:
        fits = False
    if not fits:
        raise ClientFileError(
            f"{path}: its form does not allow to add to it without writing it anew. Nothing was written. "
            f"Add this yourself:\n\n{_sections(additions, '', chr(10))}"
        )
    return after


def _read(path: Path, text: str) -> Mapping[str, Any]:
    problems = Problems(path)
    source = parse(text.encode(), path, problems)
    if source is None or problems.found:
        raise ConfigError(problems.found)
    value: Mapping[str, Any] = source.value
    return value


def _added_to_json(text: str, additions: Additions) -> str:
    for key, value in additions.wanted({}).items():
        if key == "mcpServers":
            for one in additions.servers:
                text = jsontext.insert(text, [key], one.name, dict(one.entry))
        else:
            text = jsontext.insert(text, [], key, value)
    return text


def _added_to_yaml(text: str, additions: Additions) -> str:
    newline = "\r\n" if "\r\n" in text else "\n"
    bom = "\ufeff" if text.startswith("\ufeff") else ""
    body = text.removeprefix(bom)
    root = yaml.compose(body, Loader=yaml.SafeLoader)
    servers, column = None, 0
    if isinstance(root, yaml.MappingNode) and root.value:
        column = root.value[0][0].start_mark.column
        servers = next((pair for pair in root.value if pair[0].value == "mcpServers"), None)
    sections = additions
    if servers is not None and additions.servers:
        body = _into_servers(body, servers, additions.servers, column, newline)
        sections = Additions((), additions.families, additions.blocked)
    more = _sections(sections, " " * column, newline)
    if more:
        apart = newline if body.strip() else ""
        body = _ended(body, newline) + apart + more
    return bom + body


def _into_servers(
    text: str, pair: tuple[yaml.Node, yaml.Node], servers: Sequence[Addition], column: int, newline: str
) -> str:
    key, value = pair
    is_empty = isinstance(value, yaml.ScalarNode) or not value.value
    if isinstance(value, yaml.MappingNode) and value.flow_style and not is_empty:
        at = value.value[-1][1].end_mark.index
        inner = ", ".join(f"{_scalar(one.name)}: {_flow(one.entry)}" for one in servers)
        comma = _COMMA.match(text, at)
        at = at if comma is None else comma.end()
        return text[:at] + ("," if comma is None else "") + " " + inner + text[at:]
    if is_empty:
        # `mcpServers:`, `mcpServers: null` or `mcpServers: {}`: what follows takes the place of nothing.
        start, end = value.start_mark.index, value.end_mark.index
        if end > start:
            kept = text[:start].rstrip(" ")
            text = kept + text[end:]
            start = len(kept)
        at, indent = max(start, key.end_mark.index), " " * (column + 2)
    else:
        at, indent = max(_last_leaf(value), key.end_mark.index), " " * value.value[0][0].start_mark.column
    line_end = text.find("\n", at) if at == 0 or text[at - 1] != "\n" else at - 1
    at = len(text) if line_end < 0 else line_end + 1
    # What is commented out below the last server is a part of it.
    behind = re.compile(rf"(?:[ \t\r]*\n)*[ ]{{{len(indent)},}}#[^\n]*(?:\n|\Z)")
    while (comment := behind.match(text, at)) is not None:
        at = comment.end()
    head = _ended(text[:at], newline)
    return head + "".join(_entry(one, indent, newline) for one in servers) + text[at:]


def _last_leaf(node: yaml.Node) -> int:
    """Find the end of what a value says; that of a block comes after the comments and lines behind it."""
    if isinstance(node, yaml.CollectionNode) and not node.flow_style and node.value:
        last = node.value[-1]
        if isinstance(last, tuple):
            return max(int(last[0].end_mark.index), _last_leaf(last[1]))
        return _last_leaf(last)
    end: int = node.end_mark.index
    return end


def _ended(text: str, newline: str) -> str:
    return text if not text or text.endswith("\n") else text + newline


def _sections(additions: Additions, indent: str, newline: str) -> str:
    parts = []
    if additions.families is not None:
        parts.append(
            f"{indent}server:{newline}{indent}  families: {_flow(list(additions.families))}{newline}"
        )
    if additions.blocked:
        lines = [f"{indent}    - {_scalar(name)}{newline}" for name in additions.blocked]
        parts.append(f"{indent}tools:{newline}{indent}  block:{newline}" + "".join(lines))
    if additions.servers:
        body = "".join(_entry(one, f"{indent}  ", newline) for one in additions.servers)
        parts.append(f"{indent}mcpServers:{newline}{body}")
    return newline.join(parts)


def _entry(one: Addition, indent: str, newline: str) -> str:
    lines = [f"{indent}# {_comment(comment)}" for comment in one.comments]
    lines.append(f"{indent}{_scalar(one.name)}:")
    for key, value in one.entry.items():
        lines += yaml_text(key, value, f"{indent}  ")
    return newline.join(lines) + newline


def _comment(text: str) -> str:
    return "".join(letter if letter.isprintable() else "?" for letter in " ".join(text.split()))


def yaml_text(key: str, value: Any, indent: str) -> list[str]:
    """Write one key of a server as lines."""
    if isinstance(value, Mapping):
        return [
            f"{indent}{_scalar(key)}:",
            *(f"{indent}  {_scalar(name)}: {_flow(member)}" for name, member in value.items()),
        ]
    line = f"{indent}{_scalar(key)}: {_flow(value)}"
    if isinstance(value, list) and len(line) > _WIDEST:
        return [f"{indent}{_scalar(key)}:", *(f"{indent}  - {_flow(item)}" for item in value)]
    return [line]


def _flow(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list):
        return f"[{', '.join(map(_flow, value))}]"
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{_scalar(key)}: {_flow(member)}" for key, member in value.items()) + "}"
    return _scalar(str(value))


def _scalar(text: str) -> str:
    """Write a text plainly where no reader of YAML, old or new, takes it for something else; else in quotes."""
    if _PLAIN.match(text) and text.lower() not in _WORDS:
        return text
    return '"' + "".join(map(_letter, text)) + '"'


def _letter(letter: str) -> str:
    if letter in '"\\':
        return f"\\{letter}"
    if letter in _ESCAPES:
        return _ESCAPES[letter]
    # By code, not as a pair of surrogates: those YAML does not put together.
    return letter if letter.isprintable() else f"\\U{ord(letter):08x}"
