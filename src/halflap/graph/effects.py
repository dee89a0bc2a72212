"""Whether a tool may change something, and what a change is about.

In this order: the user's settings and the server's annotations, as far as they are believed (`Ports.changes`); then the
first verb of the tool's name and the first word of its description, against a list of common verbs; otherwise it may
change something. A word for a change is always believed; a tool only reads if both places agree.
"""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from halflap.graph.naming import is_plural, pieces_of, slot_identities, subject_of, things_around, verb_at
from halflap.graph.naming.vocabulary import CHANGE_VERBS, IDENTIFIERS, READ_VERBS, SEND_VERBS, SURE_READS
from halflap.graph.paths import Path, keys_of

if TYPE_CHECKING:
    from halflap.graph.naming import Words
    from halflap.graph.ports import Ports, Slot

_FIRST_WORDS = re.compile(r"[a-z]+", re.IGNORECASE)
_ENDINGS = ("s", "es", "ing", "ed", "d")
_ALSO_NOUNS = frozenset({"count", "list", "query", "read", "show"})
_JOINING = frozenset({"and", "or", "then"})


def may_change(ports: Ports) -> bool:
    """Return whether a tool may change something."""
    if ports.changes is not None:
        return ports.changes
    return ports.is_destructive or not name_reads(ports.name, ports.description)


def destroys(ports: Ports) -> bool:
    """Return whether a tool removes something, according to the user, its server or its verb."""
    if ports.is_destructive:
        return True
    return ports.changes is not False and subject_of(ports.name).destroys


class Changed(NamedTuple):
    """The object that a change is about."""

    keys: frozenset[Path]
    """The slots that identify the object."""
    things: frozenset[Words]
    """The object; empty if something is created or removed, since that changes no values."""

    def has(self, slot: Slot, source: Ports, path: Path) -> bool:
        """Return whether a value that the change would be given is one that its own object already has.

        A change's new values never come from what it changes; only the key that says which object it is may.
        """
        if slot.path in self.keys or not self.things:
            return False
        keys, same = keys_of(path), 1
        while keys[-same - 1 :] == keys_of(slot.path)[-same - 1 :] and same < len(keys):
            same += 1
        around = things_around(keys[:-same], source.subject)
        return any(one and thing[-len(one) :] == one for one in around for thing in self.things)


def changed_by(ports: Ports) -> Changed:
    """Return what a tool changes: what its name says, if a parameter identifies that, or what parameters do identify."""
    subject, thing = ports.subject, ports.subject.thing
    if not may_change(ports) or subject.destroys or subject.creates or subject.verb in SEND_VERBS:
        return Changed(frozenset(), frozenset())
    slots = [one for one in ports.slots if ports.needs(one)]
    asked = {one.path: slot_identities(keys_of(one.path), subject)[0] for one in slots}
    own = [path for path, one in asked.items() if one.thing[-1:] == thing[-1:]]
    keys = [path for path in own if asked[path].attribute in IDENTIFIERS]
    if not keys and not any(one.attribute for one in asked.values()):
        keys = [path for path, one in asked.items() if one.words in (thing, thing[-1:])]
    if keys:
        return Changed(frozenset(keys), frozenset({thing}))
    others = [path for path, one in asked.items() if one.attribute in IDENTIFIERS]
    return Changed(frozenset(others), frozenset(asked[path].thing for path in others) | {thing})


@lru_cache(maxsize=1 << 14)
def name_reads(name: str, description: str) -> bool:
    """Return whether name and description say that a tool only reads."""
    pieces = pieces_of(name)
    said = _first_verb(description)
    at = verb_at(pieces)
    if said in CHANGE_VERBS or (at is not None and pieces[at] not in READ_VERBS):
        return False
    if any(one in _JOINING and two in CHANGE_VERBS for one, two in pairwise(pieces)):
        # `get_or_create_user`
        return False
    if at is None:
        return said in READ_VERBS
    # What comes before the verb is a noun (`tickets_list`) or a verb that is not known (`toggle_view`).
    is_noun_first = pieces[at] in SURE_READS and (
        at < len(pieces) - 1 or is_plural(pieces[0]) or pieces[at] not in _ALSO_NOUNS
    )
    return at == 0 or is_noun_first or said in READ_VERBS


def _first_verb(description: str) -> str:
    """Return the first word of a description as a verb of the lists, adverbs skipped; empty where it is none."""
    for found in _FIRST_WORDS.finditer(description[:200]):
        word = found[0].lower()
        if not word.endswith("ly"):
            forms = [word, *(word.removesuffix(end) for end in _ENDINGS), *_with_e(word)]
            return next((one for one in forms if one in READ_VERBS or one in CHANGE_VERBS), "")
    return ""


def _with_e(word: str) -> list[str]:
    """Undo `deleting`, `queries` and `getting`."""
    if word.endswith("ing"):
        stem = word[:-3]
        return [f"{stem}e", stem[:-1]]
    return [f"{word[:-3]}y"] if word.endswith("ies") else []
