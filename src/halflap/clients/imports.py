"""Collect the servers of all clients, and decide which are new."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

from halflap.clients.documents import Document
from halflap.clients.files import FileText, read_file
from halflap.clients.translate import Found, fingerprints, is_itself, translate
from halflap.config.reader import Reader
from halflap.config.servers import read_servers
from halflap.config.syntax import parse
from halflap.core.errors import ClientFileError
from halflap.core.text import clean
from halflap.core.values import OWN

if TYPE_CHECKING:
    from halflap.clients.places import Place
    from halflap.config import Scope, ServerConfig

_MAX_NAME = 64
_NEW_FILE = "# Halflap's configuration. `halflap doctor` checks it.\n"


def gather(places: Sequence[Place], scope: Scope) -> tuple[list[Found], list[str]]:
    """Return the servers in all places, and the problems of unreadable files."""
    servers: list[Found] = []
    unreadable: list[str] = []
    # The same file may be reached twice: by a link, or because the working folder is the home folder.
    unique = {os.path.realpath(place.file): place for place in reversed(places)}
    for place in reversed(unique.values()):
        try:
            file = read_file(place.file)
            if file.data is not None:
                servers += servers_in(place, Document(place.file, file.text).value, scope)
        except ClientFileError as error:
            unreadable.append(str(error))
    return servers, unreadable


def servers_in(place: Place, value: Mapping[str, Any], scope: Scope) -> list[Found]:
    """Return the servers of one file, without Halflap itself."""
    return [
        translate(name, entry, one, scope, inputs=value.get("inputs"), disabled=name in disabled)
        for one, servers, disabled in _sections(place, value)
        for name, entry in servers.items()
        if not is_itself(name, entry)
    ]


def _sections(
    place: Place, value: Mapping[str, Any]
) -> Iterator[tuple[Place, Mapping[str, Any], Collection[str]]]:
    """Yield each group of servers in a file, with the names disabled there; Claude Code has one per project."""
    key = place.client.key
    servers = value.get(key)
    if servers is not None and not isinstance(servers, Mapping):
        raise ClientFileError(f"{place.file}: `{key}` must be an object of servers.")
    yield place, servers or {}, ()
    projects = value.get("projects") if place.client.slug == "claude-code" and place.folder is None else None
    for folder, project in projects.items() if isinstance(projects, Mapping) else ():
        servers = project.get(key) if isinstance(project, Mapping) else None
        # Claude Code keeps entries of deleted projects.
        if isinstance(servers, Mapping) and Path(folder).is_dir():
            disabled = project.get("disabledMcpServers")
            inner = replace(place, keys=("projects", folder, key), folder=Path(folder))
            yield inner, servers, disabled if isinstance(disabled, list) else ()


@dataclass(frozen=True, slots=True)
class OwnConfig:
    """The user's configuration file, with nothing expanded."""

    file: FileText
    servers: Mapping[str, ServerConfig]
    fingerprints: Mapping[str, str]
    """Server names by fingerprint, as written and expanded."""

    def document(self) -> Document:
        is_json = self.file.path.suffix.lower() in {".json", ".jsonc"}
        text = ("" if is_json else _NEW_FILE) if self.file.data is None else self.file.text
        return Document(self.file.path, text)


def read_own_config(path: Path, scope: Scope) -> OwnConfig:
    """Read the file; raise `ConfigError` unless only single entries are broken."""
    file = read_file(path)
    if file.data is None:
        return OwnConfig(file, {}, {})
    source = parse(file.data, path)
    reader = Reader(source)
    servers = read_servers(reader)
    reader.raise_problems()
    expanded = read_servers(Reader(source, scope))
    names = {one.fingerprint: one.name for one in (*servers, *expanded) if one.broken is None}
    return OwnConfig(file, {server.name: server for server in servers}, names)


@dataclass(frozen=True, slots=True)
class Import:
    """What happens to each server that was found."""

    new: dict[str, Found] = field(default_factory=dict)
    """By their new names."""
    present: list[tuple[str, Found]] = field(default_factory=list)
    """Known already, under this name: configured, or new from another client."""
    refused: list[tuple[Found, str]] = field(default_factory=list)
    """Not imported, with reasons."""
    notes: list[str] = field(default_factory=list)


def plan_import(found: Sequence[Found], own: OwnConfig, scope: Scope) -> Import:
    """Decide which servers are new, known or refused."""
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
            plan.refused.append((one, "your configuration has another server of that name."))
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
