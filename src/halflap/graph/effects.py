"""Whether a tool may change something.

In this order: the user's settings and the server's annotations, as far as they are believed (`Ports.changes`); then the
first verb of the tool's name and the first word of its description, against a list of common verbs; otherwise it may
change something. A word that stands for a change is always believed; both places have to agree that a tool only reads.
"""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING

from halflap.graph.naming import is_plural, pieces_of, subject_of, verb_at
from halflap.graph.naming.vocabulary import CHANGE_VERBS, READ_VERBS, SURE_READS

if TYPE_CHECKING:
    from halflap.graph.ports import Ports

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
    """Return whether a tool takes something away: its server or the user says so, or the verb of its name does."""
    if ports.is_destructive:
        return True
    return ports.changes is not False and subject_of(ports.name).destroys


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
    # What comes before the verb is a noun (`issues_list`) or a verb that is not known (`toggle_view`).
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
