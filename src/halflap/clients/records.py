"""What Halflap remembers of its dealings with clients: what it put where, and what it took in."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from halflap.clients.files import delete, read_file, replace_file
from halflap.clients.installing import Installed
from halflap.core.errors import ClientFileError

if TYPE_CHECKING:
    from collections.abc import Collection

__all__ = ["Receipt", "backups", "imported", "keep_receipt", "noted_files", "receipt_of", "remember_imported"]

_VERSION = 1


@dataclass(frozen=True, slots=True)
class Receipt:
    """How a client's file was before Halflap was put in, and how it was left."""

    file: Path
    done: Installed
    original: str | None
    """The digest of the file before; None if there was no file."""
    backup: Path | None
    """The copy of the file before."""
    written: str
    """The digest of the file as it was left."""
    exact: bool = True
    """Nobody else has changed the file between several installations."""


def backups(data_dir: Path) -> Path:
    """Give the folder of copies."""
    return data_dir / "backups"


def receipt_of(data_dir: Path, file: Path) -> Receipt | None:
    """Read what was noted of a file; None if nothing was."""
    path = _path_of(data_dir, file)
    noted = read_file(path)
    if noted.data is None:
        return None
    try:
        value = json.loads(noted.data)
        backup = value["backup"] if value["version"] == _VERSION else value[f"version {_VERSION}"]
        return Receipt(
            Path(value["file"]),
            Installed.from_json(value["done"]),
            value["original"],
            None if backup is None else Path(backup),
            str(value["written"]),
            value["exact"] is True,
        )
    except (ValueError, KeyError, TypeError, RecursionError):
        raise ClientFileError(
            f"{path}: what was noted there of {file} cannot be read. Nothing was written. Copies of files as they "
            f"were before are in {backups(data_dir)}."
        ) from None


def keep_receipt(data_dir: Path, file: Path, receipt: Receipt | None) -> None:
    """Note what was done to a file; None takes the note away."""
    before = read_file(_path_of(data_dir, file))
    if receipt is None:
        if before.data is not None:
            delete(before)
        return
    value = {
        "version": _VERSION,
        "file": str(receipt.file),
        "original": receipt.original,
        "backup": None if receipt.backup is None else str(receipt.backup),
        "written": receipt.written,
        "exact": receipt.exact,
        "done": receipt.done.as_json(),
    }
    replace_file(before, (json.dumps(value, indent=2) + "\n").encode())


def noted_files(data_dir: Path) -> list[Path]:
    """Give the files of clients that something was done to and not undone."""
    found = []
    for path in (data_dir / "clients").glob("*.json"):
        if path != _imports_path(data_dir):
            try:
                found.append(Path(json.loads(read_file(path).data or b"")["file"]))
            except (ClientFileError, ValueError, KeyError, TypeError, RecursionError):
                continue
    return sorted(found)


def imported(data_dir: Path, config: Path) -> frozenset[str]:
    """Give the digests of the servers that came into a configuration before."""
    return frozenset(_imports(data_dir).get(str(config), ()))


def remember_imported(data_dir: Path, config: Path, digests: Collection[str]) -> None:
    """Note which servers came into a configuration."""
    known = _imports(data_dir)
    every = sorted({*known.get(str(config), ()), *digests})
    if every != known.get(str(config)):
        value = {"version": _VERSION, "files": {**known, str(config): every}}
        replace_file(read_file(_imports_path(data_dir)), (json.dumps(value, indent=2) + "\n").encode())


def _imports(data_dir: Path) -> dict[str, list[str]]:
    noted = read_file(_imports_path(data_dir))
    try:
        files = json.loads(noted.data or b'{"files": {}}')["files"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return {}
    if not isinstance(files, Mapping):
        return {}
    return {file: _digests(digests) for file, digests in files.items()}


def _digests(value: Any) -> list[str]:
    return [item for item in value if isinstance(item, str)] if isinstance(value, list) else []


def _imports_path(data_dir: Path) -> Path:
    return data_dir / "clients" / "imported.json"


def _path_of(data_dir: Path, file: Path) -> Path:
    name = sha256(str(file).encode("utf-8", "surrogateescape")).hexdigest()[:24]
    return data_dir / "clients" / f"{name}.json"
