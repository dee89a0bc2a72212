"""Whether a tool seems to change something, by the verb in its name: no plan should do that on its way without need."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from halflap.graph.things import PRODUCTS, REPORTS, TELLS, is_thing
from halflap.graph.verbs import (
    ALIKE,
    AT_TIMES_THINGS,
    CHANGING,
    COMPOUND,
    DESTROYING,
    ENDS_IN,
    HARMLESS_WITH,
    INFLECTED,
    MOSTLY_THINGS,
    NO_COMPOUND,
    NOT_BEFORE,
    READING,
    SELDOM_THINGS,
    TAKE_NOTHING,
    THINGS,
)
from halflap.graph.words import pieces_of

if TYPE_CHECKING:
    from halflap.graph.edge import Ports

__all__ = ["is_asked_for", "seems_to_change", "seems_to_destroy", "verbs_of"]

_SHORTEST_REST = 3
_SHORTEST_VERB = 3
"""No verb is shorter that is not known: a tool that is called `a1` is called nothing."""
_LONGEST = 200
_IDS = frozenset({"id", "ids", "number", "key", "uuid", "sha", "slug", "ref"})
_ON_OFF = frozenset({"on", "off"})
_TOLD = TELLS | {
    "status",
    "price",
    "prices",
    "rate",
    "rates",
    "policy",
    "count",
    "log",
    "logs",
    "type",
    "types",
}
_LOOKED_UP = frozenset({"geocode", "list", "search", "lookup", "get", "find", "show", "read"})
_LEADS_TO_A_THING = frozenset({"to", "with", "as", "from", "about", "by", "of", "for"})
_HANDED_OVER = [
    [one]
    for one in (
        "message", "text", "body", "content", "event", "entry", "value", "data", "note", "title", "amount", "quantity",
        "to", "recipient", "recipients", "items", "new", "reason", "description", "subject", "comment", "rating",
    )
]  # fmt: skip
"""What the parameters of tools that write something down, or pay for it, are called."""
_SAYS_READING = (READING - {"are", "can", "does", "has", "is", "how"}) | {
    "return",
    "provide",
    "tell",
    "lookup",
    "look",
}
"""What the description of a tool begins with that only reads, if its name says nothing."""
_ABOUT_ITSELF = re.compile(
    r"^\W*(?:(?:\w+\s+){0,3}tool\s+(?:to|that|which|for|allows?\s+(?:you\s+)?to)?\s*|use\s+this\s+(?:tool\s+)?to\s+"
    r"|(?:allows?|lets?)\s+(?:you\s+|users\s+)?(?:to\s+)?)"
)
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
    """Say whether a tool is said to change something, or is not called as those are that only read."""
    if ports.changes is not None or ports.is_destructive:
        return ports.is_destructive or bool(ports.changes)
    return bool(verbs_of(ports))


def seems_to_destroy(ports: Ports) -> bool:
    """Say whether a tool is said to destroy something, or is called as those are that do."""
    if ports.is_destructive:
        return True
    return ports.changes is not False and not DESTROYING.isdisjoint(verbs_of(ports))


def is_asked_for(goal: str, ports: Ports) -> bool:
    """Say whether a goal names what a tool does, if that changes something; one that reads may be meant anyhow.

    What it does is its verb: who asks for orders asks for no `order_pizza`, and who cancels one for no `create_order`.
    """
    if not seems_to_change(ports):
        return True
    # Of a word that is not known to change anything the place is what tells: it comes first.
    verbs = verbs_of(ports) or frozenset(_without_server(_name(ports), ports.server)[:1])
    # What destroys has to be said, whatever else it does: to find is not to `find_and_delete`.
    needed = verbs & DESTROYING or verbs
    said = _GOAL_WORD.findall(goal.casefold())
    return any(_says(said, verb) for verb in needed)


def _name(ports: Ports) -> str:
    return ports.original_name or ports.tool.rpartition("__")[2]


def verbs_of(ports: Ports) -> frozenset[str]:
    """Give the verbs of a tool's name that change something."""
    return _verbs(_name(ports), ports.server, ports.required, ports.description[:_LONGEST])


@lru_cache(maxsize=1 << 14)
def _verbs(name: str, server: str, required: frozenset[str], description: str) -> frozenset[str]:
    """Give the verbs of a name that change something, each where a verb stands.

    That is its first verb, whatever stands before it (`github_delete_repo`), one behind `and`, and one that ends it
    (`orders_delete`). Where it begins with reading, what comes later is a thing (`list_deleted_items`). Where there is
    no verb that is known, it is the first word, unless that is known to be none.
    """
    words = _without_server(name, server)
    own = _own_things(required)
    said = _Said(required, _first_word(description))
    found: set[str] = set()
    first = True
    for at, word in enumerate(words):
        if word in _AGAIN:
            first = True
            continue
        verb = _verb_at(words, at, own, said) if first else None
        if verb is not None:
            first = False
            found.add(verb)
    reads = bool(found & READING)
    found -= READING
    if words and (last := _verb_in(words[-1])) and last in _VERBS:
        behind = any(one in READING for one in words[:-1])
        is_thing_here = last in AT_TIMES_THINGS if behind else last in THINGS - DESTROYING
        # `list_delete` deletes lists for all that is known; `search_archive` searches.
        if not is_thing_here:
            found.add(last)
    if not found and not reads and words:
        found |= _unknown(words, own, said)
    return frozenset(found)


def _first_word(description: str) -> str:
    told = _ABOUT_ITSELF.sub("", description.casefold()).split(maxsplit=1)[:1]
    return re.sub(r"[^a-z]+", "", told[0]) if told else ""


class _Said(NamedTuple):
    """What is known of a tool beside its name."""

    required: frozenset[str]
    does: str
    """The word that its description begins with."""

    @property
    def reads(self) -> bool:
        return any(_is_form(self.does, one) for one in _SAYS_READING)


def _unknown(words: list[str], own: frozenset[str], said: _Said) -> set[str]:
    """Give the verb of a name that has none that is known, if it may have one: in doubt it changes something."""
    named = next((one for one in words if _is_form(said.does, one) and not is_thing(one)), None)
    if named is not None:
        # `server_hibernate`: "Hibernates a server."
        return {named}
    if words[-1] in _ON_OFF:
        return {words[-1]}
    nothing = max(map(len, words)) < _SHORTEST_VERB
    plural = len(words) == 1 and words[0].endswith("s") and not words[0].endswith("ss")
    about = words[0] in own or words[0] in THINGS or words[0] in SELDOM_THINGS or is_thing(words[0])
    if said.reads or nothing or plural or about or words[-1] in TELLS:
        return set()
    return {words[0]}


def _is_form(said: str, verb: str) -> bool:
    """Say whether a word is a verb as sentences begin with it: `Get`, `Gets`, `Searches`, `Queries`, `Getting`."""
    if not said.startswith(verb[:-1]) or not verb:
        return False
    stem = verb.removesuffix("e")
    return said in {verb, f"{verb}s", f"{verb}es", f"{verb[:-1]}ies", f"{stem}ing", f"{verb}{verb[-1]}ing"}


def _own_things(required: frozenset[str]) -> frozenset[str]:
    """Give the words whose ids have to be given: who takes an `order_id` and is called `order_...` is about one."""
    said = (pieces_of(one) for one in required)
    return frozenset(one[0] for one in said if len(one) == 2 and one[1] in _IDS)  # noqa: PLR2004 -- what and `id`


def _verb_at(words: list[str], at: int, own: frozenset[str], said: _Said) -> str | None:
    """Give the verb that a word is where a verb can stand."""
    word = words[at]
    rest = words[at + 1 :]
    if word == "check" and rest[:1] in (["in"], ["out"]):
        return "checkout"
    if word in READING:
        return word
    if word in HARMLESS_WITH and not HARMLESS_WITH[word].isdisjoint(rest):
        return "get"
    verb = _verb_in(word)
    about = False
    if verb in SELDOM_THINGS:
        told = bool(rest) and (word in own or rest[-1] in _TOLD or rest[-1] in _LOOKED_UP)
        about = told or (not rest and bool(at) and is_thing(words[at - 1]) and not said.required)
    elif verb in THINGS and verb not in DESTROYING:
        about = _is_about(words, at, own, said)
    return None if about else verb


def _is_about(words: list[str], at: int, own: frozenset[str], said: _Said) -> bool:
    """Say whether a word that can be a verb is the thing: `order_update`, `order_history`; `order_pizza` orders."""
    word, rest = words[at], words[at + 1 :]
    before = words[at - 1] if at else ""
    if word in own or is_thing(before) or before in THINGS or before in _LEADS_TO_A_THING:
        return True
    if rest:
        # Whose id is taken is what it is done to: `ticket_item` with an `item_id` does something with that.
        object_ = rest[0] in own or rest[0].removesuffix("s") in own
        return any(_is_plain_verb(one) for one in rest) or (rest[0] in REPORTS and not object_)
    if not said.required:
        return word not in TAKE_NOTHING
    return said.reads or (word in MOSTLY_THINGS and not any(_is_handed_over(one) for one in said.required))


def _is_handed_over(parameter: str) -> bool:
    """Say whether a parameter is what something is done with, rather than what is asked about."""
    return pieces_of(parameter)[-1:] in _HANDED_OVER


def _is_plain_verb(word: str) -> bool:
    verb = _verb_in(word)
    return word in READING - NOT_BEFORE or (verb is not None and verb not in THINGS)


@lru_cache(maxsize=1 << 14)
def _verb_in(word: str) -> str | None:
    """Give the verb that changes something and that a word is, or begins or ends with: `deleteuser`, `userdelete`."""
    if word in _VERBS:
        return word
    if word.endswith("s") and word not in TELLS and word[:-1] in _VERBS - THINGS - SELDOM_THINGS:
        return word[:-1]
    if word in NO_COMPOUND:
        return None
    for verb in COMPOUND:
        rest = word.removeprefix(verb)
        if rest != word and len(rest) >= _SHORTEST_REST and rest not in INFLECTED:
            return verb
    return next((verb for verb in ENDS_IN if word.endswith(verb) and not word.startswith("un")), None)


def _without_server(name: str, server: str) -> list[str]:
    """Give the words of a tool's name, without its server's or product's where it begins with that."""
    words, prefix = pieces_of(name), pieces_of(server)
    size = len(prefix)
    if prefix and words[:size] == prefix and len(words) > size:
        words = words[size:]
    return words[1:] if len(words) > 1 and words[0] in PRODUCTS else words


def _says(said: list[str], verb: str) -> bool:
    alike = {verb, *(one for group in ALIKE if verb in group for one in group)}
    return any(_is_said(said, at, one) for at in range(len(said)) for one in alike)


def _is_said(said: list[str], at: int, verb: str) -> bool:
    """Say whether a word of a goal is a verb, and this one: no `cancelled` order, no `delete` button's."""
    if not _NOT.isdisjoint(said[max(0, at - _NEAR) : at]):
        return False
    if verb in AT_TIMES_THINGS and said[at + 1 : at + 2] == ["of"]:
        # `transfers` are listed, and the `transfer of` something is one of them.
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
