"""Edit YAML: blocks are added and removed as whole lines, at the positions that PyYAML reports."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import yaml

from halflap.clients.document import Document

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from halflap.clients.document import Keys

__all__ = ["YamlDocument", "yaml_block"]


class _Dumper(yaml.SafeDumper):
    """Writes mappings as blocks and lists in one line, as people write servers by hand."""

    def represent_sequence(
        self, tag: str, sequence: Any, flow_style: bool | None = None
    ) -> yaml.nodes.SequenceNode:
        del flow_style
        return super().represent_sequence(tag, sequence, flow_style=True)


def yaml_block(value: Mapping[str, Any]) -> str:
    """Return the YAML of a mapping, as a block."""
    return yaml.dump(
        dict(value), Dumper=_Dumper, sort_keys=False, allow_unicode=True, default_flow_style=False, width=4096
    )


class YamlDocument(Document):
    def _read(self) -> dict[str, Any]:
        from halflap.config.yaml_reader import read_yaml  # noqa: PLC0415 -- it loads PyYAML's parser

        value: Any = read_yaml(self.body)[0] if self.body.strip() else {}
        return {} if value is None else value

    def _put(self, keys: Keys, value: Any, comments: Sequence[str]) -> None:
        node, found = self._walk(keys)
        if found == len(keys):
            if _is_block(node):
                self._remove(keys)
                self._put(keys, value, comments)
            else:
                self._splice(node, _flow(value))
            return
        rest = keys[found:]
        for key in reversed(rest[1:]):
            value = {key: value}
        if node is None or not isinstance(node, yaml.MappingNode) or not node.value:
            self._fill(node, {rest[0]: value}, self._column(keys[:found]), comments)
        elif not _is_block(node):
            self._splice(node, _flow({**self.at(keys[:found]), rest[0]: value}))
        else:
            column = node.value[0][0].start_mark.column
            lines = self.body.splitlines()
            at = self._end(lines, node, column)
            lines[at:at] = _indented({rest[0]: value}, column, comments)
            self.body = "\n".join(lines) + "\n"

    def _remove(self, keys: Keys) -> None:
        parent, found = self._walk(keys[:-1])
        if found != len(keys) - 1 or not isinstance(parent, yaml.MappingNode):
            raise LookupError
        if not _is_block(parent):
            kept = {key: value for key, value in self.at(keys[:-1]).items() if key != keys[-1]}
            self._splice(parent, _flow(kept))
            return
        key, value = next(pair for pair in parent.value if pair[0].value == str(keys[-1]))
        lines = self.body.splitlines()
        column = key.start_mark.column
        first, last = key.start_mark.line, self._end(lines, value, column + 1, key)
        # Comments right above an entry are about it; those above a single setting may not be.
        is_entry = isinstance(value, yaml.MappingNode)
        while is_entry and first and column and lines[first - 1].startswith(" " * column + "#"):
            first -= 1
        del lines[first:last]
        self.body = "\n".join(lines) + "\n"

    def _walk(self, keys: Keys) -> tuple[yaml.Node | None, int]:
        """Return the node at a path, or the last one on the way to it, and how many keys lead to that."""
        node = yaml.compose(self.body, Loader=yaml.SafeLoader)
        for found, key in enumerate(keys):
            if isinstance(node, yaml.SequenceNode) and isinstance(key, int):
                node = node.value[key]
                continue
            pairs = node.value if isinstance(node, yaml.MappingNode) else ()
            member = next((value for name, value in pairs if name.value == str(key)), None)
            if member is None:
                return node, found
            node = member
        return node, len(keys)

    def _column(self, keys: Keys) -> int:
        """Return the column for the members of a mapping that has none yet."""
        if not keys:
            return 0
        parent, _ = self._walk(keys[:-1])
        assert isinstance(parent, yaml.MappingNode)
        return int(parent.value[0][0].start_mark.column) + 2

    def _fill(
        self, node: yaml.Node | None, value: Mapping[Any, Any], column: int, comments: Sequence[str]
    ) -> None:
        """Put the first members into an empty mapping: no document, nothing after the key, `null` or `{}`."""
        block = "\n".join(_indented(value, column, comments)) + "\n"
        if node is None:
            apart = "\n" if self.body.strip() else ""
            self.body = self.body.rstrip("\n") + ("\n" if self.body.strip() else "") + apart + block
            return
        before = self.body[: node.start_mark.index].rstrip(" ")
        after = self.body[node.end_mark.index :]
        comment, _, rest = (
            after.lstrip(" ").partition("\n") if before and before[-1] != "\n" else ("", "", after)
        )
        self.body = before.rstrip("\n") + (f"  {comment}" if comment else "") + "\n" + block + rest

    def _splice(self, node: yaml.Node | None, text: str) -> None:
        assert node is not None
        self.body = self.body[: node.start_mark.index] + text + self.body[node.end_mark.index :]

    @staticmethod
    def _end(lines: list[str], node: yaml.Node, column: int, key: yaml.Node | None = None) -> int:
        """Return the line after a value, and after comments below it that are indented as its members are."""
        end = max(_last_line(node), 0 if key is None else key.end_mark.line)
        while end + 1 < len(lines):
            following = next((line for line in lines[end + 1 :] if line.strip()), "")
            if not following.lstrip().startswith("#") or len(following) - len(following.lstrip()) < column:
                break
            end = lines.index(following, end + 1)
        return end + 1


def _last_line(node: yaml.Node) -> int:
    """Return the last line of what a value says; the end of a block is after the comments behind it."""
    if isinstance(node, yaml.CollectionNode) and not node.flow_style and node.value:
        last = node.value[-1]
        return (
            max(last[0].end_mark.line, _last_line(last[1])) if isinstance(last, tuple) else _last_line(last)
        )
    is_literal = isinstance(node, yaml.ScalarNode) and node.style in {"|", ">"}
    return int(node.end_mark.line) - (1 if is_literal and node.end_mark.column == 0 else 0)


def _is_block(node: yaml.Node | None) -> bool:
    return isinstance(node, yaml.CollectionNode) and not node.flow_style


def _flow(value: Any) -> str:
    text = yaml.safe_dump(value, default_flow_style=True, sort_keys=False, allow_unicode=True, width=4096)
    return text.removesuffix("...\n").strip()


def _indented(value: Mapping[Any, Any], column: int, comments: Sequence[str]) -> list[str]:
    lines = [f"# {' '.join(comment.split())}" for comment in comments]
    lines += yaml_block(value).splitlines()
    return [" " * column + line for line in lines]
