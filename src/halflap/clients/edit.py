"""Open a file for editing, in the format that its name says."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from halflap.clients.document import Document
from halflap.clients.json_document import JsonDocument
from halflap.clients.yaml_document import YamlDocument
from halflap.config.problems import SyntaxProblem

if TYPE_CHECKING:
    from collections.abc import MutableMapping, Sequence
    from pathlib import Path

    from halflap.clients.document import Keys

__all__ = ["open_document"]


class _Toml(Document):
    def _read(self) -> dict[str, Any]:
        import tomlkit  # noqa: PLC0415 -- few clients use TOML
        from tomlkit.exceptions import ParseError  # noqa: PLC0415

        try:
            value: dict[str, Any] = tomlkit.parse(self.body).unwrap()
        except ParseError as error:
            raise SyntaxProblem(error.line, f"This is not TOML: {error}.") from error
        return value

    def _put(self, keys: Keys, value: Any, comments: Sequence[str]) -> None:
        import tomlkit  # noqa: PLC0415 -- as above

        del comments
        document = tomlkit.parse(self.body)
        holder: MutableMapping[str, Any] = document
        for key in keys[:-1]:
            if str(key) not in holder:
                holder[str(key)] = tomlkit.table(is_super_table=True)
            holder = holder[str(key)]
        holder[str(keys[-1])] = tomlkit.item(value)
        self.body = tomlkit.dumps(document)

    def _remove(self, keys: Keys) -> None:
        import tomlkit  # noqa: PLC0415 -- as above

        document = tomlkit.parse(self.body)
        holder: Any = document
        for key in keys[:-1]:
            holder = holder[key]
        del holder[keys[-1]]
        self.body = tomlkit.dumps(document)


def open_document(path: Path, text: str) -> Document:
    """Read a file's text in the format of its name; raise `ClientFileError` if it is broken."""
    suffix = path.suffix.lower()
    if suffix == ".toml":
        return _Toml(path, text)
    if suffix in {".yaml", ".yml"} and not text.lstrip("\ufeff \t\r\n").startswith("{"):
        return YamlDocument(path, text)
    return JsonDocument(path, text)
