"""What of the clients' servers is new to Halflap's configuration, and under which name it comes in."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass, replace
from hashlib import sha256
from itertools import count
from typing import TYPE_CHECKING

from halflap.clients.configtext import Addition, Additions
from halflap.clients.translate import read_entry
from halflap.config.expand import expand
from halflap.values import OWN, canonical

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence
    from pathlib import Path

    from halflap.clients.translate import Found
    from halflap.config import ServerConfig
    from halflap.config.expand import Scope

__all__ = ["Import", "Taken", "arrange", "digest_of", "same_server"]

_LONGEST_NAME = 64


@dataclass(frozen=True, slots=True)
class Taken:
    """A server of a client that the configuration has, and the name that it has there."""

    found: Found
    name: str
    new: bool = False


@dataclass(frozen=True, slots=True)
class Import:
    """What is to be added, and the story of every server that was found."""

    additions: Additions
    taken: tuple[Taken, ...]
    earlier: tuple[Found, ...]
    """Imported before, and changed or taken out by the person since."""
    kept_out: tuple[Found, ...]
    notes: tuple[str, ...]


def digest_of(found: Found) -> str:
    """Tell a client's server from every other, by its name and all that it says; reveals nothing of it."""
    entry = {key: value for key, value in found.entry.items() if key != "disabled"}
    return sha256(canonical([found.name, entry]).encode("utf-8", "surrogatepass")).hexdigest()


def same_server(one: ServerConfig, other: ServerConfig, scope: Scope) -> bool:
    """Say whether two servers are the same thing, as written or once their variables are expanded."""
    if _said(one, None) == _said(other, None):
        return True
    return _said(one, scope) == _said(other, scope)


def _said(server: ServerConfig, scope: Scope | None) -> tuple[object, ...]:
    def text(value: str | None) -> str | None:
        if value is None or scope is None:
            return value
        expanded, flaws = expand(value, scope)
        return value if flaws else expanded

    return (
        "stdio" if server.transport == "stdio" else "sse" if server.transport == "sse" else "http",
        text(server.command),
        tuple(map(text, server.args)),
        tuple(sorted((name, text(value)) for name, value in server.env.items())),
        text(server.cwd),
        text(server.env_file),
        text(server.url),
        tuple(sorted((name.lower(), text(value)) for name, value in server.headers.items())),
    )


def arrange(
    found: Sequence[Found],
    existing: Mapping[str, ServerConfig],
    scope: Scope,
    *,
    home: Path,
    imported: Collection[str] = (),
    families: tuple[str, ...] | None = None,
    can_block: bool = True,
) -> Import:
    """Decide of every server whether it is new; `imported` are the digests of those that came in before."""
    work = _Arrangement(dict(existing), scope, home, can_block)
    earlier, kept_out = [], []
    for one in found:
        server, _ = read_entry(one.entry) if one.refused is None else (None, "")
        if server is None:
            kept_out.append(one)
        elif not work.is_there(one, server):
            if digest_of(one) in imported:
                earlier.append(one)
            else:
                work.take(one, server)
    additions = Additions(tuple(work.additions.values()), families, tuple(dict.fromkeys(work.blocked)))
    return Import(additions, tuple(work.taken), tuple(earlier), tuple(kept_out), tuple(work.notes))


class _Arrangement:
    def __init__(self, existing: dict[str, ServerConfig], scope: Scope, home: Path, can_block: bool) -> None:
        self.existing = existing
        self.scope = scope
        self.home = home
        self.can_block = can_block
        self.new: dict[str, ServerConfig] = {}
        self.wanted_as: dict[str, str] = {}
        self.additions: dict[str, Addition] = {}
        self.taken: list[Taken] = []
        self.blocked: list[str] = []
        self.notes: list[str] = []

    def is_there(self, one: Found, server: ServerConfig) -> bool:
        """Look for the same server: in the configuration under any name, among the new ones under this."""
        for name, other in self.existing.items():
            if same_server(server, other, self.scope):
                self.taken.append(Taken(one, name))
                return True
        for name, other in self.new.items():
            if self.wanted_as[name] == one.name and same_server(server, other, self.scope):
                self._also_from(name, one)
                return True
        return False

    def _also_from(self, name: str, one: Found) -> None:
        addition = self.additions[name]
        entry, comments = dict(addition.entry), [*addition.comments, f"also from {one.place.said(self.home)}"]
        if entry.get("disabled") and not one.disabled:
            entry.pop("disabled")
            self.notes.append(f"`{name}` is on: it is switched off in one client, and on in another.")
        self.additions[name] = replace(addition, entry=entry, comments=tuple(comments))
        self.taken.append(Taken(one, name, new=True))

    def take(self, one: Found, server: ServerConfig) -> None:
        name = self._free_name(one)
        if name != one.name:
            why = "that name is taken by another" if self._is_valid(one.name) else "that name is none here"
            self.notes.append(f"`{one.name}` of {one.place.said(self.home)} comes in as `{name}`: {why}.")
        if one.blocked:
            if self.can_block:
                self.blocked += [
                    re.sub(r"\W", "_", f"mcp__{name}__{tool}", flags=re.ASCII) for tool in one.blocked
                ]
            else:
                tools = ", ".join(one.blocked)
                one = one.disable(
                    f"disabled: some of its tools are switched off there ({tools}): add them to `tools.block`, then "
                    "take `disabled` out"
                )
        comments = (f"from {one.place.said(self.home)}", *one.remarks)
        self.notes += [f"`{name}`: {remark.rstrip('.')}." for remark in one.remarks]
        self.additions[name] = Addition(name, one.entry, comments)
        self.new[name] = server
        self.wanted_as[name] = one.name
        self.taken.append(Taken(one, name, new=True))

    def _free_name(self, one: Found) -> str:
        taken = self.existing.keys() | self.new.keys()
        if self._is_valid(one.name) and one.name not in taken:
            return one.name
        base = "".join(filter(_is_visible, one.name)).strip() or "server"
        slug = "".join(filter(_is_visible, one.place.slug))[: _LONGEST_NAME // 2]
        for number in count(1):
            ending = f"-{slug}" if number == 1 else f"-{slug}-{number}"
            name = base[: _LONGEST_NAME - len(ending)] + ending
            if name not in taken:
                break
        return name

    @staticmethod
    def _is_valid(name: str) -> bool:
        return (
            bool(name.strip())
            and len(name) <= _LONGEST_NAME
            and name not in OWN
            and all(map(_is_visible, name))
        )


def _is_visible(letter: str) -> bool:
    return unicodedata.category(letter) not in {"Cc", "Zl", "Zp"}
