"""Whether a goal asks for what a tool does: a command does, a question and what is said of others do not."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from halflap.graph.described import described
from halflap.graph.effects import name_words, seems_to_change, verbs_of
from halflap.graph.verbs import ALIKE, AT_TIMES_THINGS, CHANGING, DESTROYING, IDIOMS

if TYPE_CHECKING:
    from halflap.graph.edge import Ports

__all__ = ["is_asked_for"]

_GOAL_WORD = re.compile(r"[^\W\d_]+|[,.;:!?]")
_BEFORE = frozenset(
    {"to", "and", "then", "please", "or", "also", "you", "i", "we", "now", "just", "us", "must", "will"}
)
"""What comes before a verb in a goal, and not before a thing."""
_NOT = frozenset({"not", "never", "without", "don", "doesn", "dont", "no"})
_NEAR = 3
_POLITE = re.compile(
    r"(?:(?:please|hey|hi|hello|ok|okay|now|then|first|kindly|so|and|just|also)(?=\W|$)\W*"
    r"|(?:can|could|would|will)\s+you\s+"
    r"|(?:i|we)(?:\s+would|\s*['\u2019]d)?\s+(?:like|love|want|need|have|wish)\s+(?:you\s+)?to\s+"
    r"|(?:let\s*['\u2019]?s|let\s+us|let\s+me|help\s+me(?:\s+to)?|i\s+must|we\s+must|you\s+must)\s+)"
)
"""What a command begins with that says nothing of what is to be done."""
_QUESTIONS = frozenset(
    {"which", "who", "whom", "whose", "what", "how", "when", "where", "why", "can", "could", "may", "might", "is", "are",
     "was", "were", "do", "does", "did", "has", "have", "had", "should", "would", "will", "am"}
)  # fmt: skip
_LOOKS = frozenset(
    {"show", "list", "tell", "find", "get", "see", "count", "search", "look", "display", "view", "read", "fetch",
     "explain", "describe", "summarize", "summarise", "compare", "analyze", "analyse", "give", "lookup", "retrieve",
     "check", "inspect", "browse"}
)  # fmt: skip
"""What a goal begins with that asks to be told something; another verb may come behind `and`."""
_OF_OTHERS = frozenset(
    {"that", "who", "which", "whom", "whose", "what", "how", "why", "where", "when", "want", "wants", "wanted", "should",
     "could", "can", "may", "might", "would", "refuse", "refuses", "refused", "able", "allowed", "possible"}
)  # fmt: skip
"""Behind these a verb says what somebody else does, or what might be done."""
_PARTICLES = frozenset({"in", "out", "up", "down", "off", "back"})
_SAYS_LIKE = frozenset({"is", "are", "was", "were", "has", "have", "had"})
_NEXT = frozenset({"and", "then", ","})
_FILLS = frozenset({"please", "then", "also", "now", "and", "just"})
_THESE = frozenset({"it", "them", "those", "these", "this", "him", "her", "all", "each", "every"})


def is_asked_for(goal: str, ports: Ports) -> bool:
    """Say whether a goal names what a tool does, if that changes something; one that reads may be meant anyhow.

    What it does is its verb: who asks for orders asks for no `order_pizza`, and who cancels one for no `create_order`.
    """
    if not seems_to_change(ports):
        return True
    # Of a word that is not known to change anything the place is what tells: it comes first.
    verbs = verbs_of(ports) or frozenset(name_words(ports)[:1])
    # What destroys has to be said, whatever else it does: to find is not to `find_and_delete`.
    told = described(ports.description)
    needed = verbs & DESTROYING or verbs | ({told.change} if told.change and told.is_sure else set())
    return any(_says(said, verb) for said in _sentences(goal) for verb in needed)


def _sentences(goal: str) -> list[list[str]]:
    """Give the words of each sentence of a goal, without what makes it polite."""
    found = []
    for one in re.split(r"[.;!?](?=\s|$)", goal.casefold()):
        rest = one.strip()
        while begins := _POLITE.match(rest):
            rest = rest[begins.end() :].lstrip()
        found.append(_together(_GOAL_WORD.findall(rest)))
    return found


def _together(said: list[str]) -> list[str]:
    """Write as one what is one verb: `shut down`, `get rid of`."""
    found: list[str] = []
    for word in said:
        before = found[-1] if found else ""
        one = IDIOMS.get((before, word)) or (before + word if word in _PARTICLES else "")
        if one in CHANGING:
            found[-1] = one
        else:
            found.append(word)
    return found


def _says(said: list[str], verb: str) -> bool:
    alike = {verb, *(one for group in ALIKE if verb in group for one in group)}
    return any(_is_said(said, at, one) and _is_command(said, at) for at in range(len(said)) for one in alike)


def _is_command(said: list[str], at: int) -> bool:
    """Say whether what stands at a place of a sentence is to be done, rather than asked about or told of others."""
    if said[0] in _QUESTIONS:
        return False
    if not at:
        return True
    before = at - 1
    while before > 0 and said[before] in _FILLS - _NEXT:
        before -= 1
    joined = said[before] in _NEXT
    if joined and said[at + 1 : at + 2] and said[at + 1] in _THESE:
        # `find orders that are late and cancel them`
        return True
    others = [one for one in range(at) if said[one] in _OF_OTHERS]
    if others and not (joined and all(said[one + 1] in _SAYS_LIKE for one in others)):
        # What is only like something does nothing: `find the order that is late and cancel the shipment`
        return False
    return joined or said[0] not in _LOOKS


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
