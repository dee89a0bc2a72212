"""How well a workflow fits the words of a goal: whether it speaks of what the goal is about, and of how much else."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from halflap.gateway.wording import head_of, spoken_terms
from halflap.graph.clauses import acted
from halflap.graph.deeds import alike, deeds_of
from halflap.graph.effects import name_words, seems_to_change
from halflap.graph.speech import ADJECTIVES, DETERMINERS, FILLERS, LOOKS, PRONOUNS, QUESTIONS, TELLING
from halflap.graph.synonyms import asked_attributes, kinds_in
from halflap.graph.verbs import AT_TIMES_THINGS, CHANGING, READING
from halflap.graph.words import words_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from halflap.graph.clauses import Clause, Said, Word
    from halflap.graph.edge import Ports
    from halflap.graph.workflow import Workflow

__all__ = [
    "Subject",
    "adds_nothing",
    "fit_of",
    "shares",
    "subject_said",
    "tells",
    "undone",
    "unheard",
    "unspoken",
]

_HEAD, _NOUN, _LIKE, _VERB = 2.0, 1.0, 0.5, 2.0
_NAMED, _TAKEN, _SAID, _SERVER, _PASSING = 1.0, 0.9, 0.8, 0.8, 0.3
_ATTRIBUTE_PASSING = 0.7
_KIN = 0.8
_IDS = frozenset({(), ("id",), ("ids",)})
"""What may stand behind a thing in the name of a field that has it."""
_TOLD = "told "
"""Before a word, that it is not only one of a parameter."""
_SHARED = 0.45
"""From so much on a tool speaks of a word: not only in passing."""
_LONGEST_SENTENCE = 200
_SHORTEST_KIN = 4
_LONGEST_ENDING = 5
_SHORT_ENDING = 2
_COMPOUND = 6
_LONGEST_COMPOUND = 12
_SAYS_LITTLE = frozenset(
    {"list", "lists", "item", "items", "id", "ids", "number", "numbers", "thing", "things", "way", "data", "something",
     "anything", "one", "lot", "kind", "type", "total", "count", "names", "name", "history", "histories", "detail",
     "details", "info", "information", "summary", "overview", "stats", "statistics", "metadata", "usage"}
)  # fmt: skip
"""What can be said of anything: nothing is about that alone."""
_MORE_THAN_NAMES = frozenset(
    {"detail", "details", "info", "information", "summary", "overview", "stats", "statistics"}
)
"""What is asked for with these is not told by whoever only names a thing."""
_WEAK_VERBS = LOOKS | READING | QUESTIONS | (TELLING - CHANGING)
"""What only asks to be told something."""


@dataclass(frozen=True, slots=True)
class Subject:
    """What a goal is about."""

    words: Mapping[str, float]
    """Its words, with how much each counts."""
    things: frozenset[str]
    """Those of which a workflow has to speak of one."""
    attributes: frozenset[str] = frozenset()
    """What a question asks for without naming it, which results mostly have and names seldom."""
    is_bare: bool = False
    """Whether it has nothing but a verb, or what says as little: only a tool that is called so is about that."""
    verbs: frozenset[str] = frozenset()
    """The verbs by which it asks to be told something."""
    told: Mapping[str, str] | None = None
    """The words as they were written."""
    heads: frozenset[str] = frozenset()
    """What is asked for, where it is not what can be said of anything."""


def subject_said(said: Said, goal: str) -> Subject:
    """Read what a goal is about: its nouns; where it has none, its verbs. What is at hand, and names, are none of it."""
    words: dict[str, float] = {}
    told: dict[str, str] = {}
    nouns: dict[str, None] = {}
    little: dict[str, None] = {}
    verbs: dict[str, None] = {}
    asked = asked_attributes(goal)
    heads = [_head(one) for one in said.clauses[:1]]
    # `news about climate`: what they are about is what is searched for.
    topics = [
        word
        for one in said.clauses
        for tail in one.tails
        if tail.lead in {"about", "regarding"}
        for word in tail.words
    ]
    for verb, word in _content(said):
        if word.said in asked or word.said in _HOW_MUCH:
            continue
        is_verb = word is verb or (word.said in CHANGING - AT_TIMES_THINGS)
        if word.said in _WEAK_VERBS and (is_verb or word.text not in heads):
            continue
        for term in spoken_terms(word.text):
            told.setdefault(term, word.text)
            if is_verb:
                verbs[term] = None
                words[term] = max(words.get(term, 0.0), _VERB if word is verb else _NOUN)
            elif word.said in ADJECTIVES:
                words[term] = max(words.get(term, 0.0), _LIKE)
            else:
                # `play chess`, but `price of a ticket`
                leads = word.said in AT_TIMES_THINGS and any(
                    word is one.first and one.phrase for one in said.clauses
                )
                leads = leads or any(word is one for one in topics)
                (little if leads or word.said in _SAYS_LITTLE else nouns)[term] = None
                words[term] = max(words.get(term, 0.0), _HEAD if word.text in heads else _NOUN)
    attributes = frozenset(term for one in asked.values() for term in spoken_terms(one))
    # It is asked for by another word.
    told |= {term: word for word, one in asked.items() for term in spoken_terms(one)}
    words |= dict.fromkeys(attributes, _HEAD)
    kinds = [] if nouns else [term for one in kinds_in(goal) for term in spoken_terms(one)]
    words |= dict.fromkeys(kinds, _NOUN)
    asking = frozenset(one.verb for one in said.clauses if one.verb in READING)
    found = next((one for one in ([*nouns, *kinds], [*attributes], [*little]) if one), None)
    is_bare = found is None
    asked_for = spoken_terms(head_of(said)) & nouns.keys()
    return Subject(
        words, frozenset(verbs if found is None else found), attributes, is_bare, asking, told, asked_for
    )


def _head(clause: Clause) -> str:
    plain = [one.text for one in clause.phrase if one.is_plain and not one.names]
    return plain[-1] if plain else ""


def _content(said: Said) -> Iterator[tuple[Word | None, Word]]:
    """Give the words of a goal that are words of the language, each with the verb that its clause begins with."""
    held = _words_at_hand(said)
    for at, clause in enumerate(said.clauses):
        first = clause.first
        is_command = first.said in CHANGING and (bool(clause.phrase) or first.said not in AT_TIMES_THINGS)
        is_noun = first.said in AT_TIMES_THINGS and not any(
            one.said in _ARTICLES for one in clause.phrase[:1]
        )
        verb = first if (is_command and not is_noun) or first.said in _WEAK_VERBS else None
        words = [first, *clause.phrase, *(word for tail in clause.tails for word in tail.words)]
        for number, word in enumerate(words):
            is_name = word.is_name and bool(at or number)
            is_value = bool(word.names) or is_name or word.said in held
            if word.is_plain and not is_value and word.said not in _SMALL:
                yield verb, word


def _words_at_hand(said: Said) -> set[str]:
    """Give the words of values of several words that a goal has: they are not hidden, since they may be words, too."""
    values = (one.casefold() for one in said.have.values() if isinstance(one, str) and " " in one)
    spoken = " ".join(said.words)
    return {word for one in values if one in spoken for word in one.split()}


_HOW_MUCH = frozenset({"much", "many"})
_SMALL = FILLERS | DETERMINERS | PRONOUNS
_ARTICLES = frozenset(
    {"the", "a", "an", "this", "that", "my", "our", "your", "all", "every", "each", "it", "them"}
)


def fit_of(subject: Subject, workflow: Workflow) -> float:
    """Say how much of what a goal says a workflow speaks of, from 0 to 1; what changes something does what it was told."""
    ends = [workflow.order[one.step].ports for one in workflow.wanted]
    does = any(seems_to_change(one) for one in ends)
    spoken = _spoken(workflow)
    if does or not subject.words:
        return 1.0
    used, unused = len(set(workflow.at_hand())), len(workflow.unused)
    called = {word for one in ends for word in name_words(one)}
    extra = used + _LIKE * len(subject.verbs & called)
    covered = sum(weight * _said_of(word, spoken, subject) for word, weight in subject.words.items())
    return (covered + extra) / (sum(subject.words.values()) + extra + unused)


def shares(subject: Subject, workflow: Workflow) -> bool:
    """Say whether a workflow is about what a goal is about.

    One that uses what is at hand may say so only in passing, or by its verb: `search the memory for Ada`.
    """
    ends = [workflow.order[one.step].ports for one in workflow.wanted]
    if not subject.things or any(seems_to_change(one) for one in ends):
        return True
    spoken = _spoken(workflow)
    least = _NAMED if subject.is_bare else _SHARED
    if any(workflow.at_hand()):
        if not subject.verbs.isdisjoint(word for one in ends for word in name_words(one)):
            return True
        least = min(least, _PASSING) if not subject.is_bare else _SAID
    if subject.things <= subject.attributes:
        # A question such as `how far is it` may be about anything that has a distance.
        return any(spoken.get(f"{_TOLD}{word}", 0.0) >= least for word in subject.things)
    return any(_said_of(word, spoken, subject) >= least for word in subject.things)


def adds_nothing(subject: Subject, workflow: Workflow, less: Workflow) -> bool:
    """Say whether a workflow does more than another that speaks of all that is asked already, and uses as much."""
    if len(less.unused) > len(workflow.unused) or len(less.missing) > len(workflow.missing):
        return False
    tools, fewer = ({one.ports.tool: one.ports for one in made.tasks} for made in (workflow, less))
    more = {word for name, one in tools.items() if name not in fewer for word in name_words(one)}
    if not fewer.keys() < tools.keys() or not subject.words or not subject.verbs.isdisjoint(more):
        # `find the files and read them`
        return False
    spoken = _spoken(less)
    has = {words_of(one) for made in fewer.values() for one in _keys(made)}
    named = {term for made in fewer.values() for term in spoken_terms(made.original_name or made.tool)}
    called = {
        term
        for name, one in tools.items()
        if name not in fewer
        for term in spoken_terms(one.original_name or name)
    }
    # `which antennas`: who names them is enough; `details of the reservations` tells who is called after those.
    is_whole = not _MORE_THAN_NAMES.isdisjoint((subject.told or {}).values())
    if (subject.words.keys() - (frozenset() if is_whole else subject.heads)) & (called - named):
        return False
    exact = named | {term for one in has if one[1:] in _IDS for term in spoken_terms(one[0])}
    return subject.heads <= exact and all(_said_of(one, spoken, subject) >= _SHARED for one in subject.words)


def tells(subject: Subject, workflow: Workflow) -> bool:
    """Say whether a workflow speaks of what is asked for: `phone` of `phone of the engineer`."""
    spoken = _spoken(workflow)
    return any(_said_of(one, spoken, subject) >= _SHARED for one in subject.heads)


def _said_of(word: str, spoken: Mapping[str, float], subject: Subject) -> float:
    """Say how much a workflow speaks of a word, or of one that begins alike."""
    most = spoken.get(word, 0.0)
    if word in subject.attributes:
        # What is asked for is returned: who takes it does not tell it.
        most = spoken.get(f"{_TOLD}{word}", 0.0)
        return max(most, _ATTRIBUTE_PASSING) if most else 0.0
    if most >= _SAID or len(word) < _SHORTEST_KIN or not word.isalpha():
        return most
    return max([most, *(_KIN * weight for one, weight in spoken.items() if _is_kin(word, one))])


def _is_kin(asked: str, other: str) -> bool:
    """Say whether a word begins with the one that is asked for (`know`, `knowledge`), or is that without an ending."""
    if other.startswith(asked):
        return len(other) - len(asked) <= (_LONGEST_ENDING if len(asked) < _COMPOUND else _LONGEST_COMPOUND)
    return (
        len(other) >= _SHORTEST_KIN and asked.startswith(other) and len(asked) - len(other) <= _SHORT_ENDING
    )


def _spoken(workflow: Workflow) -> Mapping[str, float]:
    """Give the words that the steps of a workflow speak of, each with how plainly."""
    found: dict[str, float] = {}
    for task in workflow.tasks:
        ports = task.ports
        fields = frozenset(slot.parameter for slot in ports.slots)
        for word, weight in _spoken_by(
            ports.original_name or ports.tool, ports.server, ports.description, fields, _told_by(ports)
        ).items():
            found[word] = max(found.get(word, 0.0), weight)
    return found


def _told_by(ports: Ports) -> frozenset[str]:
    values = {one for place in ports.places for one in place.type.values if isinstance(one, str)}
    return frozenset(_keys(ports) | values)


@lru_cache(maxsize=1 << 11)
def _spoken_by(
    name: str, server: str, description: str, takes: frozenset[str], returns: frozenset[str]
) -> Mapping[str, float]:
    found: dict[str, float] = {}

    def tell(text: str, weight: float, *, is_told: bool = True) -> None:
        for term in spoken_terms(text):
            for one in (term, f"{_TOLD}{term}") if is_told else (term,):
                found[one] = max(found.get(one, 0.0), weight)

    first, _, rest = description.strip().partition(". ")
    tell(name, _NAMED)
    tell(server, _SERVER)
    tell(first[:_LONGEST_SENTENCE], _SAID)
    tell(first[_LONGEST_SENTENCE:] + rest, _PASSING)
    for one in takes:
        tell(" ".join(words_of(one)), _TAKEN, is_told=False)
    for one in returns:
        tell(" ".join(words_of(one)), _TAKEN)
    return found


def _keys(ports: Ports) -> set[str]:
    return {step.key for place in ports.places for step in place.path if step.kind == "key"}


def unspoken(subject: Subject, workflow: Workflow) -> list[str]:
    """Give the words of a goal that nothing in a workflow speaks of."""
    if any(seems_to_change(workflow.order[one.step].ports) for one in workflow.wanted):
        return []
    spoken, told = _spoken(workflow), subject.told or {}
    silent = [told[word] for word in subject.words if word in told and not _said_of(word, spoken, subject)]
    return list(dict.fromkeys(silent))


def undone(said: Said, workflow: Workflow) -> list[str]:
    """Give the verbs of commands that no step of a workflow that changes something does: `and notify the subscribers`."""
    if not any(seems_to_change(one.ports) for one in workflow.tasks):
        return []
    done = {verb for task in workflow.tasks for deed in deeds_of(task.ports) for verb in deed.verbs}
    told = [one for one in said.clauses if one.leads and one.phrase and one.verb in CHANGING]
    acts = [(one.verb, acted(one)) for one in told]
    return [
        verb
        for verb, act in acts
        if done.isdisjoint(alike(verb)) and (act is None or done.isdisjoint(alike(act.verb)))
    ]


def unheard(said: Said) -> list[str]:
    """Give the values of a goal that are not at hand, so that no parameter takes them: `AAPL`, `7`, `"red"`."""
    found: dict[str, None] = {}
    for at, clause in enumerate(said.clauses):
        words = [clause.first, *clause.phrase, *(word for tail in clause.tails for word in tail.words)]
        for number, word in enumerate(words):
            is_value = word.is_identifier or (word.is_name and bool(at or number))
            if is_value and not word.names and not word.is_mark:
                found[word.text] = None
    return list(found)
