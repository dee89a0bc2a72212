"""Which words of a goal tools speak of: by what they are called, by what they return, and by what they are said to do."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

from halflap.catalog.search.words import STOP_WORDS, terms
from halflap.graph.effects import name_words, seems_to_change
from halflap.graph.speech import PRONOUNS, QUESTIONS
from halflap.graph.subject import subject_of
from halflap.graph.synonyms import GROUPS, asked_attributes, kinds_in
from halflap.graph.things import TELLS
from halflap.graph.words import words_in, words_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from halflap.graph.clauses import Said
    from halflap.graph.edge import Ports
    from halflap.graph.graph import Graph
    from halflap.graph.workflow import Workflow

__all__ = [
    "asked_words",
    "candidates",
    "finds_nothing",
    "gives_only_what_is_around",
    "head_of",
    "named_in",
    "returned",
    "said_by",
    "spoken_terms",
    "widened",
]

_IN_FIELDS = 0.6
_IN_DESCRIPTION = 0.3
_IN_PASSING = 0.1
_HEAD = 2.0
"""How much more the word counts that says what is asked for: `directories` of `which directories may I read`."""
_BY_NAME = 0.85
_BY_FIELD = 0.5
_BY_HAVE = 0.7
_MOST_RETURNING = 20
_MOST_BY_FIELD = 6
"""So many tools may be meant though search does not find them."""
_ONE = {word: group.split()[0] for group in GROUPS for word in group.split()}
"""Words that are said for one another, each with the one that stands for all."""
_ONE_TERM = {term: terms(one)[0] for word, one in _ONE.items() for term in terms(word) if terms(one)}
_ALIKE = {
    term: {one for other in group.split() for one in words_of(other)}
    for group in GROUPS
    for word in group.split()
    for term in terms(word)
}
_FINDING = frozenset({"find", "search", "list", "locate", "query", "filter", "lookup"})
_NAMES = re.compile(r"[^\W\d][\w.-]*\w")
_INSIDE = frozenset({"on", "in", "inside", "within"})


@lru_cache(maxsize=1 << 14)
def spoken_terms(text: str) -> frozenset[str]:
    """Give the words of a text that say something, each as the one that stands for all that mean the same."""
    return frozenset(_ONE_TERM.get(one, one) for one in terms(text))


def asked_words(said: Said, goal: str) -> dict[str, float]:
    """Give the words of a goal, each with how much it counts: what is asked for counts most."""
    # What is at hand says nothing of which tool is meant.
    found = dict.fromkeys(spoken_terms(" ".join(said.words) if said.have else goal), 1.0)
    for word, attribute in asked_attributes(goal).items():
        for term in spoken_terms(word):
            found.pop(term, None)
        found |= dict.fromkeys(spoken_terms(attribute), _HEAD)
    for head in spoken_terms(head_of(said)):
        if head in found:
            found[head] = _HEAD
    return found


def head_of(said: Said) -> str:
    """Give what is asked for, in a word: the noun that a question, or a goal that is none, begins with."""
    first = next(iter(said.clauses), None)
    if first is None:
        return ""
    plain = [one.text for one in first.phrase if one.is_plain]
    is_noun = first.verb not in QUESTIONS and not first.is_whole
    head = plain[-1] if plain else first.verb if is_noun else ""
    behind = first.tails[0] if first.tails and first.tails[0].lead == "of" else None
    if head.casefold() in TELLS and behind is not None:
        # `details of all reservations`
        head = next((one.text for one in reversed(behind.words) if one.is_plain), head)
    return head


def widened(goal: str) -> str:
    """Give what else tools may be searched by that a goal means: other words for its own, and the kinds of its values."""
    spoken = [word for one in dict.fromkeys(terms(goal)) for word in sorted(_ALIKE.get(one, ()))]
    return " ".join(dict.fromkeys([*spoken, *asked_attributes(goal).values(), *kinds_in(goal)]))


def said_by(workflow: Workflow) -> Mapping[str, float]:
    """Give the words that a workflow speaks of, each with how much that says."""
    found: dict[str, float] = {}
    for task in workflow.tasks:
        first, _, rest = task.ports.description.strip().partition(". ")
        found = dict.fromkeys(spoken_terms(rest), _IN_PASSING) | found
        found |= dict.fromkeys(spoken_terms(first), _IN_DESCRIPTION)
    for task in workflow.tasks:
        found |= dict.fromkeys(_fields(task.ports), _IN_FIELDS)
    for task in workflow.tasks:
        found |= dict.fromkeys(spoken_terms(task.ports.original_name or task.ports.tool), 1.0)
    return found


def returned(ports: Ports) -> set[tuple[str, ...]]:
    """Give the names of what a tool returns, as words."""
    return {
        words_of(place.path[-1].key) for place in ports.places if place.path and place.path[-1].kind == "key"
    }


def _fields(ports: Ports) -> set[str]:
    """Give the words of what a tool returns: its keys, and the few values that one can have."""
    keys = {step.key for place in ports.places for step in place.path if step.kind == "key"}
    values = {one for place in ports.places for one in place.type.values if isinstance(one, str)}
    return {term for one in keys | values for term in spoken_terms(" ".join(words_of(one)))}


def gives_only_what_is_around(said: Said, workflow: Workflow) -> bool:
    """Say whether somebody asks what is in something, and gets that thing: `what is on my playlists`."""
    first = next(iter(said.clauses), None)
    if first is None or first.verb not in {"what", "whats"} or first.phrase or not first.tails:
        return False
    inside = [one for one in first.tails if one.lead in _INSIDE]
    around = {term for one in inside for word in one.words for term in spoken_terms(word.text)}
    ends = [workflow.order[one.step].ports for one in workflow.wanted]
    things = [set(subject_of(one.original_name or one.tool, one.server).thing) for one in ends]
    return bool(around) and all(
        {term for one in made for term in spoken_terms(one)} <= around for made in things
    )


def finds_nothing(said: Said, workflow: Workflow) -> bool:
    """Say whether something is to be found first, and nothing looks for it: `find all json files and read them`."""
    if not said.clauses or said.clauses[0].verb not in _FINDING:
        return False
    if not any(word.said in PRONOUNS for one in said.clauses[1:] for word in one.phrase[:1]):
        return False
    return all(_FINDING.isdisjoint(name_words(task.ports)) for task in workflow.tasks)


def candidates(said: Said, goal: str, graph: Graph) -> Iterator[tuple[str, float]]:
    """Give the tools that read and may be meant though their texts do not say so, each with how well it fits.

    Those that are called what is asked for and what is to be done, those that take just what is at hand, and those that
    return what is asked for under its name.
    """
    given = {words_of(name) for name in said.have}
    asked = {one for one in asked_words(said, goal) if not one.isdigit()}
    head = spoken_terms(head_of(said))
    kinds = set(kinds_in(goal))
    for name, ports in graph.tools.items():
        takes = {words_of(one) for one in ports.required}
        named = spoken_terms(ports.original_name or name) & asked
        takes_kind = bool(kinds) and any(one[-1:] and one[-1] in kinds for one in takes)
        if ((head & named and named - head) or takes_kind) and not seems_to_change(ports):
            yield name, _BY_NAME
        elif takes and takes <= given and not seems_to_change(ports):
            yield name, _BY_HAVE
    asked_for = _returning(head_of(said), graph)
    yield from ((name, _BY_HAVE) for name in asked_for[:_MOST_BY_FIELD])
    yield from ((name, _BY_FIELD) for name in _returning(goal, graph)[:_MOST_BY_FIELD])


def named_in(goal: str, graph: Graph) -> set[str]:
    """Give the tools whose very name a goal has, its own or the whole: `get_customer`; a single word is just a word."""
    said = {one for one in _NAMES.findall(goal) if not one.isalpha() or not (one.islower() or one.istitle())}
    return {name for name, one in graph.tools.items() if name in said or one.original_name in said}


def _returning(text: str, graph: Graph) -> list[str]:
    """Give the tools that read and return something of a name that a text says, those that say most of it first."""
    spoken = {word for one in terms(text) for word in _ALIKE.get(one, ())}
    words = {*spoken, *words_in(text)} - STOP_WORDS
    found: dict[str, int] = {}
    for name, tools in graph.named.sharing(words):
        # What many return tells little.
        if len(tools) <= _MOST_RETURNING and not STOP_WORDS.issuperset(words_of(name)):
            for tool in tools:
                found[tool] = found.get(tool, 0) + 1
    ranked = sorted(found, key=lambda one: (-found[one], one))
    return [one for one in ranked if one in graph.tools and not seems_to_change(graph.tools[one])]
