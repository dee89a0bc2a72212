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
    from collections.abc import Collection, Sequence

    from halflap.clients.places import Place
    from halflap.config import Scope


@dataclass(frozen=True, slots=True)
class Gathered:
    """Everything that was found."""

    servers: tuple[Found, ...]
    unreadable: tuple[str, ...]
    """What is wrong with the files that can't be read."""


def gather(places: Sequence[Place], scope: Scope) -> Gathered:
    """Read every place; a file that can't be read is reported and does not affect the others."""
    servers: list[Found] = []
    unreadable: list[str] = []
    # The same file may be reached twice: by a link, or because the working folder is the home folder.
    for place in {os.path.realpath(place.file): place for place in reversed(places)}.values():
        try:
            file = read_file(place.file)
            if file.data is not None:
                servers[:0] = servers_in(place, open_document(place.file, file.text).value, scope)
        except ClientFileError as error:
            unreadable.insert(0, str(error))
    return Gathered(tuple(servers), tuple(unreadable))


def servers_in(place: Place, value: Mapping[str, Any], scope: Scope) -> list[Found]:
    """Return the servers of one file."""
    found: list[Found] = []
    for one, servers, disabled in _sections(place, value):
        for name, entry in servers.items():
            if is_itself(name, entry):
                found.append(Found(name, one, refused="it is Halflap itself.", is_itself=True))
            else:
                inputs = value.get("inputs")
                found.append(translate(name, entry, one, scope, inputs=inputs, disabled=name in disabled))
    return found


def _sections(
    place: Place, value: Mapping[str, Any]
) -> Iterator[tuple[Place, Mapping[str, Any], Collection[str]]]:
    """Yield each object of servers in a file, and the names disabled there; Claude Code has one per project, too."""
    key = place.client.key
    servers = value.get(key)
    if servers is not None and not isinstance(servers, Mapping):
        raise ClientFileError(f"{place.file}: `{key}` must be an object of servers.")
    yield place, servers or {}, ()
    projects = value.get("projects") if place.client.slug == "claude-code" and place.folder is None else None
    for folder, project in projects.items() if isinstance(projects, Mapping) else ():
        servers = project.get(key) if isinstance(project, Mapping) else None
        # Claude Code keeps projects whose folder is gone.
        if isinstance(servers, Mapping) and Path(folder).is_dir():
            disabled = project.get("disabledMcpServers")
            inner = replace(place, keys=("projects", folder, key), folder=Path(folder))
            yield inner, servers, disabled if isinstance(disabled, list) else ()
