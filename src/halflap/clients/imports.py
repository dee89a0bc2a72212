"""Decide which of the clients' servers are new to Halflap's configuration."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import count
from typing import TYPE_CHECKING

from halflap.clients.documents import open_document
from halflap.clients.files import FileText, read_file
from halflap.clients.translate import fingerprints
from halflap.config.reader import Reader
from halflap.config.servers import read_servers
from halflap.config.syntax import parse
from halflap.core.text import clean
from halflap.core.values import OWN

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence
    from pathlib import Path

    from halflap.clients.documents import Document
    from halflap.clients.translate import Found
    from halflap.config import Scope, ServerConfig

_MAX_NAME = 64
_NEW_FILE = "# Halflap's configuration. `halflap doctor` checks it.\n"


@dataclass(frozen=True, slots=True)
class OwnConfig:
    """Halflap's configuration as written in its file, with nothing expanded."""

    file: FileText
    servers: Mapping[str, ServerConfig]
    fingerprints: Mapping[str, str]
    """The name of each server, by what identifies it as written or with its variables expanded."""

    def document(self) -> Document:
        is_json = self.file.path.suffix.lower() in {".json", ".jsonc"}
        text = ("" if is_json else _NEW_FILE) if self.file.data is None else self.file.text
        return open_document(self.file.path, text)


def read_own_config(path: Path, scope: Scope) -> OwnConfig:
    """Read the file; raise `ConfigError` if something is wrong in it."""
    file = read_file(path)
    if file.data is None:
        return OwnConfig(file, {}, {})
    source = parse(file.data, path)
    reader = Reader(source)
    servers = read_servers(reader)
    reader.problems += [problem for server in servers for problem in server.problems]
    reader.raise_problems()
    usable = [server for server in read_servers(Reader(source, scope)) if server.broken is None]
    names = {server.fingerprint: server.name for server in (*servers, *usable)}
    return OwnConfig(file, {server.name: server for server in servers}, names)


@dataclass(frozen=True, slots=True)
class Import:
    """What becomes of every server that was found."""

    new: dict[str, Found] = field(default_factory=dict)
    """By the name it gets."""
    present: list[tuple[str, Found]] = field(default_factory=list)
    """Already there or new from another client, under this name."""
    refused: list[tuple[Found, str]] = field(default_factory=list)
    """Not imported, with the reason."""
    notes: list[str] = field(default_factory=list)

    def apply(self, document: Document, home: Path) -> None:
        """Write the new servers."""
        for name, one in self.new.items():
            comments = (f"from {one.place.describe(home)}", *one.notes)
            document.put(("mcpServers", name), dict(one.entry), comments)


def plan_import(found: Sequence[Found], own: OwnConfig, scope: Scope) -> Import:
    """Sort servers into new, known and refused ones."""
    plan = Import()
    for one in found:
        identity = set() if one.refused else fingerprints(one.entry, scope)
        twins = {name for name, new in plan.new.items() if new.name == one.name and new.entry == one.entry}
        same = twins or {own.fingerprints[each] for each in identity if each in own.fingerprints}
        if one.refused is not None:
            plan.refused.append((one, one.refused))
        elif same:
            plan.present.append((one.name if one.name in same else min(same), one))
        elif one.name in own.servers:
            plan.refused.append((one, "your configuration has a different server of that name."))
        else:
            name = _free_name(one, plan.new.keys() | own.servers.keys())
            if name != one.name:
                plan.notes.append(f"{one.label} from {one.place.client.label} is added as `{name}`.")
            plan.notes.extend(f"`{name}`: {text}" for text in one.notes)
            plan.new[name] = one
    return plan


def _free_name(one: Found, taken: Collection[str]) -> str:
    base = clean(one.name.replace("\n", " "), _MAX_NAME).strip() or "server"
    if base not in taken and base not in OWN:
        return base
    endings = (f"-{one.place.slug}"[:32] + (f"-{number}" if number > 1 else "") for number in count(1))
    names = (base[: _MAX_NAME - len(ending)] + ending for ending in endings)
    return next(name for name in names if name not in taken)
