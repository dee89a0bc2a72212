"""Whether a tool seems to change something, by the verb in its name: no plan should do that on its way without need."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

from halflap.graph.verbs import (
    ALIKE,
    AT_TIMES_THINGS,
    CHANGING,
    COMPOUND,
    DESTROYING,
    ENDS_IN,
    INFLECTED,
    NO_COMPOUND,
    NOT_BEFORE,
    READING,
    REPORTS,
    THINGS,
)
from halflap.graph.words import pieces_of

if TYPE_CHECKING:
    from halflap.graph.edge import Ports

__all__ = ["is_asked_for", "seems_to_change", "seems_to_destroy"]

_SHORTEST_REST = 3
_VERBS = DESTROYING | CHANGING
_AGAIN = frozenset({"and", "or", "then"})
"""Another verb comes behind these: `find_and_delete`."""
_BEFORE = frozenset(
    [
        "to",
        "and",
        "then",
        "please",
        "or",
        "also",
        "you",
        "i",
        "we",
        "now",
        "just",
        "us",
        "should",
        "must",
        "will",
    ]
)
"""What comes before a verb in a goal, and not before a thing."""
_NOT = frozenset({"not", "never", "without", "don", "doesn", "dont", "no"})
_NEAR = 3
_GOAL_WORD = re.compile(r"[^\W\d_]+|[,.;:!?]")


def seems_to_change(ports: Ports) -> bool:
    """Say whether a tool is called as those are that change something."""
    return bool(_verbs(ports.original_name or ports.tool.rpartition("__")[2], ports.server))


def seems_to_destroy(ports: Ports) -> bool:
    """Say whether a tool is said to destroy something, or is called as those are that do."""
    name = ports.original_name or ports.tool.rpartition("__")[2]
    return ports.is_destructive or not DESTROYING.isdisjoint(_verbs(name, ports.server))


def is_asked_for(goal: str, ports: Ports) -> bool:
    """Say whether a goal names what a tool does, if that changes something; one that reads may be meant anyhow.

    What it does is its verb: who asks for orders asks for no `order_pizza`, and who cancels one for no `create_order`.
    """
    name = ports.original_name or ports.tool.rpartition("__")[2]
    verbs = _verbs(name, ports.server)
    if not verbs:
        if not ports.is_destructive:
            return True
        # Of a word that is not known to change anything the place is what tells: it comes first.
        verbs = frozenset(_without_server(name, ports.server)[:1])
    # What destroys has to be said, whatever else it does: to find is not to `find_and_delete`.
    needed = verbs & DESTROYING or verbs
    said = _GOAL_WORD.findall(goal.casefold())
    return any(_says(said, verb) for verb in needed)


@lru_cache(maxsize=1 << 14)
def _verbs(name: str, server: str) -> frozenset[str]:
    """Give the verbs of a name that change something, each where a verb stands.

    That is its first verb, whatever stands before it (`github_delete_repo`), one behind `and`, and one that ends it
    (`orders_delete`). Where it begins with reading, what comes later is a thing (`list_deleted_items`).
    """
    words = _without_server(name, server)
    found: set[str] = set()
    first = True
    for at, word in enumerate(words):
        if word in _AGAIN:
            first = True
            continue
        verb = _verb_at(words, at) if first else None
        if verb is not None:
            first = False
            found.add(verb)
    found -= READING
    if words and (last := _verb_in(words[-1])) and last in _VERBS:
        reads = any(one in READING for one in words[:-1])
        is_thing = last in AT_TIMES_THINGS if reads else last in THINGS - DESTROYING
        # `list_delete` deletes lists for all that is known; `search_archive` searches.
        if not is_thing:
            found.add(last)
    return frozenset(found)


def _verb_at(words: list[str], at: int) -> str | None:
    """Give the verb that a word is where a verb can stand."""
    word = words[at]
    rest = words[at + 1 :]
    if word == "check" and rest[:1] in (["in"], ["out"]):
        return "checkout"
    if word in READING:
        return word
    verb = _verb_in(word)
    if verb is None or verb not in THINGS or verb in DESTROYING:
        return verb
    # `order_update` and `order_history` are about orders; `order_pizza` orders.
    about = at > 1 or not rest or rest[0] in REPORTS or any(_is_plain_verb(one) for one in rest)
    return None if about else verb


def _is_plain_verb(word: str) -> bool:
    verb = _verb_in(word)
    return word in READING - NOT_BEFORE or (verb is not None and verb not in THINGS)


@lru_cache(maxsize=1 << 14)
def _verb_in(word: str) -> str | None:
    """Give the verb that changes something and that a word is, or begins or ends with: `deleteuser`, `userdelete`."""
    if word in _VERBS:
        return word
    if word.endswith("s") and word[:-1] in _VERBS - THINGS:
        return word[:-1]
    if word in NO_COMPOUND:
        return None
    for verb in COMPOUND:
        rest = word.removeprefix(verb)
        if rest != word and len(rest) >= _SHORTEST_REST and rest not in INFLECTED:
            return verb
    return next((verb for verb in ENDS_IN if word.endswith(verb) and not word.startswith("un")), None)


def _without_server(name: str, server: str) -> list[str]:
    """Give the words of a tool's name, without its server's where it begins with that."""
    words, prefix = pieces_of(name), pieces_of(server)
    size = len(prefix)
    return words[size:] if prefix and words[:size] == prefix and len(words) > size else words


def _says(said: list[str], verb: str) -> bool:
    alike = {verb, *(one for group in ALIKE if verb in group for one in group)}
    return any(_is_said(said, at, one) for at in range(len(said)) for one in alike)


def _is_said(said: list[str], at: int, verb: str) -> bool:
    """Say whether a word of a goal is a verb, and this one: no `cancelled` order, no `delete` button's."""
    if not _NOT.isdisjoint(said[max(0, at - _NEAR) : at]):
        return False
    before = said[at - 1] if at else ""
    leads = not at or not before.isalpha() or before in _BEFORE or before.endswith("ly")
    if said[at] == verb:
        return leads or (
            verb not in AT_TIMES_THINGS and before not in {"the", "a", "an", "of", "last", "latest"}
        )
    return leads and said[at] in {
        f"{verb}ing",
        f"{verb[:-1]}ing" if verb[-1] == "e" else "",
        f"{verb}{verb[-1]}ing",
    }
