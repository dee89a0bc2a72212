"""What is always there in a result, and how to read a value that may not be."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from halflap.graph.emit.syntax import expr
from halflap.graph.paths import EACH, VALUE, Path, key
from halflap.schema import fields_of, object_types

if TYPE_CHECKING:
    from halflap.graph.ports import Ports
    from halflap.schema import Type

__all__ = ["Presence"]


class Presence:
    """What is always there in a tool's result, as far as that is known."""

    def __init__(self, ports: Ports) -> None:
        self._seldom: dict[Path, bool] = {}
        self._null: set[Path] = set()
        for place in ports.places:
            self._read(place.path, place.type)
        if ports.result is not None:
            self._read((), ports.result)

    def _read(self, path: Path, kind: Type) -> None:
        """Read from a type whether it may be null, and which of its keys may be missing."""
        if any(one.kind == "null" for one in kind.members or (kind,)):
            self._null.add(path)
        for field in fields_of(object_types(kind)):
            inner = (*path, key(field.name))
            if not field.required:
                self._seldom[inner] = True
            self._read_items(inner, field.type)

    def _read_items(self, path: Path, kind: Type) -> None:
        """Read whether a value, or one of many in it, may be null; keys of objects have places themselves."""
        for one in kind.members or (kind,):
            if one.kind == "null":
                self._null.add(path)
            if one.items is not None:
                self._read_items((*path, EACH), one.items)
            if one.extra is not None:
                self._read_items((*path, VALUE), one.extra)

    def _may_be_nothing(self, path: Path) -> bool:
        """Return whether a value may be missing or null where what is around it is there."""
        return path in self._null or (path[-1].kind == "key" and self._seldom.get(path, False))

    def is_sure(self, path: Path) -> bool:
        """Return whether a value and everything around it is always there."""
        return not any(self._may_be_nothing(path[: at + 1]) for at in range(len(path)))

    def read(
        self, value: ast.expr, keys: Path, before: Path = (), *, empty: ast.expr | None = None
    ) -> ast.expr:
        """Read along keys from a value at a path, with care where one may be missing.

        `empty` is used in place of a list or map that is missing.
        """
        path = before
        careful = path in self._null
        for step in keys:
            if careful:
                value = expr("VALUE or {}", VALUE=value)
            path = (*path, step)
            may_lack = careful or self._seldom.get(path, False)
            form = "VALUE.get(KEY)" if may_lack else "VALUE[KEY]"
            value = expr(form, VALUE=value, KEY=ast.Constant(step.key))
            careful = may_lack or path in self._null
        return expr("VALUE or EMPTY", VALUE=value, EMPTY=empty) if careful and empty is not None else value
