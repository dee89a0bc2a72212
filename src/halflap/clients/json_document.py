"""Edit JSON, also with comments: plain files through the standard library, others through json-five's model."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from halflap.clients.document import Document, copied, set_at
from halflap.config.source_lines import parse_json

if TYPE_CHECKING:
    from collections.abc import Sequence

    from halflap.clients.document import Keys

__all__ = ["JsonDocument"]

_MAX_COMMENTED_BYTES = 512 * 1024
"""json-five reads about 200 KB a second. Larger files are caches, and plain JSON."""
_INDENTED = re.compile(r"\n([ \t]+)\S")


class JsonDocument(Document):
    def _read(self) -> dict[str, Any]:
        value: dict[str, Any] = parse_json(self.body)[0]
        return value

    def _put(self, keys: Keys, value: Any, comments: Sequence[str]) -> None:
        del comments
        if self._is_plain():
            changed = copied(self.value)
            set_at(changed, keys, value)
            self.body = self._dumped(changed)
            return
        root = self._model()
        holder, outer = root.value, "\n"
        keys = list(keys)
        while len(keys) > 1 and (at := _index(holder, keys[0])) is not None:
            outer = _indent_of(holder, outer, self._unit)
            holder = holder.values[at]
            del keys[0]
        for key in reversed(keys[1:]):
            value = {key: value}
        indent = _indent_of(holder, outer, self._unit)
        at = _index(holder, keys[0])
        if at is None:
            self._insert(holder, str(keys[0]), value, indent, outer)
        else:
            old, new = holder.values[at], self._node(value, indent)
            new.wsc_before, new.wsc_after = old.wsc_before, old.wsc_after
            holder.values[at] = new
        self._write(root)

    def _remove(self, keys: Keys) -> None:
        if self._is_plain():
            changed: Any = copied(self.value)
            holder = changed
            for key in keys[:-1]:
                holder = holder[key]
            del holder[keys[-1]]
            self.body = self._dumped(changed)
            return
        root = self._model()
        node = root.value
        for key in keys[:-1]:
            node = node.values[_index(node, key)]
        at = _index(node, keys[-1])
        assert at is not None
        _drop(node, at)
        self._write(root)

    def _is_plain(self) -> bool:
        """Whether writing the value gives the same text, so that the standard library can edit it."""
        return not self.body.strip() or self._dumped(self.value) == self.body

    def _dumped(self, value: Any) -> str:
        end = "\n" if self.body.endswith("\n") or not self.body.strip() else ""
        is_one_line = bool(self.body.strip()) and "\n" not in self.body.strip()
        return json.dumps(value, indent=None if is_one_line else self._unit, ensure_ascii=False) + end

    @property
    def _unit(self) -> str:
        found = _INDENTED.search(self.body)
        return found[1] if found else "  "

    def _model(self) -> Any:
        from json5.loader import ModelLoader, loads  # noqa: PLC0415 -- only files with comments need it

        if len(self.body) > _MAX_COMMENTED_BYTES:
            raise ValueError
        return loads(self.body, loader=ModelLoader())

    def _write(self, root: Any) -> None:
        from json5.dumper import ModelDumper, dumps  # noqa: PLC0415 -- as above

        self.body = dumps(root, dumper=ModelDumper())

    def _node(self, value: Any, indent: str) -> Any:
        from json5.loader import ModelLoader, loads  # noqa: PLC0415 -- as above

        lines = json.dumps(value, indent=self._unit if "\n" in indent else None, ensure_ascii=False)
        return loads(lines.replace("\n", indent), loader=ModelLoader()).value

    def _insert(self, holder: Any, key: str, value: Any, indent: str, outer: str) -> None:
        """Append a member; comments behind the last one stay behind it."""
        from json5.loader import ModelLoader, loads  # noqa: PLC0415 -- as above

        new_key = loads(f"{{{json.dumps(key, ensure_ascii=False)}: 0}}", loader=ModelLoader()).value.keys[0]
        new = self._node(value, indent)
        new.wsc_before = [" "]
        if holder.keys:
            end = holder.trailing_comma or holder.values[-1]
            comments, closing = _split(end.wsc_after)
            end.wsc_after = []
            new_key.wsc_before, new.wsc_after = [*comments, indent], [closing]
            holder.trailing_comma = None
        else:
            comments, closing = _split(holder.leading_wsc)
            holder.leading_wsc = [*comments, indent]
            new.wsc_after = [closing if "\n" in closing else outer]
        holder.keys.append(new_key)
        holder.values.append(new)


def _index(node: Any, key: str | int) -> int | None:
    names = [str(getattr(one, "characters", getattr(one, "name", ""))) for one in node.keys]
    return len(names) - 1 - names[::-1].index(str(key)) if str(key) in names else None


def _split(blanks: list[Any]) -> tuple[list[Any], str]:
    """Return the comments, with the blanks between them, and the blanks after the last one."""
    if blanks and isinstance(blanks[-1], str):
        return blanks[:-1], blanks[-1]
    return list(blanks), ""


def _indent_of(holder: Any, outer: str, unit: str) -> str:
    """Return the blanks in front of an object's members: a line break and the indentation, or a space."""
    for blanks in (*(key.wsc_before for key in holder.keys[:0:-1]), holder.leading_wsc):
        if blanks and isinstance(blanks[-1], str) and "\n" in blanks[-1]:
            return "\n" + blanks[-1].rpartition("\n")[2]
    return " " if holder.keys else outer + unit


def _drop(node: Any, at: int) -> None:
    """Take a member out of an object; the comments around it stay."""
    key, value = node.keys.pop(at), node.values.pop(at)
    before = key.wsc_before if any(not isinstance(one, str) for one in key.wsc_before) else []
    if at < len(node.keys):
        following = node.keys[at]
        rest = following.wsc_before
        if at == 0 and not any(not isinstance(one, str) for one in rest):
            rest = []
        following.wsc_before = [*before, *rest]
    elif node.keys:
        if node.trailing_comma is None:
            node.values[-1].wsc_after = [*before, *value.wsc_after]
    else:
        after = value.wsc_after if node.trailing_comma is None else node.trailing_comma.wsc_after
        comments = [one for one in (*node.leading_wsc, *before, *after) if not isinstance(one, str)]
        node.leading_wsc = [*node.leading_wsc, *before, *after] if comments else []
        node.trailing_comma = None
