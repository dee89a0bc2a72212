"""What of the clients' servers is new to Halflap's configuration, and under which name it comes in."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass, replace
from hashlib import sha256
from itertools import count
from typing import TYPE_CHECKING

from halflap.clients.blocking import held_still, name_of, still_on
from halflap.clients.configtext import Addition, Additions
from halflap.clients.translate import read_entry
from halflap.config import ToolsConfig, expand
from halflap.config.problems import show
from halflap.core.values import OWN, canonical

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence
    from pathlib import Path

    from halflap.clients.translate import Found
    from halflap.config import Scope, ServerConfig

__all__ = ["Import", "Taken", "arrange", "digest_of", "digests_of", "same_server"]

_LONGEST_NAME = 64
_WHOLE = ""
"""The server itself, among the names of its tools that are off."""
_NOT_BLOCKED = "disabled: some of its tools are switched off there"


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


def digests_of(taken: Taken) -> list[str]:
    """Give what is noted of a server: itself and, if it came in now, what of it was off in the client by then."""
    found = taken.found
    off = [*([_WHOLE] if found.off else []), *found.blocked, *found.held.values()] if taken.new else []
    return [digest_of(found), *(_digest_off(found, what) for what in off)]


def _digest_off(found: Found, what: str) -> str:
    return sha256(canonical([digest_of(found), what]).encode("utf-8", "surrogatepass")).hexdigest()


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
    tools: ToolsConfig | None = None,
) -> Import:
    """Decide of every server whether it is new; `imported` are the digests of those that came in before.

    `tools` is what the configuration says of tools; None if it says nothing, so that something can be added.
    """
    work = _Arrangement(dict(existing), scope, home, tools, imported)
    earlier, kept_out = [], []
    for one in found:
        server, _ = read_entry(one.entry) if one.refused is None else (None, "")
        if server is None:
            kept_out.append(one)
        elif (name := work.name_of(server, one.name)) is not None:
            work.keep(name, one)
        elif not work.is_among_new(one, server):
            if digest_of(one) in imported:
                earlier.append(one)
            else:
                work.take(one, server)
    additions = Additions(tuple(work.additions.values()), families, tuple(dict.fromkeys(work.blocked)))
    return Import(
        additions, tuple(work.taken), tuple(earlier), tuple(kept_out), tuple(dict.fromkeys(work.notes))
    )


class _Arrangement:
    def __init__(
        self,
        existing: dict[str, ServerConfig],
        scope: Scope,
        home: Path,
        tools: ToolsConfig | None,
        imported: Collection[str],
    ) -> None:
        self.existing = existing
        self.scope = scope
        self.home = home
        self.tools = tools
        self.imported = imported
        self.new: dict[str, ServerConfig] = {}
        self.first: dict[str, Found] = {}
        """Of each new one, what it was when it was found first."""
        self.additions: dict[str, Addition] = {}
        self.taken: list[Taken] = []
        self.blocked: list[str] = []
        self.notes: list[str] = []

    def name_of(self, server: ServerConfig, preferred: str) -> str | None:
        """Look for the same server in the configuration, under any name."""
        every = self.existing.items()
        names = [name for name, other in every if same_server(server, other, self.scope)]
        return preferred if preferred in names else next(iter(names), None)

    def keep(self, name: str, one: Found) -> None:
        """Leave one that the configuration has; what is off in the client and on here is said."""
        self.taken.append(Taken(one, name))
        if self.existing[name].disabled:
            return
        settings, where = self.tools or ToolsConfig(), one.place.said(self.home)
        if one.off:
            if not self._is_decided(one, _WHOLE):
                self.notes.append(
                    f"`{name}` is on in Halflap, and switched off in {where}. To have it off: write `disabled: true` "
                    "into it."
                )
            return
        for said in held_still(one.held, settings):
            if not self._is_decided(one, said):
                self.notes.append(f"`{name}` is on in Halflap. In {where}, {said}.")
        on = [tool for tool in one.blocked if not self._is_decided(one, tool)]
        on = still_on(name, on, settings)
        if on:
            names = ", ".join(name_of(name, tool) for tool in on)
            how = f"`tools.block`, {names}" if settings.allow is None else _not_allowed(names)
            self.notes.append(
                f"`{name}` is there already, with {_list(on)}, which {_are(on)} switched off in {where}. "
                f"To have {_them(on)} off: {how}."
            )

    def _is_decided(self, one: Found, what: str) -> bool:
        """Say whether it came in with that off, so that it is on now because the person wants it."""
        return _digest_off(one, what) in self.imported

    def is_among_new(self, one: Found, server: ServerConfig) -> bool:
        """Look for the same server among the new ones, under this name; it is one then."""
        for name, other in self.new.items():
            if self.first[name].name == one.name and same_server(server, other, self.scope):
                self._also_from(name, one)
                return True
        return False

    def _also_from(self, name: str, one: Found) -> None:
        first, addition = self.first[name], self.additions[name]
        entry, comments = dict(addition.entry), [*addition.comments, f"also from {one.place.said(self.home)}"]
        if first.disabled != one.disabled:
            entry.pop("disabled", None)
            comments = [comment for comment in comments if comment not in first.reasons]
            self.notes = [text for text in self.notes if text not in _said_of(name, first.reasons)]
            off = first if first.disabled else one
            self.notes += [
                f"`{name}` is on, as in one client. In another, {reason.removeprefix('disabled: ').rstrip('.')}."
                for reason in off.reasons
            ] or [f"`{name}` is on: it is switched off in one client, and on in another."]
            first = replace(first, entry=entry)
        more = set(one.blocked) ^ set(first.blocked)
        first = replace(first, blocked=tuple(dict.fromkeys((*first.blocked, *one.blocked))))
        if more and self.tools is None:
            tools = [tool for tool in first.blocked if tool in more]
            self.blocked += [name_of(name, tool) for tool in tools]
            self.notes.append(
                f"`{name}`: {_list(tools)} {_are(tools)} blocked: switched off in one client, and on in another."
            )
        self.first[name] = first
        if self.tools is not None and (on := still_on(name, first.blocked, self.tools)):
            entry["disabled"] = True
            comments = [comment for comment in comments if not comment.startswith(_NOT_BLOCKED)]
            self.notes = [text for text in self.notes if not text.startswith(f"`{name}`: {_NOT_BLOCKED}")]
            comments.append(_not_blocked(name, on, self.tools))
            self.notes += _said_of(name, comments[-1:])
        self.additions[name] = replace(addition, entry=entry, comments=tuple(comments))
        self.taken.append(Taken(one, name, new=True))

    def take(self, one: Found, server: ServerConfig) -> None:
        name = self._free_name(one)
        if name != one.name:
            self.notes.append(
                f"{one.label} of {one.place.said(self.home)} comes in as `{name}`: {self._why_not(one.name)}."
            )
        self.first[name] = one
        if one.blocked and self.tools is None:
            self.blocked += [name_of(name, tool) for tool in one.blocked]
        elif self.tools is not None and (on := still_on(name, one.blocked, self.tools)):
            one = one.disable(_not_blocked(name, on, self.tools))
        comments = (f"from {one.place.said(self.home)}", *one.remarks)
        self.notes += _said_of(name, one.remarks)
        self.additions[name] = Addition(name, one.entry, comments)
        self.new[name] = server
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

    def _why_not(self, name: str) -> str:
        if not name.strip():
            return "it needs a name"
        return "that name is taken by another" if self._is_valid(name) else "that name cannot be used here"

    @staticmethod
    def _is_valid(name: str) -> bool:
        return (
            bool(name.strip())
            and len(name) <= _LONGEST_NAME
            and name not in OWN
            and all(map(_is_visible, name))
        )


def _said_of(name: str, remarks: Iterable[str]) -> list[str]:
    return [f"`{name}`: {remark.rstrip('.')}." for remark in remarks]


def _not_blocked(name: str, tools: Sequence[str], settings: ToolsConfig) -> str:
    names = ", ".join(name_of(name, tool) for tool in tools)
    # Both together are a mistake of the configuration.
    how = f"add {names} to `tools.block`" if settings.allow is None else _not_allowed(names)
    return f"{_NOT_BLOCKED} ({_list(tools)}): {how}, then take `disabled` out"


def _not_allowed(names: str) -> str:
    return f"see that nothing in `tools.allow` stands for {names}"


def _list(tools: Sequence[str]) -> str:
    return ", ".join(map(show, tools))


def _are(tools: Sequence[str]) -> str:
    return "is" if len(tools) == 1 else "are"


def _them(tools: Sequence[str]) -> str:
    return "it" if len(tools) == 1 else "them"


def _is_visible(letter: str) -> bool:
    return unicodedata.category(letter) not in {"Cc", "Zl", "Zp"}
