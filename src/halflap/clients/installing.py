"""Halflap put into a client's file, beside what is there, as a change of text; and what it takes to undo that."""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any

from halflap.clients import jsontext
from halflap.clients.jsonblocks import (
    Block,
    Document,
    comments_in,
    key_at,
    same_line,
    trivia,
    without_null,
)
from halflap.clients.translate import is_itself
from halflap.core.errors import ClientFileError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["Installed", "Moved", "entry_for", "install", "object_at", "own_entries"]

_NAME = "halflap"
_RUNS_ANOTHER = frozenset(
    ["sh", "bash", "zsh", "dash", "ksh", "ash", "fish", "cmd", "powershell", "pwsh", "env"]
)


@dataclass(frozen=True, slots=True)
class Moved:
    """A server that was taken out of the client: where it stood, and to the letter what stood there."""

    keys: tuple[str, ...]
    name: str
    raw: str
    after: tuple[str, ...]
    """The names of the servers before it."""
    tail: str = ""
    """The comments behind it on its line, which stayed."""
    lead: str = ""
    """The comment before it, which stayed."""
    lost: tuple[str, ...] = ()
    """The comments within it, which went with it."""
    spelled: str = ""
    """Its name to the letter, in quotes."""


@dataclass(frozen=True, slots=True)
class Installed:
    """What was done to a client's file, as far as it takes to undo it."""

    keys: tuple[str, ...]
    name: str
    was: str | None = None
    """What stood under that name before, to the letter."""
    hollow: str | None = None
    """What stood between the brackets that it was put into, where there was nothing in them yet."""
    made: tuple[str, ...] = ()
    """The keys that lead to the outermost object that had to be made."""
    moved: tuple[Moved, ...] = ()
    put: Mapping[str, Any] = field(default_factory=dict)
    """The entry as Halflap alone would have it."""

    def after(self, earlier: Installed | None) -> Installed:
        """Give what it takes to undo both an earlier installation and this one."""
        if earlier is None or earlier.keys != self.keys or earlier.name != self.name or self.was is None:
            moved = () if earlier is None else earlier.moved
            return replace(self, moved=(*moved, *self.moved))
        moved = (*earlier.moved, *self.moved)
        return replace(self, was=earlier.was, hollow=earlier.hollow, made=earlier.made, moved=moved)

    def as_json(self) -> dict[str, Any]:
        """Give it as it is written down."""
        return asdict(self)

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Installed:
        """Read what was written down; raise `KeyError`, `TypeError` or `ValueError` for anything else."""
        moved = tuple(
            Moved(
                _texts(one["keys"]),
                str(one["name"]),
                str(one["raw"]),
                _texts(one["after"]),
                str(one["tail"]),
                str(one.get("lead", "")),
                _texts(one.get("lost", ())),
                str(one.get("spelled", "")),
            )
            for one in value["moved"]
        )
        was, hollow = (None if value[key] is None else str(value[key]) for key in ("was", "hollow"))
        put = dict(value.get("put", {}))
        return cls(_texts(value["keys"]), str(value["name"]), was, hollow, _texts(value["made"]), moved, put)


def _texts(value: Any) -> tuple[str, ...]:
    return tuple(str(item) for item in value)


def entry_for(client: str, command: Sequence[str], env: Mapping[str, str]) -> dict[str, Any]:
    """Give the entry that has a client start Halflap."""
    entry: dict[str, Any] = {"command": command[0], "args": list(command[1:])}
    if client.startswith("vscode") or client == "claude-code":
        entry = {"type": "stdio", **entry}
    if client == "claude-code":
        # Claude Code defers the tools of servers behind a search of its own; ours are few, and are a search.
        entry["alwaysLoad"] = True
    return {**entry, "env": dict(env)} if env else entry


def own_entries(value: Any, keys: Sequence[str]) -> list[str]:
    """Give the names of the entries that are Halflap."""
    return [name for name, raw in object_at(value, keys).items() if is_itself(name, raw)]


def install(
    text: str,
    keys: Sequence[str],
    entry: Mapping[str, Any],
    moves: Sequence[tuple[tuple[str, ...], str]] = (),
) -> tuple[str, Installed]:
    """Put Halflap in, and take the servers out that are to be moved; say how to undo that."""
    put = dict(entry)
    text = without_null(text, keys)
    wanted: Any = jsontext.parse(text) if text.strip("\ufeff \t\r\n") else {}
    there = object_at(wanted, keys)
    name = next((key for key, raw in there.items() if is_itself(key, raw)), _NAME)
    if name in there:
        if not is_itself(name, there[name]):
            raise ClientFileError(
                f"there is a server named `{name}` that is not Halflap. Give it another name first."
            )
        if "command" not in there[name]:
            raise ClientFileError(
                f"`{name}` is there already, and is reached by a URL. Take it out first, if the client is to start "
                "Halflap itself."
            )
        entry = _as_it_was_started(entry, there[name])
        own = there[name].get("env")
        if isinstance(own, dict) and "env" in entry:
            entry = {**entry, "env": {**own, **entry["env"]}}
        was = jsontext.raw(text, keys, name)
        after = _updated(text, keys, name, entry, there[name])
        done = Installed(tuple(keys), name, was)
    else:
        made = _first_missing(text, keys)
        block = jsontext.find(text, made[:-1] if made else keys)
        hollow = text[block.start + 1 : block.end] if block is not None and not block.members else None
        after = jsontext.insert(text, keys, name, dict(entry))
        done = Installed(tuple(keys), name, None, hollow, made)
    there = _made_at(wanted, keys)
    there[name] = {**there.get(name, {}), **entry}
    going = dict[tuple[str, ...], list[str]]()
    for where, key in moves:
        going.setdefault(where, []).append(key)
        del object_at(wanted, where)[key]
    document = Document(text)
    moved = [one for where, names in going.items() for one in _all_moved(document, where, names)]
    if moved:
        after = jsontext.remove_all(Document(after), going)
    _must_be(after, wanted)
    return after, replace(done, moved=tuple(moved), put=put)


def _all_moved(document: Document, where: tuple[str, ...], names: Sequence[str]) -> list[Moved]:
    """Note what goes out of an object; of a name that stands there twice, both: the last alone counted."""
    block = document.there(where)
    return [
        _moved(document.text, block, at, where)
        for at, member in enumerate(block.members)
        if member.key in names
    ]


def _moved(text: str, block: Block, at: int, where: tuple[str, ...]) -> Moved:
    """Note of a server where it stands, and what stands beside it."""
    member = block.members[at]
    start = block.start + 1 if at == 0 else (block.members[at - 1].comma or 0) + 1
    lead = ""
    if at > 0:
        # What stands on the line of the one before it is about that.
        start = same_line(text, start)
    for kind, end in trivia(text, start, member.start):
        lead = lead if kind == "space" else text[start:end]
        start = end
    behind = member.end if member.comma is None else member.comma + 1
    return Moved(
        where,
        member.key,
        text[member.value : member.end],
        tuple(one.key for one in block.members[:at]),
        text[behind : same_line(text, behind)],
        lead,
        tuple(comments_in(text, member.start, member.end)),
        key_at(text, member),
    )


def _as_it_was_started(entry: Mapping[str, Any], there: Mapping[str, Any]) -> dict[str, Any]:
    """Keep the options that the person starts Halflap with; a configuration that is named now takes its place."""
    args = there.get("args")
    words = [there["command"], *(args if isinstance(args, list) else [])]
    is_plain = all(isinstance(word, str) for word in words) and not _runs_another(words[0])
    if "serve" not in words or not is_plain:
        # A command line within an argument, as of `bash -c`: there is no telling how it should be.
        return {key: value for key, value in entry.items() if key not in {"command", "args"}}
    new = list(entry["args"])
    at = new.index("serve") + 1
    kept = words[words.index("serve") + 1 :]
    if len(new) > at:
        kept = _without_config(kept)
    return {**entry, "args": [*new[:at], *kept, *new[at:]]}


def _runs_another(command: str) -> bool:
    """Return whether a command is a shell, `env`, or a whole command line."""
    name = re.split(r"[/\\]", command)[-1].lower().removesuffix(".exe")
    return bool(re.search(r"\s", command)) or name in _RUNS_ANOTHER


def _without_config(words: Sequence[str]) -> list[str]:
    left, skip = [], False
    for word in words:
        if skip:
            skip = False
        elif word in {"--config", "-c"}:
            skip = True
        elif not (word.startswith("--config=") or (word.startswith("-c") and len(word) > len("-c"))):
            left.append(word)
    return left


def _updated(
    text: str, keys: Sequence[str], name: str, entry: Mapping[str, Any], there: Mapping[str, Any]
) -> str:
    """Change what differs in an entry, and leave what else the person wrote into it."""
    for key, value in entry.items():
        if key not in there:
            text = jsontext.insert(text, [*keys, name], key, value)
        elif there[key] != value:
            text = jsontext.replace_value(text, [*keys, name], key, value)
    return text


def _first_missing(text: str, keys: Sequence[str]) -> tuple[str, ...]:
    for length in range(1, len(keys) + 1):
        if jsontext.find(text, keys[:length]) is None:
            return tuple(keys[:length])
    return ()


def object_at(value: Any, keys: Sequence[str]) -> dict[str, Any]:
    """Give the object at a path of keys; an empty one if there is none."""
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value if isinstance(value, dict) else {}


def _made_at(value: dict[str, Any], keys: Sequence[str]) -> dict[str, Any]:
    for key in keys:
        value = value.setdefault(key, {})
    return value


def _must_be(text: str, wanted: Any) -> None:
    """Refuse to write what does not say what it should, whatever the reason."""
    if jsontext.parse(text) != wanted:
        raise ClientFileError("its form does not allow to change it without writing it anew.")
