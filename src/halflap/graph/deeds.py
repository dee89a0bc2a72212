"""What a tool that changes something does, and to what: the verbs and the object that its name and description say."""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from halflap.graph.described import described, is_form
from halflap.graph.effects import name_words, verbs_of
from halflap.graph.speech import DETERMINERS, PARTICLES, PREPOSITIONS, RELATIVES
from halflap.graph.verbs import ACTS, AGENTS, ALIKE, CHANGING, DESTROYING, READING, THINGS
from halflap.graph.vocabulary import IDENTIFYING
from halflap.graph.words import words_in, words_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from halflap.graph.edge import Ports

__all__ = ["GENERIC", "Deed", "alike", "deeds_of", "own_words", "parameters_of", "said_words"]

GENERIC = frozenset({"item", "thing", "object", "entity", "record", "resource", "element", "data"})
"""What a description calls whatever it may be."""
_SAYS_ALL = frozenset({"all", "every", "everything", "everyone", "everybody"})
_NO_OBJECT = frozenset({"rid", "and", "or", "then", "bulk", "batch", "many", "multiple", "by"})
_ON_OFF = frozenset({"on", "off"})
_TURNS = frozenset({"turn", "switch", "power"})
_IDS = frozenset({"id", "uuid"})
_WORD = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)*|[,;:.(/]")
_FIRST_SENTENCE = re.compile(r"[.\n]")
_MOST_WORDS = 40


class Deed(NamedTuple):
    """Something that a tool does."""

    verbs: frozenset[str]
    heads: frozenset[str]
    """What it is done to, in one word each: `note` of `delete_credit_note`; none where nobody says it."""
    before: frozenset[str]
    """What stands before that: `credit`."""
    is_named: bool
    """Whether the name says to what, rather than the description or the parameters."""
    parts: frozenset[str] = frozenset()
    """What its parameters name: who books a delivery slot books a delivery, with a `slot_id`."""
    particle: str = ""
    """`off`, where it is that which is done."""
    leads: frozenset[str] = frozenset()
    """Prepositions that stand between the verb and what it is done to: `Reply to a ticket`."""


def alike(verb: str) -> frozenset[str]:
    """Give the verbs that are said for one, with it."""
    return frozenset({verb}.union(*(group for group in ALIKE if verb in group)))


def deeds_of(ports: Ports) -> tuple[Deed, ...]:
    """Say what a tool does and to what: as its name says, and as its description does, where that is something else."""
    return _deeds(
        tuple(name_words(ports)), verbs_of(ports), ports.description[:300], tuple(sorted(ports.required))
    )


@lru_cache(maxsize=1 << 13)
def _deeds(
    words: tuple[str, ...], known: frozenset[str], description: str, required: tuple[str, ...]
) -> tuple[Deed, ...]:
    told, by_text = described(description), _described_object(description)
    leads = frozenset(words[:1]) & CHANGING if is_form(told.does, words[0] if words else "") else frozenset()
    verbs = known | leads or frozenset(words[:1])
    # What destroys has to be said, whatever else it does: to find is not to `find_and_delete`.
    main = leads | (verbs & DESTROYING - THINGS) if leads else verbs - THINGS or verbs
    needed = main & DESTROYING or main
    # `commit_changes`, `purge_archive`
    objects = _named_object(words, leads or main)
    is_named = bool(objects)
    own = set(needed)
    if told.change and not own.isdisjoint(alike(told.change)):
        # `Move or rename files`
        own.update(_beside(description))
    deed = _deed(own, objects or by_text, is_named=is_named, words=words)
    named = _entities(required)
    deed = deed._replace(leads=_leads(words, description, own))
    found = [deed._replace(parts=named) if is_named else deed._replace(heads=deed.heads | named)]
    if told.change and told.is_sure and own.isdisjoint(alike(told.change)):
        found.append(_deed({told.change}, by_text, is_named=False, words=()))
    return tuple(found)


def _leads(words: Sequence[str], description: str, verbs: Iterable[str]) -> frozenset[str]:
    """Give the prepositions right behind the verb, in a name and in a description."""
    said = _WORD.findall(description.casefold())[:2]
    pairs = [*pairwise(words), *pairwise(said)]
    return frozenset(
        then for first, then in pairs if then in PREPOSITIONS and any(is_form(first, verb) for verb in verbs)
    )


def _deed(verbs: set[str], objects: Sequence[str], *, is_named: bool, words: Sequence[str]) -> Deed:
    nouns = [one for piece in objects for one in words_of(piece)]
    while len(nouns) > 1 and nouns[-1] in _IDS:
        nouns.pop()
    turns = verbs & _ON_OFF
    particle = next(iter(turns or (_ON_OFF & set(words) if verbs & _TURNS else ())), "")
    return Deed(
        frozenset(_TURNS if turns else verbs),
        frozenset(nouns[-1:]),
        frozenset(nouns[:-1]),
        is_named,
        particle=particle,
    )


def _named_object(words: Sequence[str], verbs: frozenset[str]) -> list[str]:
    """Give the words of a name that say to what: those behind the verb up to a preposition, else those before it."""
    kept: list[str] = []
    before: list[str] = []
    is_behind = False
    for at, word in enumerate(words):
        rest = _without_verb(word, verbs)
        if rest is not None:
            is_behind = True
            kept += [rest] if rest else []
        elif is_behind and (
            word in PREPOSITIONS - PARTICLES or (word in PREPOSITIONS and kept and at + 1 < len(words))
        ):
            if kept:
                break
        elif word not in _NO_OBJECT and word not in PREPOSITIONS and word not in READING:
            (kept if is_behind else before).append(word)
    objects = kept or before
    return [one for one in objects if one not in _SAYS_ALL] or objects


def _without_verb(word: str, verbs: frozenset[str]) -> str | None:
    """Give what is left of a word without the verb that it is or has; None of one that has none."""
    for verb in verbs:
        if is_form(word, verb) or ACTS.get(word) == verb or AGENTS.get(word) == verb:
            return ""
        for rest in (word.removeprefix(verb), word.removesuffix(verb)):
            if rest != word and len(verb) > 3 and len(rest) > 2:  # noqa: PLR2004 -- `deleteuser`
                return rest
    return None


def _described_object(description: str) -> list[str]:
    """Give the first phrase behind the verb that a description begins with: `Moves the whole balance to savings`."""
    words = _WORD.findall(_FIRST_SENTENCE.split(description.casefold().strip(), maxsplit=1)[0])[:_MOST_WORDS]
    at = 1
    while at + 1 < len(words) and words[at] in {"or", "and", "/", ","}:
        at += 2
    found: list[str] = []
    for word in words[at:]:
        if word in DETERMINERS and not found:
            continue
        if word in PREPOSITIONS or word in RELATIVES or word in {"and", "or"} or not word[0].isalpha():
            break
        found.append(word)
    return found


def _beside(description: str) -> set[str]:
    """Give the verbs that a description begins with, where there are several: `Move or rename`."""
    words = _WORD.findall(description.casefold())[:8]
    found: set[str] = set()
    for at in range(1, len(words) - 1, 2):
        if words[at] not in {"or", "and", "/", ","}:
            break
        found.update(verb for verb in CHANGING if is_form(words[at + 1], verb))
    return found


def _entities(required: Iterable[str]) -> frozenset[str]:
    """Give what is named by parameters that have to be given: `card` of a `card_id`."""
    named = (words_of(one) for one in required)
    return frozenset(one[-2] for one in named if len(one) > 1 and one[-1] in IDENTIFYING)


def own_words(ports: Ports) -> frozenset[str]:
    """Give the words of a tool's name and of the first sentence of its description."""
    first = _FIRST_SENTENCE.split(ports.description.strip()[:300], maxsplit=1)[0]
    return words_in(first) | {one for word in name_words(ports) for one in words_of(word)}


def parameters_of(ports: Ports) -> frozenset[str]:
    """Give the words of what a tool takes."""
    return frozenset(one for slot in ports.slots for one in words_of(slot.parameter))


def said_words(ports: Ports) -> frozenset[str]:
    """Give all that a tool says by its name, its first sentence and its parameters."""
    return own_words(ports) | parameters_of(ports)
