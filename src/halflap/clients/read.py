"""Read the servers of every client."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from halflap.clients.documents import open_document
from halflap.clients.files import read_file
from halflap.clients.translate import Found, is_itself, translate
from halflap.core.errors import ClientFileError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from halflap.clients.places import Place
    from halflap.config import Scope


@dataclass(frozen=True, slots=True)
class Gathered:
    """Everything that was found."""

    servers: tuple[Found, ...]
    places: tuple[Place, ...]
    """The places that exist."""
    unreadable: tuple[str, ...]
    """What is wrong with the files that can't be read."""


def gather(places: Sequence[Place], scope: Scope) -> Gathered:
    """Read every place; a file that can't be read is reported and does not affect the others."""
    servers: list[Found] = []
    existing: list[Place] = []
    unreadable: list[str] = []
    settings: Mapping[str, Any] = {}
    seen: set[tuple[str, tuple[str, ...]]] = set()
    for place in places:
        # The same file may be reached twice: by a link, or because the working folder is the home folder.
        identity = (os.path.realpath(place.file), place.keys)
        if identity in seen:
            continue
        seen.add(identity)
        try:
            file = read_file(place.file)
            if file.data is None:
                continue
            value = open_document(place.file, file.text).value
            if place.client.slug == "claude-code" and place.folder is None:
                settings = value
            servers += servers_in(place, value, scope, settings)
            existing.append(place)
        except ClientFileError as error:
            unreadable.append(str(error))
    return Gathered(tuple(servers), tuple(existing), tuple(unreadable))


def servers_in(
    place: Place, value: Mapping[str, Any], scope: Scope, settings: Mapping[str, Any] | None = None
) -> list[Found]:
    """Return the servers of one file; `settings` is Claude Code's own file, which says what is switched off."""
    found: list[Found] = []
    for one, raw, inputs in _sections(place, value):
        off = _switched_off(one, settings or value)
        for name, entry in raw.items():
            if is_itself(name, entry):
                found.append(Found(name, one, refused="it is Halflap itself.", is_itself=True))
            else:
                found.append(translate(name, entry, one, scope, inputs=inputs, disabled=name in off))
    return found


def _sections(place: Place, value: Mapping[str, Any]) -> Iterator[tuple[Place, Mapping[str, Any], Any]]:
    """Yield each object of servers in a file; Claude Code's file has one per project, too."""
    holder = value
    for key in place.keys[:-1]:
        holder = _mapping(holder.get(key))
    servers = holder.get(place.keys[-1])
    if servers is not None and not isinstance(servers, Mapping):
        raise ClientFileError(f"{place.file}: `{'.'.join(place.keys)}` must be an object of servers.")
    yield place, servers or {}, holder.get("inputs")
    if place.client.slug == "claude-code" and place.folder is None:
        for folder, project in _mapping(value.get("projects")).items():
            servers = _mapping(_mapping(project).get("mcpServers"))
            # Claude Code keeps projects whose folder is gone.
            if servers and Path(folder).is_dir():
                keys = ("projects", folder, "mcpServers")
                yield (
                    replace(place, keys=keys, folder=Path(folder), detail=f", project {folder}"),
                    servers,
                    None,
                )


def _switched_off(place: Place, settings: Mapping[str, Any]) -> list[Any]:
    """Return the names of servers that Claude Code has switched off in a project."""
    if place.client.slug != "claude-code" or place.folder is None:
        return []
    project = _mapping(_mapping(settings.get("projects")).get(str(place.folder)))
    key = "disabledMcpjsonServers" if place.file.name == ".mcp.json" else "disabledMcpServers"
    names = project.get(key)
    return names if isinstance(names, list) else []


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
