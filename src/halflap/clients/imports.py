"""Decide which of the clients' servers are new to Halflap's configuration, and add them to it."""

from __future__ import annotations

import json
import re
import unicodedata
from dataclasses import dataclass
from hashlib import sha256
from itertools import count
from typing import TYPE_CHECKING, Any

from halflap.clients.documents import open_document
from halflap.clients.files import FileText, read_file, replace_file
from halflap.clients.translate import read_entry, same_server
from halflap.config.reader import Reader
from halflap.config.servers import read_servers
from halflap.config.source import parse
from halflap.core.values import OWN, canonical

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

    def document(self) -> Document:
        is_json = self.file.path.suffix.lower() in {".json", ".jsonc"}
        text = ("" if is_json else _NEW_FILE) if self.file.data is None else self.file.text
        return open_document(self.file.path, text)


def read_own_config(path: Path) -> OwnConfig:
    """Read the file; raise `ConfigError` if something is wrong in it."""
    file = read_file(path)
    if file.data is None:
        return OwnConfig(file, {})
    reader = Reader(parse(file.data, path))
    servers = read_servers(reader)
    reader.problems += [problem for server in servers for problem in server.problems]
    reader.raise_problems()
    return OwnConfig(file, {server.name: server for server in servers})


@dataclass(frozen=True, slots=True)
class Addition:
    """A client's server that the configuration has or gets, under this name."""

    found: Found
    name: str
    is_new: bool


@dataclass(frozen=True, slots=True)
class Import:
    """What becomes of every server that was found."""

    additions: tuple[Addition, ...]
    earlier: tuple[Found, ...]
    """Imported before, and since changed or removed by the user."""
    refused: tuple[Found, ...]
    notes: tuple[str, ...]

    @property
    def new(self) -> list[Addition]:
        """One addition for each server that is new."""
        return list({one.name: one for one in reversed(self.additions) if one.is_new}.values())[::-1]

    def apply(self, document: Document, home: Path) -> None:
        """Write the new servers, and block the tools that are switched off in the client."""
        blocked = []
        for one in self.new:
            comments = (f"from {one.found.place.describe(home)}", *one.found.notes)
            document.put(("mcpServers", one.name), dict(one.found.entry), comments)
            blocked += [
                re.sub(r"\W", "_", f"mcp__{one.name}__{tool}", flags=re.ASCII) for tool in one.found.blocked
            ]
        if blocked and document.at(("tools", "allow")) is None:
            kept = document.at(("tools", "block")) or []
            document.put(("tools", "block"), [*kept, *(name for name in blocked if name not in kept)])

    def digests(self) -> list[str]:
        return [digest(one.found) for one in self.additions]


def digest(found: Found) -> str:
    """Identify a client's server by its name and entry, revealing nothing of either."""
    entry = {key: value for key, value in found.entry.items() if key != "disabled"}
    return sha256(canonical([found.name, entry]).encode("utf-8", "surrogatepass")).hexdigest()


def plan_import(
    found: Sequence[Found],
    existing: Mapping[str, ServerConfig],
    scope: Scope,
    *,
    imported: Collection[str] = (),
) -> Import:
    """Sort servers into new, known and refused ones; `imported` are the digests of earlier imports."""
    additions: list[Addition] = []
    earlier, refused, notes = [], [], []
    new: dict[str, tuple[Found, ServerConfig]] = {}
    for one in found:
        server = None if one.refused else read_entry(one.entry)[0]
        if server is None:
            refused.append(one)
            continue
        known = [name for name, other in existing.items() if same_server(server, other, scope)]
        twin = next(
            (
                name
                for name, (first, other) in new.items()
                if first.name == one.name and same_server(server, other, scope)
            ),
            None,
        )
        if known:
            additions.append(Addition(one, one.name if one.name in known else known[0], is_new=False))
        elif twin is not None:
            additions.append(Addition(one, twin, is_new=False))
        elif digest(one) in imported:
            earlier.append(one)
        else:
            name = _free_name(one, existing.keys() | new.keys())
            if name != one.name:
                notes.append(f"{one.label} from {one.place.client.label} is added as `{name}`.")
            notes += [f"`{name}`: {note}" for note in one.notes]
            new[name] = (one, server)
            additions.append(Addition(one, name, is_new=True))
    return Import(tuple(additions), tuple(earlier), tuple(refused), tuple(notes))


def _free_name(one: Found, taken: Collection[str]) -> str:
    visible = "".join(letter for letter in one.name if unicodedata.category(letter) not in _INVISIBLE).strip()
    base = visible[:_MAX_NAME] or "server"
    if base not in taken and base not in OWN:
        return base
    for number in count(1):
        ending = f"-{one.place.slug}"[:32] + (f"-{number}" if number > 1 else "")
        if (name := base[: _MAX_NAME - len(ending)] + ending) not in taken:
            break
    return name


_INVISIBLE = frozenset({"Cc", "Cs", "Zl", "Zp"})


def remembered(data_dir: Path, config: Path, add: Collection[str] = ()) -> frozenset[str]:
    """Return the digests of servers imported into a configuration, after adding some."""
    path = data_dir / "clients" / "imported.json"
    file = read_file(path)
    try:
        files: dict[str, Any] = json.loads(file.data or b"{}").get("files", {})
        known = {one for one in files.get(str(config), ()) if isinstance(one, str)}
    except (ValueError, AttributeError, TypeError, RecursionError):
        files, known = {}, set()
    if not known.issuperset(add):
        known |= set(add)
        value = {"version": 1, "files": {**files, str(config): sorted(known)}}
        replace_file(file, (json.dumps(value, indent=2) + "\n").encode())
    return frozenset(known)
