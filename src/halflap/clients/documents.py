"""Change one value in a JSON, TOML or YAML file and keep the rest.

JSON is rewritten with its indentation; JSON with comments is not changed. TOML is edited with tomlkit. In YAML, lines are
replaced at the positions that PyYAML reports, because libraries that rewrite YAML lose the comment above the next entry
when one is removed. Every edit is verified by parsing the new text.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from halflap.config.syntax import parse_json, parse_yaml
from halflap.core.errors import ClientFileError, ConfigError, ConfigProblem

Keys = Sequence[str]
_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class CannotEditError(ClientFileError):
    """A file can't be changed without losing comments or layout."""

    def __init__(self, path: Path, addition: Mapping[str, Any] | None = None) -> None:
        todo = "Change it by hand."
        if addition is not None:
            todo = f"Add this by hand:\n\n{snippet(path, addition)}"
        super().__init__(
            f"{path} can't be changed without losing comments or layout. Nothing was written. {todo}"
        )


class Document:
    """The text and value of a file; raises `ClientFileError` if the file is broken."""

    def __init__(self, path: Path, text: str) -> None:
        self.path = path
        self._bom = "\ufeff" if text.startswith("\ufeff") else ""
        self._crlf = "\r\n" in text
        self._body = text.removeprefix(self._bom).replace("\r\n", "\n")
        suffix = path.suffix.lower()
        is_yaml = suffix in {".yaml", ".yml"} and not self._body.lstrip().startswith("{")
        self._parse, self._edit = (
            (_parse_toml, _edit_toml)
            if suffix == ".toml"
            else (parse_yaml, _edit_yaml)
            if is_yaml
            else (parse_json, _edit_json)
        )
        try:
            self.value = self._parse(self._body)
        except ConfigError as error:
            problem = error.problems[0]
            where = f"{path}:{problem.line}" if problem.line else str(path)
            raise ClientFileError(f"{where}: {problem.message}") from None
        if not isinstance(self.value, dict):
            raise ClientFileError(f"{path}: the file must contain a mapping.")

    @property
    def text(self) -> str:
        return self._bom + (self._body.replace("\n", "\r\n") if self._crlf else self._body)

    def at(self, keys: Keys) -> Any:
        """Return the value at a path, or None."""
        found: Any = self.value
        for key in keys:
            found = found.get(key) if isinstance(found, Mapping) else None
        return found

    def put(self, keys: Keys, value: Any, comments: Sequence[str] = ()) -> None:
        """Set the value at a path. In YAML, comments are written above it."""
        try:
            self._change(keys, _with_value(self.value, keys, value), comments)
        except CannotEditError:
            raise CannotEditError(self.path, _with_value(None, keys, value)) from None

    def remove(self, keys: Keys) -> None:
        """Remove the value at a path."""
        wanted, parent = _without(self.value, keys), keys[:-1]
        if not parent or len(self.at(parent)) > 1:
            self._change(keys, wanted)
        else:
            # An empty mapping becomes null in YAML, and disappears in TOML.
            self._change(keys, wanted, (), _with_value(wanted, parent, None), _without(wanted, parent))

    def _change(
        self, keys: Keys, wanted: dict[str, Any], comments: Sequence[str] = (), *equivalents: dict[str, Any]
    ) -> None:
        try:
            body = self._edit(self._body, keys, wanted, comments)
            body.encode()
            value = self._parse(body)
        except (ConfigError, yaml.YAMLError, LookupError, ValueError):
            # Any failure means that the file can't be edited.
            raise CannotEditError(self.path) from None
        if value not in (wanted, *equivalents):
            raise CannotEditError(self.path)
        self._body, self.value = body, value


def _with_value(root: Any, keys: Keys, value: Any) -> Any:
    """Return a copy with another value at a path; create missing mappings."""
    if not keys:
        return value
    root = root or {}
    return {**root, keys[0]: _with_value(root.get(keys[0]), keys[1:], value)}


def _without(root: Mapping[str, Any], keys: Keys) -> dict[str, Any]:
    """Return a copy without the value at a path."""
    inner = {key: value for key, value in root.items() if key != keys[0]}
    return inner if len(keys) == 1 else {**root, keys[0]: _without(root[keys[0]], keys[1:])}


def _edit_json(text: str, keys: Keys, wanted: Mapping[str, Any], comments: Sequence[str]) -> str:
    del keys, comments
    if text.strip():
        json.loads(text)  # Raises if there are comments.
    unit = re.search(r"\n([ \t]+)\S", text)
    indent = unit[1] if unit else None if len(text) > len("{}\n") else 2
    written = json.dumps(wanted, indent=indent, ensure_ascii=text.isascii())
    return written + ("\n" if text.endswith("\n") or not text else "")


def _parse_toml(text: str) -> Any:
    import tomlkit  # noqa: PLC0415 -- few clients use TOML
    from tomlkit.exceptions import ParseError  # noqa: PLC0415

    try:
        return tomlkit.parse(text).unwrap()
    except ParseError as error:
        raise ConfigError([ConfigProblem(None, error.line, f"This is not TOML: {error}.")]) from error


def _edit_toml(text: str, keys: Keys, wanted: Mapping[str, Any], comments: Sequence[str]) -> str:
    import tomlkit  # noqa: PLC0415 -- as above
    from tomlkit.items import Table  # noqa: PLC0415

    del comments
    holder: Any = (document := tomlkit.parse(text))
    for key in keys[:-1]:
        holder, wanted = holder.setdefault(key, tomlkit.table(is_super_table=True)), wanted[key]
    if keys[-1] in wanted:
        value = tomlkit.item(wanted[keys[-1]])
        if isinstance(value, Table):
            value.add(tomlkit.nl())  # Otherwise the next table follows without a blank line.
        holder[keys[-1]] = value
    else:
        del holder[keys[-1]]
    return f"{document.as_string().rstrip()}\n"


def _edit_yaml(text: str, keys: Keys, wanted: Mapping[str, Any], comments: Sequence[str]) -> str:
    """Replace, add or remove the lines of one member of the deepest block mapping on a path."""
    node = yaml.compose(text, Loader=_LOADER)
    holder: yaml.Node | None = None
    depth = 0
    for at, key in enumerate(keys):
        if not isinstance(node, yaml.MappingNode) or node.flow_style or not node.value:
            break
        holder, depth = node, at
        node = next((value for name, value in node.value if name.value == key), None)
    for key in keys[:depth]:
        wanted = wanted[key]
    key = keys[depth]
    block = {key: wanted[key]} if key in wanted else {}
    if holder is None:
        before = f"{text.rstrip()}\n\n" if text.strip() else ""
        return f"{before}{_block(block, 0, comments, len(keys) - 1)}\n"
    column = holder.value[0][0].start_mark.column
    found = next((pair for pair in holder.value if pair[0].value == key), None)
    if found is None:
        end = _line_end(text, _span(text, *holder.value[-1])[1])
        lines = _block(block, column, comments, len(keys) - 1 - depth)
        return f"{text[:end]}\n{lines}" + (text[end:] or "\n")
    start, end = _span(text, *found)
    if block and isinstance(found[1], yaml.MappingNode) and found[1].flow_style and found[1].value:
        return text[: found[1].start_mark.index] + _dump(block[key], flow=True) + text[end:]
    if block:
        return text[:start] + _block(block, column, comments, len(keys) - 1 - depth) + (text[end:] or "\n")
    # Comments right above an entry belong to it; those above a single setting may not.
    comment = text[start : found[0].start_mark.index] + "#"
    is_entry = column and isinstance(found[1], yaml.MappingNode)
    while is_entry and text.startswith(comment, above := _line_start(text, start - 1)):
        start = above
    return text[:start] + text[_line_end(text, end) + 1 :]


def _span(text: str, key: yaml.Node, value: yaml.Node) -> tuple[int, int]:
    """Return where the lines of a member start, and where its value ends; comments inside are part of it."""
    end = value.end_mark.index
    # PyYAML ends a block where the next one starts.
    while (start := _line_start(text, end)) > key.start_mark.index:
        last = text[start:end]
        is_outside = len(last) - len(last.lstrip()) <= key.start_mark.column
        if last.strip() and not (last.lstrip().startswith("#") and is_outside):
            break
        end = start - 1
    return _line_start(text, key.start_mark.index), end


def _line_start(text: str, at: int) -> int:
    return text.rfind("\n", 0, max(at, 0)) + 1


def _line_end(text: str, at: int) -> int:
    end = text.find("\n", at)
    return len(text) if end < 0 else end


class _Dumper(yaml.SafeDumper):
    """Writes mappings as blocks and lists in one line, like servers written by hand."""

    def represent_sequence(
        self, tag: str, sequence: Any, flow_style: bool | None = None
    ) -> yaml.nodes.SequenceNode:
        del flow_style
        return super().represent_sequence(tag, sequence, flow_style=True)


def snippet(path: Path, value: Mapping[str, Any]) -> str:
    """Return a value in the format of a file."""
    match path.suffix.lower():
        case ".toml":
            import tomlkit  # noqa: PLC0415 -- as above

            return str(tomlkit.dumps(value))
        case ".yaml" | ".yml":
            return f"{_dump(value)}\n"
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"


def _dump(value: Mapping[Any, Any], *, flow: bool = False) -> str:
    text = yaml.dump(
        dict(value), Dumper=_Dumper, sort_keys=False, allow_unicode=True, default_flow_style=flow, width=2**30
    )
    return text.rstrip("\n")


def _block(value: Mapping[Any, Any], column: int, comments: Sequence[str], depth: int) -> str:
    """Return the lines of a mapping, with comments above the key at a depth."""
    lines = _dump(value).split("\n")
    lines[depth:depth] = [f"{'  ' * depth}# {' '.join(comment.split())}" for comment in comments]
    return "\n".join(" " * column + line for line in lines)
