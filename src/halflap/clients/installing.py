"""Halflap in a client's file: put in beside what is there, and taken out again, as a change of text."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any

from halflap.clients import jsontext
from halflap.clients.jsonblocks import (
    Block,
    Document,
    block_at,
    comments_in,
    key_at,
    same_line,
    trivia,
    without_null,
)
from halflap.clients.translate import is_itself, starts_itself
from halflap.config.itself import is_within_another
from halflap.config.nodes import shown
from halflap.errors import ClientFileError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["Installed", "Moved", "entry_for", "install", "own_entries", "uninstall", "written_into"]

_NAME = "halflap"


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
    return [name for name, raw in _at(value, keys).items() if is_itself(name, raw)]


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
    there = _at(wanted, keys)
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
        del _at(wanted, where)[key]
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
    is_plain = all(isinstance(word, str) for word in words) and not is_within_another(words[0])
    if "serve" not in words or not is_plain:
        # A command line within an argument, as of `bash -c`: there is no telling how it should be.
        return {key: value for key, value in entry.items() if key not in {"command", "args"}}
    new = list(entry["args"])
    at = new.index("serve") + 1
    kept = words[words.index("serve") + 1 :]
    if len(new) > at:
        kept = _without_config(kept)
    return {**entry, "args": [*new[:at], *kept, *new[at:]]}


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


def uninstall(text: str, done: Installed) -> tuple[str, list[str]]:
    """Take out what was put in, and put back what was taken out; say what could not be."""
    notes: list[str] = []
    for keys in dict.fromkeys((done.keys, *(one.keys for one in done.moved))):
        text = without_null(text, keys)
    there = _at(jsontext.parse(text), done.keys)
    name = _own_name(there, done)
    if done.name in there and name != done.name:
        notes.append(f"`{done.name}` is something else by now, and stays.")
    if name is not None and name != done.name:
        notes.append(f"`{shown(name)}` starts Halflap, where `{done.name}` is gone: it is taken out.")
    if name is not None and done.was is not None:
        text = jsontext.replace_value(text, done.keys, name, None, verbatim=done.was)
    elif name is not None:
        text = jsontext.remove(text, done.keys, name, hollow=None if done.made else done.hollow)
        text = _without_made(text, done)
    return _all_put_back(text, done.moved, notes), notes


def _own_name(there: Mapping[str, Any], done: Installed) -> str | None:
    """Find the entry that was put in, also under another name; None if there is no telling which it is."""
    if done.name in there and is_itself(done.name, there[done.name]):
        return done.name
    own = [name for name, raw in there.items() if starts_itself(raw)]
    # Where one of the person's own was brought up to date, another may be their own too.
    return own[0] if len(own) == 1 and done.was is None else None


def written_into(text: str, done: Installed) -> tuple[str, list[str], list[str]]:
    """Give the name of the entry that goes, what the person wrote into it, without the values, and the comments."""
    if jsontext.find(without_null(text, done.keys), done.keys) is None or not done.put:
        return done.name, [], []
    there = _at(jsontext.parse(text), done.keys)
    name = _own_name(there, done)
    if name is None or not isinstance(there[name], dict):
        return done.name, [], []
    was = {} if done.was is None else jsontext.parse(done.was)
    raw = jsontext.raw(text, done.keys, name)
    kept = Counter(comments_in(done.was or "", 0, len(done.was or "")))
    comments = list((Counter(comments_in(raw, 0, len(raw))) - kept).elements())
    return name, _beyond(there[name], done.put, was), comments


def _beyond(entry: Mapping[str, Any], *known: Mapping[str, Any]) -> list[str]:
    """Name what of an entry is in none of others."""
    parts, words = [], list[str]()
    for key, value in entry.items():
        others = [one[key] for one in known if key in one]
        if value in others:
            continue
        if isinstance(value, dict) and key == "env":
            has = [other for other in others if isinstance(other, dict)]
            parts += [
                f"`env.{shown(name)}`"
                for name, one in value.items()
                if not any(other.get(name) == one for other in has)
            ]
        elif isinstance(value, list) and key == "args" and others:
            every = [word for other in others if isinstance(other, list) for word in other]
            words = [f"`{shown(str(word))}`" for word in value if word not in every]
        else:
            parts.append(f"`{shown(key)}`")
    return [*parts, f"{', '.join(words)} of `args`"] if words else parts


def _all_put_back(text: str, moved: Sequence[Moved], notes: list[str]) -> str:
    """Put back what is not there again; each object is looked for once, since files of clients are large."""
    document, groups = Document(text), dict[tuple[str, ...], list[Moved]]()
    for one in moved:
        group = groups.setdefault(one.keys, [])
        if one.name not in one.after and any(other.name == one.name for other in group):
            # It did not stand there twice, but was put in anew after it had been moved, and moved again.
            notes.append(f"`{one.name}` was moved twice: the later comes back. The earlier is in a copy.")
            group[:] = [other for other in group if other.name != one.name]
        group.append(one)
    blocks = {keys: document.find(keys) for keys in groups}
    for keys, block in blocks.items():
        there = {member.key for member in block.members} if block else set()
        again = dict.fromkeys(one.name for one in groups[keys] if one.name in there)
        notes += [f"`{name}` is there again already, and stays as it is." for name in again]
        groups[keys] = [one for one in groups[keys] if one.name not in there]
    layout, pieces, at = jsontext.Layout.of(text), [], 0
    for keys, block in sorted(_that_are(blocks).items(), key=lambda pair: pair[1].start):
        inner, around = text[block.start : block.end + 1], layout.at(text, block.start)
        for one in groups.pop(keys):
            inner = _put_back(inner, one, around)
        pieces += [text[at : block.start], inner]
        at = block.end + 1
    text = "".join([*pieces, text[at:]])
    for one in (one for group in groups.values() for one in group):
        text = jsontext.insert(text, one.keys, one.name, None, verbatim=one.raw, spelled=one.spelled)
    return text


def _that_are(blocks: Mapping[tuple[str, ...], Block | None]) -> dict[tuple[str, ...], Block]:
    return {keys: block for keys, block in blocks.items() if block is not None}


def _put_back(inner: str, one: Moved, layout: jsontext.Layout) -> str:
    """Insert a server into the text of an object, behind the last of those that it stood behind."""
    block = block_at(inner, 0)
    index, before_it = 0, Counter(one.after)
    for at, member in enumerate(block.members, 1):
        if before_it[member.key] > 0:
            index = at
            before_it[member.key] -= 1
    return jsontext.insert_into(
        inner,
        block,
        one.name,
        None,
        index=index,
        verbatim=one.raw,
        spelled=one.spelled,
        before=one.tail,
        behind=one.lead,
        layout=layout,
    )


def _without_made(text: str, done: Installed) -> str:
    """Take out the objects that were made for the entry, if there is nothing else in them by now."""
    keys = list(done.keys)
    while done.made and len(keys) >= len(done.made):
        block = jsontext.find(text, keys)
        if block is None or block.members or "/" in text[block.start : block.end]:
            break
        outermost = len(keys) == len(done.made)
        text = jsontext.remove(text, keys[:-1], keys[-1], hollow=done.hollow if outermost else None)
        keys.pop()
    return text


def _first_missing(text: str, keys: Sequence[str]) -> tuple[str, ...]:
    for length in range(1, len(keys) + 1):
        if jsontext.find(text, keys[:length]) is None:
            return tuple(keys[:length])
    return ()


def _at(value: Any, keys: Sequence[str]) -> dict[str, Any]:
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
