"""Whether a goal says that something is done to all, to all of which, and whether a tool does it to all by itself."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from halflap.graph.deeds import parameters_of
from halflap.graph.effects import name_words
from halflap.graph.hearing import Hearing, content_of
from halflap.graph.speech import QUANTIFIERS
from halflap.graph.verbs import MAKING
from halflap.graph.vocabulary import IDENTIFYING
from halflap.graph.words import words_of

if TYPE_CHECKING:
    from halflap.graph.clauses import Clause, Said, Tail
    from halflap.graph.deeds import Deed
    from halflap.graph.edge import Ports
    from halflap.graph.hearing import Object

__all__ = ["SAYS_ALL", "does_all", "doubt_of_which", "is_of_each", "names_it", "quantifier"]

SAYS_ALL = frozenset({"all", "every", "everything", "everyone", "everybody"})
_OF = frozenset({"of", "in", "from", "at", "with", "on", "within", "inside"})
_TO_EACH = frozenset({"to", "for", "of", "in", "on", "at", "from", "into", "onto"})
_FIRST_SENTENCE = re.compile(r"[.\n]")


def quantifier(said: Said) -> str:
    """Give the word by which a goal says that it is all of them."""
    return next((one for one in said.words if one in QUANTIFIERS or one in SAYS_ALL), "all")


def is_of_each(tail: Tail, deed: Deed, ports: Ports, said: Said) -> bool:
    """Say whether something is done for each: `send a letter to every patient`, `set the band of all stations`.

    What makes nothing has to be told to which, and by nothing else that is open: else it would be each with each.
    """
    if tail.lead not in _TO_EACH or not tail.words or tail.words[0].said not in QUANTIFIERS:
        return False
    nouns = [one for one in content_of(tail) if not one.names]
    if len(nouns) != 1:
        return False
    words = set(words_of(nouns[0].text))
    if not deed.verbs.isdisjoint(MAKING):
        return tail.lead in {"to", "for"} and words <= parameters_of(ports)
    held = {words_of(name) for name in said.have}
    still = [one for one in map(words_of, ports.required) if one not in held]
    return len(still) == 1 and still[0][-1] in IDENTIFYING and {*still[0][:-1]} == words


def doubt_of_which(whole: Object, clause: Clause, ports: Ports, said: Said) -> str:
    """Give what is at hand for the tool, where it may say of which ones instead: `update all cows of barn B1`.

    And what chooses, where another word than `of` says how: `all cows near barn B1`.
    """
    hearing = Hearing(said, ports)
    for tail in whole.tails:
        told = [one.text for one in tail.words if hearing.goes_into(one)]
        if told and tail.lead in _OF and clause.verb not in MAKING:
            return told[0]
        if tail.lead not in _OF and any(one.names and not hearing.goes_into(one) for one in tail.words):
            return tail.lead
    return ""


def does_all(ports: Ports) -> bool:
    """Say whether a tool changes all that there is, whatever it is told."""
    if not SAYS_ALL.isdisjoint(name_words(ports)):
        return True
    first = _FIRST_SENTENCE.split(ports.description.strip(), maxsplit=1)[0].casefold()
    all_said = not SAYS_ALL.isdisjoint(re.findall(r"[^\W_]+", first))
    return not ports.required and all_said


def names_it(clause: Clause, ports: Ports) -> bool:
    """Say whether a clause says the very name of a tool: `clear the cart`; but none that says `all` itself."""
    words = set(name_words(ports))
    return SAYS_ALL.isdisjoint(words) and words <= {clause.verb, *(one.said for one in clause.phrase)}
