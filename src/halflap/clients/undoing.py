"""Halflap taken out of a client's file again, and what was moved put back, as a change of text."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from halflap.clients import jsontext
from halflap.clients.installing import Moved, object_at
from halflap.clients.jsonblocks import Block, Document, block_at, comments_in, without_null
from halflap.clients.translate import is_itself, starts_itself
from halflap.config.problems import show

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from halflap.clients.installing import Installed

__all__ = ["uninstall", "written_into"]


def uninstall(text: str, done: Installed) -> tuple[str, list[str]]:
    """Take out what was put in, and put back what was taken out; say what could not be."""
    notes: list[str] = []
    value = jsontext.parse(text)
    for keys in dict.fromkeys((done.keys, *(one.keys for one in done.moved))):
        # Each is looked for in the value first: files of clients are large, and have many projects.
        text = without_null(text, keys) if _has_null(value, keys) else text
    there = object_at(value, done.keys)
    name = _own_name(there, done)
    if done.name in there and name != done.name:
        notes.append(f"`{done.name}` is something else by now, and stays.")
    if name is not None and name != done.name:
        notes.append(f"`{show(name)}` starts Halflap, where `{done.name}` is gone: it is taken out.")
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
    there = object_at(jsontext.parse(text), done.keys)
    name = _own_name(there, done)
    if name is None or not done.put:
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
                f"`env.{show(name)}`"
                for name, one in value.items()
                if not any(other.get(name) == one for other in has)
            ]
        elif isinstance(value, list) and key == "args" and others:
            every = [word for other in others if isinstance(other, list) for word in other]
            beyond = [str(word) for word in value if word not in every]
            # Of options the names alone: what stands behind them may be a secret.
            words = [f"`{show(word.split('=')[0])}`" for word in beyond if word.startswith("-")]
            parts += ["`args`"] if beyond and not words else []
        else:
            parts.append(f"`{show(key)}`")
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


def _has_null(value: Any, keys: Sequence[str]) -> bool:
    for key in keys:
        if not isinstance(value, dict) or key not in value:
            return False
        value = value[key]
        if value is None:
            return True
    return False
