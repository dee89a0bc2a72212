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
from yaml.reader import Reader

from halflap.config.syntax import parse_json, parse_yaml, without_comments
from halflap.core.errors import ClientFileError, ConfigError, ConfigProblem

if TYPE_CHECKING:
    from pathlib import Path

Keys = Sequence[str]
Member = tuple[yaml.ScalarNode, yaml.Node]
_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_COMMA = re.compile(r"\s*, ?")


class CannotEditError(Exception):
    """A file can't be changed without losing its layout; it has to be edited by hand."""


def open_document(path: Path, text: str) -> Document:
    """Read a file's text in the format of its name; raise `ClientFileError` if it is broken."""
    return _Toml(path, text) if path.suffix.lower() == ".toml" else _JsonOrYaml(path, text)


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
            found = found.get(key) if isinstance(found, Mapping) else None
        return found

    def put(self, keys: Keys, value: Any, comments: Sequence[str] = ()) -> None:
        """Set the value at a path. YAML gets the comments above it."""
        self._change(lambda: self._put(keys, value, comments), _with_value(self.value, keys, value), keys)

    def remove(self, keys: Keys) -> None:
        """Remove the value at a path."""
        parent = {key: one for key, one in self.at(keys[:-1]).items() if key != keys[-1]}
        self._change(lambda: self._remove(keys), _with_value(self.value, keys[:-1], parent), keys)

    def _change(self, edit: Callable[[], None], expected: Any, keys: Keys) -> None:
        before = self.body
        try:
            edit()
            value = self._read()
        except (ConfigError, yaml.YAMLError, LookupError, ValueError):
            # Whatever a parser makes of an unusual file: it can't be edited.
            value = {}
        if _without_empty(value) != _without_empty(expected):
            self.body = before
            raise CannotEditError(
                f"{self.path}: its layout doesn't allow a safe change of `{'.'.join(keys)}`. Change it by hand. "
                "Nothing was written."
            )
        self.value = value

    @abstractmethod
    def _read(self) -> dict[str, Any]: ...

    @abstractmethod
    def _put(self, keys: Keys, value: Any, comments: Sequence[str]) -> None: ...

    @abstractmethod
    def _remove(self, keys: Keys) -> None: ...


def _with_value(root: Any, keys: Keys, value: Any) -> Any:
    """Return a copy with another value at a path; missing mappings are made."""
    if not keys:
        return value
    root = root or {}
    return {**root, keys[0]: _with_value(root.get(keys[0]), keys[1:], value)}


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
            holder = holder.setdefault(key, tomlkit.table(is_super_table=True))
        holder[keys[-1]] = tomlkit.item(value)
        self.body = document.as_string()

    def _remove(self, keys: Keys) -> None:
        holder = document = self._parsed()
        for key in keys[:-1]:
            holder = holder[key]
        del holder[keys[-1]]
        self.body = document.as_string()


class _JsonOrYaml(Document):
    """Replaces only the text that changes, at the positions that PyYAML reports."""

    def _read(self) -> dict[str, Any]:
        is_yaml = self.path.suffix.lower() in {".yaml", ".yml"}
        self._is_json = not is_yaml or self.body.lstrip().startswith("{")
        value: dict[str, Any] = parse_json(self.body) if self._is_json else parse_yaml(self.body)
        return value

    def _put(self, keys: Keys, value: Any, comments: Sequence[str]) -> None:
        if not self.value:
            self._put_first(keys, value, comments)
            return
        holder, depth = self._holder(keys)
        # A value without members, such as `{}` or nothing, gives way to a mapping.
        key, rest = keys[depth], keys[depth + 1 :]
        made = _with_value(self.at(keys[: depth + 1]) if rest else None, rest, value)
        found = next((pair for pair in holder.value if pair[0].value == key), None)
        if not holder.flow_style:
            column = holder.value[0][0].start_mark.column
            self._put_lines(holder, found, _block({key: made}, column, comments, len(rest)))
            return
        if found is None:
            self._put_in_braces(holder, key, made)
            return
        self._remove(keys[: depth + 1])
        self.value = self._read()
        self._put(keys[: depth + 1], made, comments)

    def _put_first(self, keys: Keys, value: Any, comments: Sequence[str]) -> None:
        whole = _with_value(None, keys, value)
        if not self._is_json:
            before = [self.body.rstrip(), ""] if self.body.strip() else []
            self.body = "\n".join([*before, *_block(whole, 0, comments, len(keys) - 1)]) + "\n"
        elif "".join(self.body.split()) in {"", "{}"}:
            self.body = json.dumps(whole, indent=2, ensure_ascii=False) + "\n"
        else:
            raise LookupError  # only comments

    def _remove(self, keys: Keys) -> None:
        holder, _ = self._holder(keys)
        at = [name.value for name, _ in holder.value].index(keys[-1])
        if holder.flow_style:
            self._remove_in_braces(holder.value, at)
        else:
            self._remove_lines(*holder.value[at])

    def _holder(self, keys: Keys) -> tuple[yaml.MappingNode, int]:
        """Return the deepest mapping with members on the way to a path, and how many keys lead to it."""
        node = yaml.compose(self._composed(), Loader=_LOADER)
        found, depth = None, 0
        for at, key in enumerate(keys):
            if not isinstance(node, yaml.MappingNode) or not node.value:
                break
            found, depth = node, at
            node = next((value for name, value in node.value if name.value == key), None)
        if found is None:
            raise LookupError
        return found, depth

    def _composed(self) -> str:
        """Return the text as PyYAML can read it: of the same length, so that its positions hold."""
        return Reader.NON_PRINTABLE.sub("_", without_comments(self.body) if self._is_json else self.body)

    def _put_in_braces(self, holder: yaml.MappingNode, key: str, value: Any) -> None:
        """Add a member in front, so that comments stay next to what they are about."""
        first = holder.value[0][0].start_mark.index
        before = self.body[self.body.rfind("\n", 0, first) + 1 : first]
        has_lines = not before.strip() and "\n" in self.body[:first]
        unit = re.search(r"\n([ \t]+)\S", self.body)
        name = key if not self._is_json and key.isidentifier() else json.dumps(key, ensure_ascii=False)
        text = json.dumps(value, indent=unit[1] if unit and has_lines else None, ensure_ascii=False)
        member = f"{name}: {text}".replace("\n", f"\n{before}")
        at = holder.start_mark.index + 1
        self._splice(at, at, f"\n{before}{member}," if has_lines else f"{member}, ")

    def _remove_in_braces(self, pairs: Sequence[Member], at: int) -> None:
        """Remove a member and the comma after it, or before it if it is the last."""
        first, last = pairs[at][0].start_mark.index, pairs[at][1].end_mark.index
        composed = self._composed()
        if at == len(pairs) - 1 > 0:
            before = composed.index(",", pairs[at - 1][1].end_mark.index)
            self._splice(first, last, "")
            self._splice(before, before + 1, "")
            return
        # A comma after the only member is none to PyYAML.
        comma = _COMMA.match(composed if len(pairs) > 1 else self.body, last)
        self._splice(first, comma.end() if comma else last, "")

    def _splice(self, first: int, last: int, text: str) -> None:
        """Replace a part of the text; a line of which nothing is left goes, too."""
        start, end = self.body.rfind("\n", 0, first), self.body.find("\n", last)
        if not text and start >= 0 <= end and not (self.body[start:first] + self.body[last:end]).strip():
            first, last = start, end
        self.body = self.body[:first] + text + self.body[last:]

    def _put_lines(self, holder: yaml.MappingNode, found: Member | None, block: list[str]) -> None:
        """Write a member on lines of its own, in place or as the last."""
        lines = self.body.splitlines()
        if found is None:
            first = last = _lines_of(lines, *holder.value[-1])[1]
        else:
            first, last = _lines_of(lines, *found)
            end = found[1].end_mark
            if end.line == first and (comment := lines[first][end.column :].strip()):
                block[0] += f"  {comment}"
        lines[first:last] = block
        self.body = "\n".join(lines) + "\n"

    def _remove_lines(self, key: yaml.ScalarNode, value: yaml.Node) -> None:
        lines, column = self.body.splitlines(), key.start_mark.column
        first, last = _lines_of(lines, key, value)
        # Comments right above an entry are about it; those above a single setting may not be.
        is_entry = column and isinstance(value, yaml.MappingNode)
        while is_entry and lines[first - 1].startswith(" " * column + "#"):
            first -= 1
        del lines[first:last]
        self.body = "\n".join(lines) + "\n"


def _lines_of(lines: list[str], key: yaml.Node, value: yaml.Node) -> tuple[int, int]:
    """Return the first line of a member and the line after it, with the comments that are indented as its value."""
    first, column = key.start_mark.line, key.start_mark.column
    is_block = isinstance(value, yaml.CollectionNode) and not value.flow_style
    is_literal = isinstance(value, yaml.ScalarNode) and value.style in {"|", ">"}
    end = value.end_mark.line + (not is_block and not is_literal)
    while end > first + 1:
        last = lines[end - 1]
        if last.strip() and (not last.lstrip().startswith("#") or len(last) - len(last.lstrip()) > column):
            break
        end -= 1
    return first, end


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


def _block(value: Mapping[Any, Any], column: int, comments: Sequence[str], depth: int = 0) -> list[str]:
    """Return the lines of a mapping, with comments above the key at a depth."""
    lines = yaml_block(value).splitlines()
    lines[depth:depth] = [f"{'  ' * depth}# {' '.join(comment.split())}" for comment in comments]
    return [" " * column + line for line in lines]
