"""Change one value in a JSON, TOML or YAML file and keep the rest of it, comments included.

Every edit is checked by reading the new text; what can't be edited safely raises `CannotEditError`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from halflap.config.problems import SyntaxProblem
from halflap.core.errors import ClientFileError

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["CannotEditError", "Document", "Keys", "copied", "set_at"]

Keys = Sequence[str | int]


class CannotEditError(Exception):
    """A file can't be changed without losing its layout; it has to be edited by hand."""


class Document(ABC):
    """The text of a file, and its value."""

    def __init__(self, path: Path, text: str) -> None:
        self.path = path
        self._bom = "\ufeff" if text.startswith("\ufeff") else ""
        self._crlf = "\r\n" in text
        self.body = text.removeprefix(self._bom).replace("\r\n", "\n")
        try:
            self.value: dict[str, Any] = self._read()
        except SyntaxProblem as problem:
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
        """Set the value at a path. `comments` are written above it where the format has comments of its own."""
        expected = copied(self.value)
        set_at(expected, keys, value)
        self._change(lambda: self._put(keys, value, comments), expected, keys)

    def remove(self, keys: Keys) -> None:
        """Remove the value at a path."""
        expected = copied(self.value)
        holder: Any = expected
        for key in keys[:-1]:
            holder = holder[key]
        del holder[keys[-1]]
        self._change(lambda: self._remove(keys), expected, keys)

    def _change(self, edit: Any, expected: Any, keys: Keys) -> None:
        before = self.body
        try:
            edit()
            value = self._read()
        except (SyntaxProblem, LookupError, TypeError, ValueError, AttributeError):
            # Whatever a parser makes of an unusual file: it can't be edited.
            value = {}
        if value != expected and _without_empty(value) != _without_empty(expected):
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


def copied(value: Any) -> Any:
    """Copy a value; unlike `copy.deepcopy`, also what YAML aliases share."""
    if isinstance(value, Mapping):
        return {key: copied(member) for key, member in value.items()}
    return [copied(item) for item in value] if isinstance(value, list) else value


def set_at(root: Any, keys: Keys, value: Any) -> None:
    for key in keys[:-1]:
        if isinstance(root, dict) and root.get(key) is None:
            root[key] = {}
        root = root[key]
    root[keys[-1]] = value


def _without_empty(value: Any) -> Any:
    """Drop empty mappings: in YAML, one whose last key was removed reads as null."""
    if isinstance(value, Mapping):
        kept = {key: _without_empty(member) for key, member in value.items()}
        return {key: member for key, member in kept.items() if member not in (None, {})}
    return value
