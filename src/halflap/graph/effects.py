"""Whether a tool seems to change something, by the verb in its name: no plan should do that on its way without need."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from halflap.graph.acting import acts
from halflap.graph.consequences import consequence
from halflap.graph.described import Described, described, is_form
from halflap.graph.things import PRODUCTS, REPORTS, TELLS, is_thing
from halflap.graph.verbs import (
    ACTS,
    AGENTS,
    AT_TIMES_THINGS,
    CHANGING,
    COMPOUND,
    DESTROYING,
    DOUBTFUL,
    ENDS_IN,
    HARMLESS_WITH,
    IDIOMS,
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

__all__ = ["name_words", "seems_to_change", "seems_to_destroy", "verbs_of"]

_SHORTEST_REST = 3
_SHORTEST_VERB = 3
"""No verb is shorter that is not known: a tool that is called `a1` is called nothing."""
_LONGEST = 200
_LONGEST_READ = 1_000
"""So much of a description is read for what is done beside what it begins with."""
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
    "cost",
    "costs",
    "fee",
    "fees",
}
_PLANS = frozenset({"plan", "plans", "calendar", "guide", "chart"})
_GIVEN = _TOLD | _PLANS | {"guides", "calendars", "charts", "date", "dates", "hours"}
"""What ends both a name and the phrase that a description begins with, where they say what is told: `harvest_dates`."""
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
_WRITTEN = frozenset({"email", "mail", "post", "text", "message", "file"})
_VERBS = DESTROYING | CHANGING
_SEARCHING = frozenset({"find", "search", "scan", "locate", "detect", "query", "filter", "match"})
"""What comes before something is done with what was found: `find_delete_duplicates`."""
_FOR_SALE = ["for", "sale"]
_SAYS_WHICH = frozenset({"open", "free", "new"})
"""What is done with one, and says what several are like: `open_account`, `open_tickets`."""
_ENDS_AS_VERBS = re.compile(r".{3,}(?:[^aeiou]i[sz]e|ify|[^aeiou]ate)")
_ENDS_AS_VERBS_ONLY = frozenset(
    {"template", "certificate", "candidate", "estate", "climate", "private", "alternate", "aggregate", "coordinate",
     "duplicate", "corporate", "affiliate", "associate", "franchise", "enterprise", "merchandise", "promise", "premise",
     "sunrise", "precise", "chocolate", "ultimate", "separate", "birthdate", "startdate", "enddate", "substrate",
     "graduate", "advocate", "magistrate", "surrogate", "concise", "immediate", "intermediate", "license", "update"}
)  # fmt: skip
_FOR_GOOD = re.compile(
    r"(?i)\birreversibl|\birrevocabl|\bfor good\b|(?:not|n['\u2019]t) be (?:undone|reversed)\b"
)
"""What a description says of what cannot be had back."""
_AGAIN = frozenset({"and", "or", "then"})
"""Another verb comes behind these: `find_and_delete`."""


_NOT_AGAIN = frozenset({"recall", "remark", "refine", "resign", "resource"})


def seems_to_change(ports: Ports) -> bool:
    """Say whether a tool is said to change something, or is not called as those are that only read."""
    if ports.changes is not None or ports.is_destructive:
        return ports.is_destructive or bool(ports.changes)
    return bool(verbs_of(ports))


def seems_to_destroy(ports: Ports) -> bool:
    """Say whether a tool is said to destroy something, or is called or described as those are that do."""
    if ports.is_destructive or ports.changes is False:
        return ports.is_destructive
    verbs, told = verbs_of(ports), described(ports.description[:_LONGEST])
    # `close_account`: "Deletes an account."
    says_so = (told.is_sure and told.change in DESTROYING) or _FOR_GOOD.search(ports.description[:_LONGEST])
    return not DESTROYING.isdisjoint(verbs) or bool(verbs and says_so)


def _name(ports: Ports) -> str:
    return ports.original_name or ports.tool.rpartition("__")[2]


def name_words(ports: Ports) -> list[str]:
    """Give the words of a tool's name, without its server's or product's where it begins with that."""
    return _without_server(_name(ports), ports.server)


def verbs_of(ports: Ports) -> frozenset[str]:
    """Give the verbs of a tool's name that change something."""
    return _verbs(_name(ports), ports.server, ports.required, ports.description[:_LONGEST_READ])


@lru_cache(maxsize=1 << 14)
def _verbs(name: str, server: str, required: frozenset[str], description: str) -> frozenset[str]:
    """Give the verbs of a name that change something, each where a verb stands.

    That is its first verb, whatever stands before it (`github_delete_repo`), one behind `and`, and one that ends it
    (`orders_delete`). Where it begins with reading, what comes later is a thing (`list_deleted_items`). Where there is
    no verb that is known, it is the first word, unless that is known to be none.
    """
    words = _without_server(name, server)
    own = _own_things(required)
    said = _Said(required, described(description[:_LONGEST]))
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
    found |= _at_the_end(words, said) | _with_what_is_found(words) | _had_done(words, own)
    if found or not words:
        return frozenset(found)
    told = said.told
    if told.change is not None and (told.is_sure or not reads):
        return frozenset({told.change} | (set() if reads or told.change == words[0] else _act(words)))
    beside = consequence(description, reads=reads) or acts(description)
    if beside is not None:
        return frozenset({beside})
    return frozenset() if reads else frozenset(_unknown(words, own, said))


class _Said(NamedTuple):
    """What is known of a tool beside its name."""

    required: frozenset[str]
    told: Described

    @property
    def reads(self) -> bool:
        return self.told.reads


def _at_the_end(words: list[str], said: _Said) -> set[str]:
    last = _verb_in(words[-1]) if words else None
    if said.told.is_measured and words[-1:] == [said.told.does]:
        return set()
    if last is None or last not in _VERBS or not HARMLESS_WITH.get(last, frozenset()).isdisjoint(words):
        return set()
    behind = any(one in READING for one in words[:-1])
    # `get_kills`
    is_thing_here = (
        (last in AT_TIMES_THINGS or words[-1] == f"{last}s") if behind else last in THINGS - DESTROYING
    )
    # `list_delete` deletes lists for all that is known; `search_archive` searches.
    return set() if is_thing_here else {last}


def _had_done(words: list[str], own: frozenset[str]) -> set[str]:
    """Give what somebody gets done to one: `get_bin_collected` with a `bin_id`; but `get_deleted_items`."""
    is_done = len(words) > 2 and words[0] in {"get", "have"} and words[-2] in own and words[-1].endswith("ed")  # noqa: PLR2004
    return {words[-1].removesuffix("ed")} if is_done else set()


def _with_what_is_found(words: list[str]) -> set[str]:
    """Give what is done with what is found: `search_replace_in_file`; a `find_cancel_policy` finds a policy."""
    for before, word, behind in zip(words, words[1:], words[2:], strict=False):
        is_done = word in _VERBS and word not in AT_TIMES_THINGS
        if before in _SEARCHING and is_done and behind not in REPORTS and behind not in _TOLD:
            return {word}
    return set()


def _act(words: list[str]) -> set[str]:
    """Give what a name without a verb that is known says is done: the act that it ends with, or what it ends with."""
    last = words[-1]
    known = ACTS.get(last) or AGENTS.get(last)
    if known is not None:
        return {known}
    return set() if len(words) == 1 or is_thing(last) else {last}


def _unknown(words: list[str], own: frozenset[str], said: _Said) -> set[str]:
    """Give the verb of a name that has none that is known, if it may have one: in doubt it changes something."""
    last = words[-1]
    if last in _ON_OFF:
        return {last}
    if said.reads or (last == said.told.noun and last in _GIVEN):
        return set()
    named = next((one for one in words if is_form(said.told.does, one) and not is_thing(one)), None)
    if named is not None:
        # `server_hibernate`: "Hibernates a server."
        return {named.removesuffix("s") if named.removesuffix("s") in _VERBS else named}
    is_act = last not in own and (last in ACTS or last in AGENTS)
    # `vm_hibernate`
    is_verb = _ENDS_AS_VERBS.fullmatch(last) is not None and last not in _ENDS_AS_VERBS_ONLY
    if is_act or (is_verb and len(words) > 1):
        return _act(words)
    is_apart = _is_plural(words[0]) or not _LEADS_TO_A_THING.isdisjoint(words)
    if len(words) > 1 and last in own and words[0] not in own and not said.told.does and not is_apart:
        # `page_patient` with a `patient_id`, and nothing said: the first word is what is done.
        return {words[0]}
    nothing = max(map(len, words)) < _SHORTEST_VERB
    plural = _is_plural(last) and (len(words) == 1 or bool(said.told.does))
    about = nothing or plural or last in TELLS
    is_form_of = "to" in words[1:-1] and is_thing(words[0]) and is_thing(last)  # `csv_to_json`
    vague = last in _GIVEN or is_form_of
    about = about or (vague if said.told.is_vague else _is_about_things(words[0], own))
    return set() if about else {words[0]}


def _is_about_things(word: str, own: frozenset[str]) -> bool:
    forms = {word, word.removesuffix("s")} if _is_plural(word) else {word}
    return any(one in own or one in THINGS or one in SELDOM_THINGS or is_thing(one) for one in forms)


def _is_plural(word: str) -> bool:
    return word.endswith("s") and not word.endswith("ss")


def _own_things(required: frozenset[str]) -> frozenset[str]:
    """Give the words whose ids have to be given: who takes an `order_id` and is called `order_...` is about one."""
    said = (pieces_of(one) for one in required)
    return frozenset(one[0] for one in said if len(one) == 2 and one[1] in _IDS)  # noqa: PLR2004 -- what and `id`


def _verb_at(words: list[str], at: int, own: frozenset[str], said: _Said) -> str | None:
    """Give the verb that a word is where a verb can stand."""
    word = words[at]
    rest = words[at + 1 :]
    settled = _idiom(word, rest) or (word if word in READING else _read_at_times(words, at, said))
    if settled is not None:
        return settled
    verb = _verb_in(word) or _done_again(word)
    about = False
    if said.told.is_measured and word == said.told.does:
        # `bin_fill`: "Fill level of a bin."
        about = not rest or rest[-1] not in own
    elif word in _SAYS_WHICH and rest and _is_plural(rest[-1]) and said.told.change is None:
        # Whose ids are taken is what it is done to.
        about = rest[-1].removesuffix("s") not in own
    elif verb in SELDOM_THINGS:
        told = bool(rest) and (word in own or rest[-1] in _TOLD or rest[-1] in _LOOKED_UP)
        about = told or (not rest and bool(at) and is_thing(words[at - 1]) and not said.required)
    elif verb in THINGS and verb not in DESTROYING:
        about = _is_about(words, at, own, said)
    return None if about else verb


def _idiom(word: str, rest: list[str]) -> str | None:
    """Give what several words do together: to `check_out` is not to check, to `list_for_sale` is not to list."""
    if word == "list" and rest[-2:] == _FOR_SALE:
        return "offer"
    return IDIOMS.get((word, rest[0])) if rest else None


def _read_at_times(words: list[str], at: int, said: _Said) -> str | None:
    """Settle a verb that reads or changes by what else is said: `convert_currency`, `ping_host`; `ping_user`."""
    word, told = words[at], said.told
    if word in HARMLESS_WITH and not HARMLESS_WITH[word].isdisjoint(words):
        return told.change if told.change is not None and told.is_sure else "get"
    if word not in DOUBTFUL:
        return None
    reads = words == [word] or (told.reads and not is_form(told.does, word))
    return "get" if reads else word


def _is_about(words: list[str], at: int, own: frozenset[str], said: _Said) -> bool:
    """Say whether a word that can be a verb is the thing: `order_update`, `order_history`; `order_pizza` orders."""
    word, rest = words[at], words[at + 1 :]
    before = words[at - 1] if at else ""
    if word in own or is_thing(before) or before in THINGS or before in _LEADS_TO_A_THING:
        return True
    if rest:
        # Whose id is taken is what it is done to: `ticket_item` with an `item_id` does something with that.
        object_ = rest[0] in own or rest[0].removesuffix("s") in own
        # `email_summary` with a `to`
        is_written = word in _WRITTEN and any(_is_handed_over(one) for one in said.required)
        told = rest[0] in REPORTS or (said.reads and (rest[-1] in MOSTLY_THINGS or rest[-1] in _PLANS))
        return any(_is_plain_verb(one) for one in rest) or (told and not object_ and not is_written)
    if not said.required:
        return word not in TAKE_NOTHING
    return said.reads or (word in MOSTLY_THINGS and not any(_is_handed_over(one) for one in said.required))


def _is_handed_over(parameter: str) -> bool:
    """Say whether a parameter is what something is done with, rather than what is asked about."""
    return pieces_of(parameter)[-1:] in _HANDED_OVER


def _done_again(word: str) -> str | None:
    """Give a word that says that something is done once more: `rerun`, `resend`."""
    is_one = word.startswith("re") and word[2:] in _VERBS and word not in _NOT_AGAIN
    return word if is_one else None


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
    words, prefix = pieces_of(name), pieces_of(server)
    size = len(prefix)
    if prefix and words[:size] == prefix and len(words) > size:
        words = words[size:]
    return words[1:] if len(words) > 1 and words[0] in PRODUCTS else words
