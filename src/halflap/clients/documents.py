"""Change one value in a JSON, TOML or YAML file and keep the rest of it, comments included.

Every edit is checked by reading the new text; what can't be edited safely raises `CannotEditError`.
"""

from __future__ import annotations

import json
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import yaml

from halflap.config.source import parse_json, parse_yaml
from halflap.core.errors import ClientFileError, ConfigError, ConfigProblem

if TYPE_CHECKING:
    from pathlib import Path

Keys = Sequence[str | int]
_MAX_COMMENTED_BYTES = 512 * 1024
"""json-five reads about 200 KB a second. Larger files are caches, and plain JSON."""


class CannotEditError(Exception):
    """A file can't be changed without losing its layout; it has to be edited by hand."""


def open_document(path: Path, text: str) -> Document:
    """Read a file's text in the format of its name; raise `ClientFileError` if it is broken."""
    suffix = path.suffix.lower()
    if suffix == ".toml":
        return _Toml(path, text)
    if suffix in {".yaml", ".yml"} and not text.lstrip("\ufeff \t\r\n").startswith("{"):
        return _Yaml(path, text)
    return _Json(path, text)


class Document(ABC):
    """The text of a file, and its value."""

    def __init__(self, path: Path, text: str) -> None:
        self.path = path
        self._bom = "\ufeff" if text.startswith("\ufeff") else ""
        self._crlf = "\r\n" in text
        self.body = text.removeprefix(self._bom).replace("\r\n", "\n")
        try:
            self.value: dict[str, Any] = self._read()
        except ConfigError as error:
            problem = error.problems[0]
            where = f"{path}:{problem.line}" if problem.line else str(path)
            raise ClientFileError(f"{where}: {problem.message}") from None
        if not isinstance(self.value, Mapping):
            raise ClientFileError(f"{path}: the file must contain a mapping.")

    @property
    def text(self) -> str:
        return self._bom + (self.body.replace("\n", "\r\n") if self._crlf else self.body)

    def at(self, keys: Keys) -> Any:
        """Return the value at a path; None if there is none."""
        found: Any = self.value
        for key in keys:
            if isinstance(found, Mapping):
                found = found.get(str(key))
            elif isinstance(found, list) and isinstance(key, int) and key < len(found):
                found = found[key]
            else:
                return None
        return found

    def put(self, keys: Keys, value: Any, comments: Sequence[str] = ()) -> None:
        """Set the value at a path. YAML gets the comments above it."""
        self._change(lambda: self._put(keys, value, comments), with_value(self.value, keys, value), keys)

    def remove(self, keys: Keys) -> None:
        """Remove the value at a path."""
        self._change(lambda: self._remove(keys), without(self.value, keys), keys)

    def _change(self, edit: Callable[[], None], expected: Any, keys: Keys) -> None:
        before = self.body
        try:
            edit()
            value = self._read()
        except (ConfigError, LookupError, TypeError, ValueError, AttributeError):
            # Whatever a parser makes of an unusual file: it can't be edited.
            value = {}
        if _without_empty(value) != _without_empty(expected):
            self.body = before
            where = ".".join(map(str, keys))
            raise CannotEditError(
                f"{self.path}: its layout doesn't allow a safe change of `{where}`. Change it by hand. Nothing was written."
            )
        self.value = value

    @abstractmethod
    def _read(self) -> dict[str, Any]: ...

    @abstractmethod
    def _put(self, keys: Keys, value: Any, comments: Sequence[str]) -> None: ...

    @abstractmethod
    def _remove(self, keys: Keys) -> None: ...


def with_value(root: Any, keys: Keys, value: Any) -> Any:
    """Return a copy with another value at a path; missing mappings are made."""
    if not keys:
        return value
    if isinstance(root, list):
        return [with_value(one, keys[1:], value) if at == keys[0] else one for at, one in enumerate(root)]
    root = {} if root is None else root
    return {**root, keys[0]: with_value(root.get(keys[0]), keys[1:], value)}


def without(root: Any, keys: Keys) -> Any:
    """Return a copy without the value at a path."""
    if len(keys) > 1:
        return with_value(root, keys[:1], without(root[keys[0]], keys[1:]))
    if isinstance(root, list):
        return [one for at, one in enumerate(root) if at != keys[0]]
    return {key: one for key, one in root.items() if key != keys[0]}


def _without_empty(value: Any) -> Any:
    """Drop empty mappings: in YAML, one whose last key was removed reads as null."""
    if isinstance(value, Mapping):
        kept = {key: _without_empty(member) for key, member in value.items()}
        return {key: member for key, member in kept.items() if member not in (None, {})}
    return value


class _Toml(Document):
    def _read(self) -> dict[str, Any]:
        from tomlkit.exceptions import ParseError  # noqa: PLC0415 -- few clients use TOML

        try:
            value: dict[str, Any] = self._parsed().unwrap()
        except ParseError as error:
            problem = ConfigProblem(self.path, error.line, f"This is not TOML: {error}.")
            raise ConfigError([problem]) from error
        return value

    def _parsed(self) -> Any:
        import tomlkit  # noqa: PLC0415 -- as above

        return tomlkit.parse(self.body)

    def _put(self, keys: Keys, value: Any, comments: Sequence[str]) -> None:
        import tomlkit  # noqa: PLC0415 -- as above

        del comments
        holder = document = self._parsed()
        for key in keys[:-1]:
            if key not in holder:
                holder[key] = tomlkit.table(is_super_table=True)
            holder = holder[key]
        holder[keys[-1]] = tomlkit.item(value)
        self.body = document.as_string()

    def _remove(self, keys: Keys) -> None:
        holder = document = self._parsed()
        for key in keys[:-1]:
            holder = holder[key]
        del holder[keys[-1]]
        self.body = document.as_string()


class _Json(Document):
    """Plain files are written by the standard library, files with comments through json-five's model."""

    def _read(self) -> dict[str, Any]:
        value: dict[str, Any] = parse_json(self.body)
        return value

    def _put(self, keys: Keys, value: Any, comments: Sequence[str]) -> None:
        del comments
        if self._is_plain():
            self.body = self._dumped(with_value(self.value, keys, value))
            return
        root = self._model(self.body)
        holder, depth = root.value, 1
        while len(keys) > 1 and _index(holder, keys[0]) >= 0:
            holder, keys, depth = holder.values[_index(holder, keys[0])], keys[1:], depth + 1
        is_long = "\n" in self.body.strip()
        outer, indent = ("\n" + self._unit * (depth - 1), "\n" + self._unit * depth) if is_long else ("", " ")
        member = json.dumps(
            {keys[0]: with_value(None, keys[1:], value)},
            indent=self._unit if is_long else None,
            ensure_ascii=False,
        )
        made = self._model(member.replace("\n", outer)).value
        new, at = made.values[0], _index(holder, keys[0])
        if at >= 0:
            new.wsc_after, holder.values[at] = holder.values[at].wsc_after, new
        elif holder.keys:
            # In front, so that every comment stays next to what it was next to.
            new.wsc_after = []
            holder.keys[0].wsc_before = holder.leading_wsc or [indent]
            holder.leading_wsc = [indent]
        else:
            new.wsc_after = [outer]
            holder.leading_wsc = [*[one for one in holder.leading_wsc if not isinstance(one, str)], indent]
        if at < 0:
            holder.keys.insert(0, made.keys[0])
            holder.values.insert(0, new)
        self._write(root)

    def _remove(self, keys: Keys) -> None:
        if self._is_plain():
            self.body = self._dumped(without(self.value, keys))
            return
        root = self._model(self.body)
        holder = root.value
        for key in keys[:-1]:
            holder = holder.values[_index(holder, key)]
        _take_out(holder, _index(holder, keys[-1]))
        self._write(root)

    def _is_plain(self) -> bool:
        """Whether writing the value gives the same text."""
        return not self.body.strip() or self._dumped(self.value) == self.body

    def _dumped(self, value: Any) -> str:
        is_empty = not self.body.strip()
        indent = self._unit if is_empty or "\n" in self.body.strip() else None
        end = "\n" if is_empty or self.body.endswith("\n") else ""
        return json.dumps(value, indent=indent, ensure_ascii=False) + end

    @property
    def _unit(self) -> str:
        found = re.search(r"\n([ \t]+)\S", self.body)
        return found[1] if found else "  "

    def _model(self, text: str) -> Any:
        from json5.loader import ModelLoader, loads  # noqa: PLC0415 -- only files with comments need it

        if len(text) > _MAX_COMMENTED_BYTES:
            raise ValueError
        return loads(text, loader=ModelLoader())

    def _write(self, root: Any) -> None:
        from json5.dumper import ModelDumper, dumps  # noqa: PLC0415 -- as above

        self.body = dumps(root, dumper=ModelDumper())


def _index(node: Any, key: str | int) -> int:
    names = [str(getattr(one, "characters", getattr(one, "name", ""))) for one in node.keys]
    return names.index(str(key)) if str(key) in names else -1


def _take_out(holder: Any, at: int) -> None:
    """Remove a member, and the comments above it."""
    holder.keys.pop(at)
    value = holder.values.pop(at)
    if not holder.keys:
        holder.leading_wsc, holder.trailing_comma = [], None
    elif at == 0:
        holder.leading_wsc, holder.keys[0].wsc_before = holder.keys[0].wsc_before, []
    elif at == len(holder.keys) and holder.trailing_comma is None:
        holder.values[-1].wsc_after = value.wsc_after


class _Dumper(yaml.SafeDumper):
    """Writes mappings as blocks and lists in one line, as people write servers by hand."""

    def represent_sequence(
        self, tag: str, sequence: Any, flow_style: bool | None = None
    ) -> yaml.nodes.SequenceNode:
        del flow_style
        return super().represent_sequence(tag, sequence, flow_style=True)


def yaml_block(value: Mapping[Any, Any]) -> str:
    """Return the YAML of a mapping, as a block."""
    return yaml.dump(
        dict(value), Dumper=_Dumper, sort_keys=False, allow_unicode=True, default_flow_style=False, width=4096
    )


class _Yaml(Document):
    """Edits whole lines of block mappings, at the positions that PyYAML reports."""

    def _read(self) -> dict[str, Any]:
        if not self.body.endswith("\n"):
            self.body += "\n"
        value: dict[str, Any] = parse_yaml(self.body)
        return value

    def _put(self, keys: Keys, value: Any, comments: Sequence[str]) -> None:
        holder, depth = self._block(keys)
        lines = self.body.splitlines()
        if holder is None:
            block = _indented(with_value(None, keys, value), 0, comments)
            self.body = "\n".join([*lines, *([""] if lines else []), *block]) + "\n"
            return
        # What is there without a layout (`{}`, nothing) is written as a block.
        key, rest = keys[depth], keys[depth + 1 :]
        made = with_value(self.at(keys[: depth + 1]) if rest else None, rest, value)
        column = holder.value[0][0].start_mark.column
        pair = next((pair for pair in holder.value if pair[0].value == str(key)), None)
        if (
            pair is not None
            and isinstance(pair[1], yaml.CollectionNode)
            and pair[1].flow_style
            and pair[1].value
        ):
            flow = yaml.safe_dump(
                made, default_flow_style=True, sort_keys=False, allow_unicode=True, width=4096
            )
            first, last = pair[1].start_mark.index, pair[1].end_mark.index
            self.body = self.body[:first] + flow.strip() + self.body[last:]
            return
        block = _indented({key: made}, column, comments)
        if pair is None:
            first = last = _lines_of(lines, *holder.value[-1])[1]
        else:
            first, last = _lines_of(lines, *pair)
            if pair[1].end_mark.line == first:
                comment = lines[first][pair[1].end_mark.column :].strip()
                block[len(comments)] += f"  {comment}" if comment else ""
        lines[first:last] = block
        self.body = "\n".join(lines) + "\n"

    def _remove(self, keys: Keys) -> None:
        holder, depth = self._block(keys)
        if holder is None:
            raise LookupError
        if depth < len(keys) - 1:
            self._put(keys[:-1], without(self.at(keys[:-1]), keys[-1:]), ())
            return
        lines = self.body.splitlines()
        key, value = next(pair for pair in holder.value if pair[0].value == str(keys[-1]))
        first, last = _lines_of(lines, key, value)
        column = key.start_mark.column
        # Comments right above an entry are about it; those above a single setting may not be.
        while (
            column and isinstance(value, yaml.MappingNode) and lines[first - 1].startswith(" " * column + "#")
        ):
            first -= 1
        del lines[first:last]
        self.body = "\n".join(lines) + "\n"

    def _block(self, keys: Keys) -> tuple[yaml.MappingNode | None, int]:
        """Return the deepest block mapping on the way to a path, and how many keys lead to it."""
        node = yaml.compose(self.body, Loader=yaml.SafeLoader)
        if node is None:
            return None, 0
        found, depth = None, 0
        for at, key in enumerate(keys):
            if isinstance(node, yaml.SequenceNode) and isinstance(key, int):
                node = node.value[key]
                continue
            if not isinstance(node, yaml.MappingNode) or node.flow_style or not node.value:
                break
            found, depth = node, at
            node = next((value for name, value in node.value if name.value == str(key)), None)
        if found is None:
            raise LookupError
        return found, depth


def _lines_of(lines: list[str], key: yaml.Node, value: yaml.Node) -> tuple[int, int]:
    """Return the first line of a member and the line after it, with the comments that are indented as its value."""
    is_block = isinstance(value, yaml.CollectionNode) and not value.flow_style
    is_literal = isinstance(value, yaml.ScalarNode) and value.style in {"|", ">"}
    first, column = key.start_mark.line, key.start_mark.column
    if not lines[first][:column].isspace() and column:
        raise LookupError  # the first key behind a dash
    end = value.end_mark.line + (0 if is_block or (is_literal and value.end_mark.column == 0) else 1)
    while end > first + 1:
        last = lines[end - 1]
        if last.strip() and (not last.lstrip().startswith("#") or len(last) - len(last.lstrip()) > column):
            break
        end -= 1
    return first, end


def _indented(value: Mapping[Any, Any], column: int, comments: Sequence[str]) -> list[str]:
    lines = [f"# {' '.join(comment.split())}" for comment in comments]
    return [" " * column + line for line in (*lines, *yaml_block(value).splitlines())]
