"""Add Halflap to a client's file, move servers out of it, and undo both."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ValidationError

from halflap.clients.documents import CannotEditError, open_document
from halflap.clients.files import FileText, delete, read_file, replace_file
from halflap.clients.translate import is_itself, read_entry, same_server
from halflap.config import home_dir, path_from, user_config_dir, user_data_dir, working_folder
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
    """Return the variables by which Halflap finds its files, where they differ from the defaults."""
    home = home_dir(environ)
    default = {"HOME": str(home)}
    found = {}
    if environ.get("HALFLAP_CONFIG"):
        found["HALFLAP_CONFIG"] = str(path_from(environ["HALFLAP_CONFIG"], working_folder(), home))
    elif (folder := user_config_dir(environ)) != user_config_dir(default):
        found["HALFLAP_CONFIG_DIR"] = str(folder)
    if (folder := user_data_dir(environ)) != user_data_dir(default):
        found["HALFLAP_DATA_DIR"] = str(folder)
    return found


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
        return {
            "enabled": True,
            "type": "stdio",
            **about,
            "cmd": program,
            "args": args,
            "envs": env,
            "timeout": 300,
        }
    entry: dict[str, Any] = {"command": program, "args": args}
    if slug in {"claude-code", "vscode", "vscode-insiders"}:
        entry = {"type": "stdio", **entry}
    if env:
        entry["env"] = env
    if slug == "claude-code":
        # Otherwise Claude Code hides Halflap's few tools behind its own search.
        entry["alwaysLoad"] = True
    return entry


def add_entry(
    document: Document, place: Place, entry: Mapping[str, Any], *, keep_options: bool
) -> tuple[str, Any, list[str]]:
    """Add Halflap's entry, or update the one there is; return its name, what it replaced, and other entries.

    `keep_options` keeps what follows `serve` in the existing command.
    """
    servers = document.at(place.keys)
    servers = {} if servers is None else servers
    if not isinstance(servers, Mapping):
        raise ClientFileError(f"{place.file}: `{'.'.join(place.keys)}` must be an object of servers.")
    own = [name for name, raw in servers.items() if is_itself(name, raw)]
    name = own[0] if own else _NAME
    before = servers.get(name)
    if before is not None and (not own or not {"command", "cmd"} & before.keys()):
        raise ClientFileError(
            f"{place.file}: there is a server named `{_NAME}` that Halflap did not add. Rename or remove it. "
            "Nothing was written."
        )
    old: Mapping[str, Any] = before or {}
    after = {**old, **entry}
    old_args = old.get("args", [])
    if keep_options and "serve" in old_args:
        after["args"] = [*entry["args"], *old_args[old_args.index("serve") + 1 :]]
    for variables in {"env", "envs"} & old.keys():
        after[variables] = {**old[variables], **entry.get(variables, {})}
    if before != after:
        document.put((*place.keys, name), after)
    return name, before, own[1:]


def choose(
    found: Iterable[Found], configured: Iterable[ServerConfig], scope: Scope
) -> list[tuple[Found, str | None]]:
    """Return each server of a client, with the reason why it can't move to Halflap."""
    servers = list(configured)
    return [(one, _reason(one, servers, scope)) for one in found if not one.is_itself]


def _reason(one: Found, servers: list[ServerConfig], scope: Scope) -> str | None:
    server = None if one.refused else read_entry(one.entry)[0]
    same = [other for other in servers if server is not None and same_server(server, other, scope)]
    if not same:
        return "Halflap's configuration doesn't have it"
    if all(other.disabled for other in same):
        return "it is disabled in Halflap's configuration"
    if one.disabled:
        return "it is disabled in the client and enabled in Halflap"
    return "the client may sign in to it, which Halflap doesn't" if one.signs_in else None


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


def undo(receipt: Receipt, file: FileText) -> tuple[bytes | None, list[str]]:
    """Return the file's content before the installation, and the names of entries that still start Halflap.

    An unchanged file is restored byte for byte. Otherwise only Halflap's entry is taken out and the moved servers are
    put back, so that later changes stay.
    """
    if receipt.exact and file.digest == receipt.written:
        if receipt.backup is None:
            return None, []
        backup = read_file(receipt.backup)
        if backup.data is not None and backup.digest == receipt.original:
            return backup.data, []
    try:
        document = open_document(receipt.file, file.text)
        servers = document.at(receipt.keys) or {}
        own = [name for name, raw in servers.items() if is_itself(name, raw)]
        name = receipt.name if receipt.name in own else own[0] if len(own) == 1 else None
        if name is not None and receipt.replaced is not None:
            document.put((*receipt.keys, name), receipt.replaced)
        elif name is not None:
            document.remove((*receipt.keys, name))
        for one in receipt.moved:
            if document.at((*one.keys, one.name)) is None:
                document.put((*one.keys, one.name), one.entry)
    except (ClientFileError, CannotEditError) as error:
        where = f" Backup: {receipt.backup}" if receipt.backup else ""
        raise ClientFileError(f"{error}{where}") from None
    still = [one for one in own if one != name] if receipt.replaced is None else own
    return document.text.encode(), still
