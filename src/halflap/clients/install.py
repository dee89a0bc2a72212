"""Add Halflap to a client's file, move servers out of it, and undo both."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import TypeAdapter, ValidationError

from halflap.clients.documents import Document
from halflap.clients.files import FileText, read_file, replace_file
from halflap.clients.imports import servers_in
from halflap.clients.translate import Found, fingerprints, is_itself
from halflap.config import home_dir, path_from, working_folder
from halflap.core.errors import ClientFileError

if TYPE_CHECKING:
    from halflap.clients.places import Place
    from halflap.config import Scope, ServerConfig

_NAME = "halflap"


@dataclass(frozen=True, slots=True)
class Receipt:
    """What is needed to undo an installation."""

    name: str
    """The name of Halflap's entry."""
    original: str | None
    """The file without Halflap; None if there was none."""
    written: str
    """The digest of the file after the installation."""
    moved: tuple[tuple[str, ...], ...] = ()
    """The paths of the servers that were removed."""

    def is_exact(self, file: FileText) -> bool:
        """Return whether the file is unchanged, so that it can be restored byte for byte."""
        return file.digest == self.written


_RECEIPTS = TypeAdapter(Receipt)


def own_command(executable: str, config: Path | None, home: Path) -> list[str]:
    """Return the absolute command that starts Halflap: clients don't have the shell's PATH."""
    script = Path(executable).with_name("halflap")
    is_there = os.access(script, os.X_OK) and script.is_file()
    command = [str(script)] if is_there else [executable, "-m", "halflap"]
    named = [] if config is None else ["--config", str(path_from(str(config), working_folder(), home))]
    return [*command, "serve", *named]


def own_variables(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that locate Halflap's files; clients may not have them."""
    names = ("HALFLAP_CONFIG", "HALFLAP_CONFIG_DIR", "HALFLAP_DATA_DIR", "XDG_CONFIG_HOME", "XDG_DATA_HOME")
    home, folder = home_dir(environ), working_folder()
    return {name: str(path_from(environ[name], folder, home)) for name in names if environ.get(name)}


def is_temporary(executable: str) -> bool:
    """Return whether Halflap runs from a cache, as with uvx and `pipx run`."""
    parts = Path(executable).parts
    return any(part.startswith("archive-v") for part in parts) or {".cache", "pipx"} <= set(parts)


def entry_for(slug: str, command: list[str], environment: Mapping[str, str]) -> dict[str, Any]:
    """Return Halflap's entry for a client."""
    program, *args = command
    env = dict(environment)
    if slug == "goose":
        about = {"name": _NAME, "description": "One MCP server in front of all your others"}
        how = {"enabled": True, "type": "stdio", "timeout": 300}
        return {**how, **about, "cmd": program, "args": args, "envs": env}
    entry: dict[str, Any] = {"command": program, "args": args}
    if slug in {"claude-code", "vscode"}:
        entry = {"type": "stdio", **entry}
    if env:
        entry["env"] = env
    if slug == "claude-code":
        # Otherwise Claude Code hides Halflap's tools behind its own search.
        entry["alwaysLoad"] = True
    return entry


@dataclass(frozen=True, slots=True)
class Installation:
    """The result of an installation, before it is written."""

    after: str
    receipt: Receipt
    stays: tuple[tuple[str, str], ...]
    """Servers that were not moved, with the reason."""


def install_into(
    before: FileText,
    place: Place,
    entry: Mapping[str, Any],
    scope: Scope,
    *,
    configured: Iterable[ServerConfig] | None = None,
    earlier: Receipt | None = None,
) -> Installation:
    """Add Halflap to a client's file; with `configured`, remove the servers that Halflap has.

    An earlier installation is undone first, so that one receipt covers both.
    """
    original = None if before.data is None else before.text
    if earlier is not None:
        original = undo(earlier, before, place)
    document = Document(place.file, original or "")
    name = _add_entry(document, place, entry)
    moved: list[tuple[str, ...]] = []
    stays: list[tuple[str, str]] = []
    found = [] if configured is None else servers_in(place, document.value, scope)
    for one, reason in _choose(found, list(configured or ()), scope):
        if reason is None:
            moved.append((*one.place.keys, one.name))
            document.remove(moved[-1])
        else:
            stays.append((one.name, reason))
    is_same = Document(place.file, before.text).value == document.value
    after = before.text if is_same else document.text
    written = sha256(after.encode()).hexdigest()
    return Installation(after, Receipt(name, original, written, tuple(moved)), tuple(stays))


def _add_entry(document: Document, place: Place, entry: Mapping[str, Any]) -> str:
    """Add or update Halflap's entry; return its name."""
    servers = document.at(place.keys)
    servers = {} if servers is None else servers
    if not isinstance(servers, Mapping):
        raise ClientFileError(f"{place.file}: `{'.'.join(place.keys)}` must be an object of servers.")
    name = next((name for name, raw in servers.items() if is_itself(name, raw)), _NAME)
    before = servers.get(name)
    if before is not None and not (is_itself(name, before) and {"command", "cmd"} & before.keys()):
        raise ClientFileError(
            f"{place.file}: it has a server `{_NAME}` that Halflap did not add. Rename or remove that server first. "
            "Nothing was written."
        )
    if before != (after := {**(before or {}), **entry}):
        document.put((*place.keys, name), after)
    return name


def _choose(
    found: Iterable[Found], configured: Sequence[ServerConfig], scope: Scope
) -> Iterator[tuple[Found, str | None]]:
    """Yield each server of a client, with the reason why it can't be moved, or None."""
    for one in found:
        identity = set() if one.refused else fingerprints(one.entry, scope)
        same = [server for server in configured if server.fingerprint in identity and not server.broken]
        if not same:
            yield one, "it is not in Halflap's configuration"
        elif one.disabled or all(server.disabled for server in same):
            yield one, "it is disabled in the client or in Halflap's configuration"
        else:
            yield one, "the client may be signed in to it" if one.signs_in else None


def undo(receipt: Receipt, file: FileText, place: Place) -> str | None:
    """Return the file's content without the installation, or None if the file did not exist before.

    An unchanged file is restored byte for byte. Otherwise Halflap's entry is removed and the moved servers are put
    back, and later changes stay.
    """
    if receipt.is_exact(file):
        return receipt.original
    document, original = Document(place.file, file.text), Document(place.file, receipt.original or "")
    own = (*place.keys, receipt.name)
    if is_itself(receipt.name, document.at(own)):
        before = original.at(own)
        document.remove(own) if before is None else document.put(own, before)
    for path in receipt.moved:
        if document.at(path) is None:
            document.put(path, original.at(path))
    return document.text


def read_receipt(data_dir: Path, file: Path) -> Receipt | None:
    path = _receipt_path(data_dir, file)
    noted = read_file(path)
    if noted.data is None:
        return None
    try:
        return _RECEIPTS.validate_json(noted.data)
    except ValidationError:
        raise ClientFileError(
            f"{path}, which is needed to restore {file}, is damaged. Backups are in {data_dir / 'backups'}."
        ) from None


def write_receipt(data_dir: Path, file: Path, receipt: Receipt | None) -> None:
    """Write the receipt of an installation, or delete it for None."""
    data = None if receipt is None else _RECEIPTS.dump_json(receipt, indent=2)
    replace_file(read_file(_receipt_path(data_dir, file)), data)


def _receipt_path(data_dir: Path, file: Path) -> Path:
    name = sha256(str(file).encode("utf-8", "surrogateescape")).hexdigest()[:24]
    return data_dir / "clients" / f"{name}.json"
