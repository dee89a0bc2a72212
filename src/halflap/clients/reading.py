"""Reads what clients have: every server of every place, translated, and what cannot be read."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from halflap.clients import jsontext
from halflap.clients.blocking import names_in
from halflap.clients.files import read_file
from halflap.clients.jsonblocks import Document, two_places
from halflap.clients.translate import Found, starts_itself, translate
from halflap.config.problems import show
from halflap.core.errors import ClientFileError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from halflap.clients.places import Place
    from halflap.config import Scope

__all__ = ["Gathered", "gather", "servers_in", "value_of"]


_GONE = "disabled: the folder of its project is not there any more"


@dataclass(frozen=True, slots=True)
class Gathered:
    """Everything that was found."""

    servers: tuple[Found, ...]
    looked_at: tuple[Place, ...]
    """The places that there are."""
    unreadable: tuple[str, ...]
    """What is wrong with the files that cannot be read."""
    repeated: tuple[str, ...] = ()
    """Where a name stands twice, so that of two servers only the later counts, or is off in a project alone."""


def gather(places: Sequence[Place], scope: Scope) -> Gathered:
    """Read every place; what cannot be read keeps nothing else from being found."""
    servers: list[Found] = []
    there: list[Place] = []
    unreadable: list[str] = []
    repeated: list[str] = []
    settings: Mapping[str, Any] = {}
    for place in _once(places):
        try:
            file = read_file(place.file)
            if file.data is None:
                continue
            value = value_of(place.file, file.text)
            if place.client.slug == "claude-code" and place.folder is None:
                settings = value
            servers += servers_in(place, value, scope, settings)
        except ClientFileError as error:
            unreadable.append(str(error))
        else:
            there.append(place)
            repeated += [*_repeated(place, value, file.text), *_off_in_projects(place, value)]
    return Gathered(tuple(servers), tuple(there), tuple(unreadable), tuple(repeated))


def _once(places: Sequence[Place]) -> list[Place]:
    """Leave out what is a file of another place: by a link, or because the folder is the person's home."""
    same: dict[tuple[str, tuple[str, ...]], list[Place]] = {}
    for place in places:
        same.setdefault((os.path.realpath(place.file), place.keys), []).append(place)
    # The client counts whose own file it is: what variables mean, and where a server runs, depends on it.
    chosen = [
        min(group, key=lambda one: (one.folder is not None, one.file.is_symlink())) for group in same.values()
    ]
    return [place for place in places if place in chosen]


def _off_in_projects(place: Place, value: Mapping[str, Any]) -> list[str]:
    """Say which servers of Claude Code are switched off in some project, which Halflap has nothing like."""
    own, off = _mapping(value.get("mcpServers")), _OffInProjects.of(place, value)
    said = [
        f"`{show(name)}` is switched off in {_projects(folders)} alone; in Halflap it is on everywhere."
        for name, folders in off.folders.items()
        if name in own
    ]
    said += [
        f"{odd}. If servers of your own are off there alone: in Halflap they are on everywhere."
        for odd in off.odd
        if own
    ]
    return said


@dataclass(frozen=True, slots=True)
class _OffInProjects:
    """What Claude Code has off in some projects of the servers that are the person's own."""

    folders: Mapping[str, list[str]]
    """The projects, by the server's name."""
    odd: tuple[str, ...]
    """What is wrong with saying so."""

    @classmethod
    def of(cls, place: Place, value: Mapping[str, Any]) -> _OffInProjects:
        folders: dict[str, list[str]] = {}
        odd = []
        if place.client.slug == "claude-code" and place.folder is None:
            for folder, project in _mapping(value.get("projects")).items():
                names, wrong = names_in(_mapping(project).get("disabledMcpServers"))
                for name in dict.fromkeys(names):
                    if name not in _mapping(_mapping(project).get("mcpServers")):
                        folders.setdefault(name, []).append(folder)
                if wrong:
                    odd.append(f"`disabledMcpServers` of the project {folder} {wrong}")
        return cls(folders, tuple(odd))

    def said(self, name: str) -> str:
        if name in self.folders:
            return f"it is switched off in {_projects(self.folders[name])}"
        return f"it may be switched off in a project: {self.odd[0]}" if self.odd else ""


def _projects(folders: Sequence[str]) -> str:
    if len(folders) == 1:
        return f"the project {folders[0]}"
    return f"the projects {', '.join(folders[:-1])} and {folders[-1]}"


def _repeated(place: Place, value: Mapping[str, Any], text: str) -> list[str]:
    """Say which names stand twice among the servers of a file, or that an object of servers does."""
    document = Document(text)
    said = [line for one, _, _ in _objects(place, value) for line in _repeated_in(one, document)]
    return list(dict.fromkeys(said))


def _repeated_in(place: Place, document: Document) -> list[str]:
    text, first = document.text, dict[str, int]()
    try:
        block = document.find(place.keys)
    except ClientFileError as error:
        return (
            [f"{place.file}: {error} Only the last counts, as in the client."]
            if "twice" in str(error)
            else []
        )
    found = []
    for member in () if block is None else block.members:
        if member.key in first:
            here, there = two_places(text, first[member.key], member.start)
            found.append(
                f"{place.file}{place.detail}: {here}: the server `{show(member.key)}` stands here twice; the first is "
                f"{there}. Only the last counts, as in the client: give one another name."
            )
        first[member.key] = member.start
    return found


def value_of(path: Path, text: str) -> Mapping[str, Any]:
    """Give the value of a client's file, which is an object."""
    try:
        value = jsontext.parse(text) if text.strip() else {}
    except ClientFileError as error:
        raise ClientFileError(f"{path}: {error} Nothing was written.") from None
    if not isinstance(value, Mapping):
        raise ClientFileError(f"{path}: the file must be an object of keys and values. Nothing was written.")
    return value


def servers_in(
    place: Place, value: Mapping[str, Any], scope: Scope, settings: Mapping[str, Any] | None = None
) -> list[Found]:
    """Give the servers of one file; `settings` is Claude Code's own file, which says what is switched off.

    What starts Halflap is marked, and refused; what is Halflap by its name, and reached by a URL, may be another.
    """
    found: list[Found] = []
    for one, raw, inputs in _objects(place, value):
        off, held = _switched_off(one, settings or value)
        off_in = _OffInProjects.of(one, value).said
        is_gone = one.folder is not None and not one.folder.is_dir()
        for name, entry in raw.items():
            if starts_itself(entry):
                found.append(Found(name, one, refused="it starts Halflap itself", itself=True))
                continue
            server = translate(name, entry, one, scope, inputs=inputs, disabled=name in off, held=held)
            server = replace(server, off_in=off_in(name))
            found.append(server.disable(_GONE) if is_gone and not server.refused else server)
    return found


def _objects(place: Place, value: Mapping[str, Any]) -> Iterator[tuple[Place, Mapping[str, Any], Any]]:
    """Give each object of servers of a file, with the place that it is."""
    holder = value
    for key in place.keys[:-1]:
        holder = _mapping(holder.get(key))
    servers = holder.get(place.keys[-1])
    if servers is not None and not isinstance(servers, Mapping):
        raise ClientFileError(
            f"{place.file}: `{'.'.join(place.keys)}` must be an object of servers. Nothing was written."
        )
    yield place, servers or {}, holder.get("inputs")
    if place.client.slug == "claude-code" and place.folder is None:
        for folder, project in _mapping(value.get("projects")).items():
            servers = _mapping(_mapping(project).get("mcpServers"))
            if servers:
                keys = ("projects", folder, "mcpServers")
                yield (
                    replace(place, keys=keys, folder=Path(folder), detail=f", project {folder}"),
                    servers,
                    None,
                )


def _switched_off(place: Place, settings: Mapping[str, Any]) -> tuple[list[str], dict[str, str]]:
    """Give the servers that Claude Code has switched off for a project, and what is odd about saying so, by its key."""
    if place.client.slug != "claude-code" or place.folder is None:
        return [], {}
    project = _mapping(_mapping(settings.get("projects")).get(str(place.folder)))
    key = "disabledMcpjsonServers" if place.file.name == ".mcp.json" else "disabledMcpServers"
    names, odd = names_in(project.get(key))
    return names, {key: f"`{key}` of its project {odd}"} if odd else {}


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
