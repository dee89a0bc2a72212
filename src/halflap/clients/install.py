"""Add Halflap to a client's file, move servers out of it, and undo both."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ValidationError

from halflap.clients.documents import CannotEditError, open_document
from halflap.clients.files import FileText, delete, read_file, replace_file
from halflap.clients.read import servers_in
from halflap.clients.translate import fingerprints, is_itself
from halflap.config import home_dir, path_from, working_folder
from halflap.core.errors import ClientFileError

if TYPE_CHECKING:
    from halflap.clients.documents import Document
    from halflap.clients.places import Place
    from halflap.clients.translate import Found
    from halflap.config import Scope, ServerConfig

_NAME = "halflap"


class Moved(BaseModel, frozen=True):
    """A server that was taken out of a client."""

    keys: tuple[str, ...]
    name: str
    entry: Any


class Receipt(BaseModel, frozen=True):
    """What `install` did to a file, as far as undoing it needs to know."""

    file: Path
    keys: tuple[str, ...]
    name: str
    replaced: Any = None
    """The entry that was there under that name."""
    backup: Path | None = None
    """The file before; None if there was none."""
    original: str | None = None
    """The digest of the file before."""
    written: str = ""
    """The digest of the file after."""
    exact: bool = True
    """Nothing else changed the file between several installations, so the backup can be restored."""
    moved: tuple[Moved, ...] = ()


def own_command(executable: str, config: Path | None, home: Path) -> list[str]:
    """Return an absolute command that starts Halflap, since clients don't have the shell's PATH."""
    script = Path(executable).with_name("halflap.exe" if os.name == "nt" else "halflap")
    is_there = os.access(script, os.X_OK) and script.is_file()
    command = [str(script)] if is_there else [executable, "-m", "halflap"]
    named = [] if config is None else ["--config", str(path_from(str(config), working_folder(), home))]
    return [*command, "serve", *named]


def own_variables(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the variables by which Halflap finds its files here; a client may not have them."""
    names = ("HALFLAP_CONFIG", "HALFLAP_CONFIG_DIR", "HALFLAP_DATA_DIR", "XDG_CONFIG_HOME", "XDG_DATA_HOME")
    home, folder = home_dir(environ), working_folder()
    return {name: str(path_from(environ[name], folder, home)) for name in names if environ.get(name)}


def is_temporary(executable: str) -> bool:
    """Return whether Halflap runs from a cache that may be emptied, as with uvx and `pipx run`."""
    parts = Path(executable).parts
    return any(part.startswith("archive-v") for part in parts) or {".cache", "pipx"} <= set(parts)


def entry_for(slug: str, command: list[str], environment: Mapping[str, str]) -> dict[str, Any]:
    """Return Halflap's entry in a client's form."""
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
        # Otherwise Claude Code hides Halflap's few tools behind its own search.
        entry["alwaysLoad"] = True
    return entry


@dataclass(frozen=True, slots=True)
class Installation:
    """A client's file with Halflap in it."""

    after: bytes
    receipt: Receipt
    """Without the backup and the digests of the file, which are known once it is written."""
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
    """Add Halflap to a client's file; with `configured`, take out the servers that Halflap has.

    What an earlier installation did is undone first, so that one receipt is enough for both.
    """
    original = before.text if earlier is None else (undo(earlier, before) or b"").decode()
    document = open_document(place.file, original)
    name, replaced = _add_entry(document, place, entry)
    moved: list[Moved] = []
    stays: list[tuple[str, str]] = []
    found = [] if configured is None else servers_in(place, document.value, scope)
    for one, reason in _choose(found, list(configured or ()), scope):
        if reason is not None:
            stays.append((one.name, reason))
            continue
        keys = (*one.place.keys, one.name)
        moved.append(Moved(keys=one.place.keys, name=one.name, entry=document.at(keys)))
        document.remove(keys)
    is_same = open_document(place.file, before.text).value == document.value
    receipt = Receipt(
        file=place.file,
        keys=place.keys,
        name=name,
        replaced=replaced,
        exact=earlier is None or (earlier.exact and earlier.written == before.digest),
        moved=tuple(moved),
    )
    return Installation(before.data or b"" if is_same else document.text.encode(), receipt, tuple(stays))


def _add_entry(document: Document, place: Place, entry: Mapping[str, Any]) -> tuple[str, Any]:
    """Add Halflap's entry, or update the one there is; return its name, and what it replaced."""
    servers = document.at(place.keys)
    servers = {} if servers is None else servers
    if not isinstance(servers, Mapping):
        raise ClientFileError(f"{place.file}: `{'.'.join(place.keys)}` must be an object of servers.")
    name = next((name for name, raw in servers.items() if is_itself(name, raw)), _NAME)
    before = servers.get(name)
    if before is not None and not (is_itself(name, before) and {"command", "cmd"} & before.keys()):
        raise ClientFileError(
            f"{place.file}: there is a server named `{_NAME}` that Halflap did not add. Rename or remove it. "
            "Nothing was written."
        )
    if before != (after := {**(before or {}), **entry}):
        document.put((*place.keys, name), after)
    return name, before


def _choose(
    found: Iterable[Found], configured: Sequence[ServerConfig], scope: Scope
) -> Iterator[tuple[Found, str | None]]:
    """Yield each server of a client, with the reason why it can't move to Halflap."""
    for one in found:
        if one.is_itself:
            continue
        identity = set() if one.refused else fingerprints(one.entry, scope)
        same = [server for server in configured if server.fingerprint in identity and not server.broken]
        if not same:
            yield one, "Halflap's configuration doesn't have it"
        elif all(server.disabled for server in same):
            yield one, "it is disabled in Halflap's configuration"
        elif one.disabled:
            yield one, "it is disabled in the client and enabled in Halflap"
        else:
            yield one, "the client may sign in to it, which Halflap doesn't" if one.signs_in else None


def read_receipt(data_dir: Path, file: Path) -> Receipt | None:
    path = _receipt_path(data_dir, file)
    noted = read_file(path)
    if noted.data is None:
        return None
    try:
        return Receipt.model_validate_json(noted.data)
    except ValidationError:
        raise ClientFileError(
            f"{path} can't be read, so {file} can't be restored from it. Backups are in {data_dir / 'backups'}."
        ) from None


def write_receipt(data_dir: Path, file: Path, receipt: Receipt | None) -> None:
    before = read_file(_receipt_path(data_dir, file))
    if receipt is not None:
        replace_file(before, receipt.model_dump_json(indent=2).encode())
    elif before.data is not None:
        delete(before)


def _receipt_path(data_dir: Path, file: Path) -> Path:
    name = sha256(str(file).encode("utf-8", "surrogateescape")).hexdigest()[:24]
    return data_dir / "clients" / f"{name}.receipt.json"


def undo(receipt: Receipt, file: FileText) -> bytes | None:
    """Return the file's content before the installation; None if there was no file.

    An unchanged file is restored byte for byte. Otherwise only Halflap's entry is taken out and the moved servers are
    put back, so that later changes stay.
    """
    if receipt.exact and file.digest == receipt.written:
        if receipt.backup is None:
            return None
        backup = read_file(receipt.backup)
        if backup.data is not None and backup.digest == receipt.original:
            return backup.data
    try:
        document = open_document(receipt.file, file.text)
        own = (*receipt.keys, receipt.name)
        if is_itself(receipt.name, document.at(own)):
            if receipt.replaced is None:
                document.remove(own)
            else:
                document.put(own, receipt.replaced)
        for one in receipt.moved:
            if document.at((*one.keys, one.name)) is None:
                document.put((*one.keys, one.name), one.entry)
    except (ClientFileError, CannotEditError) as error:
        where = f" Backup: {receipt.backup}" if receipt.backup else ""
        raise ClientFileError(f"{error}{where}") from None
    return document.text.encode()
