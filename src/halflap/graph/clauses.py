"""A goal as clauses: a verb that comes first, the phrase of what it is done to, and what is said behind that."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple

from halflap.graph.speech import (
    AUXILIARIES,
    BE,
    DETERMINERS,
    FILLERS,
    INFORMING,
    LOOKS,
    PARTICLES,
    POLITE,
    PREPOSITIONS,
    PRONOUNS,
    QUANTIFIERS,
    QUESTIONS,
    RELATIVES,
    SPARING,
    TELLING,
    TURNING,
    doubt_in,
)
from halflap.graph.verbs import ACTS, AT_TIMES_THINGS, CHANGING, IDIOMS, READING
from halflap.graph.words import is_plural

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = ["Clause", "Said", "Tail", "Word", "acted", "read_goal"]

_BEGINS = PREPOSITIONS | RELATIVES | AUXILIARIES
_LIGHT = frozenset({"make", "do", "create", "take", "perform", "run", "execute", "start", "place", "issue"})
"""What is said with an act that has a verb of its own."""
_LONGEST = 2_000
"""Of a longer goal the rest is not read, and so nothing in it is a command."""
_MOST_VALUES = 200
_LONGEST_VALUE = 200
_SENTENCE = re.compile(r"([.;!?]+)(?=\s|$)|\n+")
_REQUEST = re.compile(r"(?i)\b(?:can|could|would|will)\s+you\b")
_PIECE = re.compile(
    r"(?i)(\s*,+\s*(?:(?:and|then|&)\s+)?|\s+(?:and|then|&|as\s+well\s+as|along\s+with|together\s+with|plus)\s+)"
)
"""Between the pieces of a sentence stands what joins them."""
_QUOTED = re.compile(r"\"[^\"]*\"|\u201c[^\u201d]*\u201d|`[^`]*`|(?<!\w)'[^']*'(?!\w)")
_HIDDEN = "\ue000"
_TOKEN = re.compile(rf"{_HIDDEN}\d+{_HIDDEN}|[^\s,;!?()\[\]{{}}\"{_HIDDEN}]+|\S")
_POSSESSIVE = re.compile(r"(?:['\u2019]s|(?<=s)['\u2019])$")
_OF_VALUES = frozenset({"'s", "\u2019s"})
_ENDS_PHRASE = re.compile(r"(?i)\s*(?:$|[.,;!?]|(?:and|then|to|in|into|from|with|for|on|at|as|please|now)\b)")
"""What is behind a phrase: an article that stands before it is none, but a value."""
_ENDING = re.compile(r"[.:]+$")
_EXTENSION = re.compile(
    r"(?i)[^\s.]+\.(?:txt|md|py|json|csv|pdf|png|jpe?g|js|ts|html|xml|ya?ml|zip|docx?|xlsx?|log|sql|com|org|net|io)"
)


class Word(NamedTuple):
    """A word of a goal."""

    text: str
    names: tuple[str, ...] = ()
    """Under which names it is at hand."""
    is_quoted: bool = False
    is_possessive: bool = False

    @property
    def said(self) -> str:
        """It, however it is written."""
        return self.text.casefold()

    @property
    def is_mark(self) -> bool:
        """Whether it is no word at all."""
        return not any(one.isalnum() for one in self.text) and not self.names

    @property
    def is_plain(self) -> bool:
        """Whether it is a word of the language, as far as one can see; no number, no name, no path."""
        return not self.is_quoted and self.text.replace("-", "").replace("_", "").isalpha()

    @property
    def is_identifier(self) -> bool:
        """Whether it names one thing: `CUST-001`, `7`, `a.txt`, what is quoted; but no `follow-up`."""
        text = self.text
        return self.is_quoted or (
            any(one.isdigit() or one in "/@\\" for one in text) or _EXTENSION.fullmatch(text) is not None
        )

    @property
    def is_name(self) -> bool:
        """Whether it is written like somebody's name."""
        return self.is_plain and self.text[:1].isupper()


class Tail(NamedTuple):
    """What is said behind a phrase: a preposition, or another word that begins something, and what follows."""

    lead: str
    words: tuple[Word, ...]


@dataclass(frozen=True, slots=True)
class Clause:
    """What begins with a verb, if it does."""

    verb: str
    particle: str = ""
    phrase: tuple[Word, ...] = ()
    tails: tuple[Tail, ...] = ()
    leads: bool = True
    """Whether it can be a command by where it stands: first, or behind what is one, or reads."""
    informs: bool = False
    """Whether it ends with what is said to somebody, which is not read."""
    joined: str = ""
    """What joins it to what stands before it in its sentence: `and`, a comma, or nothing."""
    first: Word = field(default_factory=lambda: Word(""))
    """The word that it begins with, as it was written."""

    @property
    def reads(self) -> bool:
        """Whether it asks to be told something."""
        return self.verb in LOOKS or self.verb in READING

    @property
    def is_whole(self) -> bool:
        """Whether it does or asks for something, and spares nothing; else it may say whatever it likes."""
        return bool(self.reads or (self.verb in CHANGING and self.phrase)) and self.verb not in SPARING


@dataclass(frozen=True, slots=True)
class Said:
    """What a goal says."""

    clauses: tuple[Clause, ...]
    doubt: str = ""
    """The first word that says that something may not be meant."""
    have: Mapping[str, Any] = field(default_factory=dict)
    words: tuple[str, ...] = ()
    """All its words."""


def read_goal(goal: str, have: Mapping[str, Any] | None = None) -> Said:
    """Read what a goal says; `have` has the values at hand, which are no words wherever they stand."""
    at_hand = dict(have or {})
    hidden: list[Word] = []
    text = _values_hidden(goal[:_LONGEST].replace(_HIDDEN, " "), at_hand, hidden)
    doubt = doubt_in(text) or ("…" if len(goal) > _LONGEST else "")
    text = _QUOTED.sub(lambda found: _hide(found[0], hidden, at_hand), text)
    clauses: list[Clause] = []
    # Sentences, and between them what ends them.
    parts = [*_SENTENCE.split(text), ""]
    for sentence, end in zip(parts[::2], parts[1::2], strict=True):
        # `delete user u1?` asks whether.
        leads = "?" not in (end or "") or _REQUEST.search(sentence) is not None
        pieces = ["", *_PIECE.split(sentence.strip())]
        for at, (joint, piece) in enumerate(zip(pieces[::2], pieces[1::2], strict=True)):
            words = _words(_impolite(piece), hidden)
            if not words:
                continue
            does = words[0].said == "do" and len(words) > 1 and words[1].said in {"a", "an"}
            if not at and words[0].said in QUESTIONS and not does:
                leads = False
            clause = replace(_clause(words, leads=leads), joined=_joint(joint))
            clauses.append(clause)
            leads = leads and _goes_on(clause)
    spoken = tuple(re.findall(r"[^\W\d_]+", text.casefold()))
    return Said(tuple(clauses), doubt or _turning_in(clauses), at_hand, spoken)


def _joint(text: str) -> str:
    """Give what a joint is in one word."""
    said = text.strip(" ,").casefold()
    return "and" if said else text.strip()[:1]


def _turning_in(clauses: list[Clause]) -> str:
    """Give the first word that belongs to no verb and turns a command round, or sets a bound."""
    leads = (one for clause in clauses for one in (clause.verb, *(tail.lead for tail in clause.tails)))
    return next((one for one in leads if one in TURNING), "")


def acted(clause: Clause) -> Clause | None:
    """Give what is meant by making or doing an act, as the act's own verb: `make a backup of database d`."""
    if clause.verb not in _LIGHT or not clause.tails or clause.tails[0].lead not in {"of", "for", "on", "to"}:
        return None
    plain = [one for one in clause.phrase if one.said not in DETERMINERS]
    act = plain[0].said if len(plain) == 1 else ""
    verb = ACTS.get(act) or (act if act in CHANGING and act in AT_TIMES_THINGS else "")
    if not verb or len(clause.phrase) != len(plain) + 1:
        return None
    return replace(clause, verb=verb, phrase=clause.tails[0].words, tails=clause.tails[1:])


def _goes_on(clause: Clause) -> bool:
    """Say whether what comes behind `and` can be a command: not inside of what is said of others."""
    if not (clause.reads or clause.phrase) or clause.verb in TELLING or clause.informs:
        return False
    # `messages people send and delete`
    if any(is_plural(one.text) and one.is_plain and not one.is_possessive for one in clause.phrase[:-1]):
        return False
    said = [one for tail in clause.tails for one in (tail.lead, *(word.said for word in tail.words))]
    return not any(
        one in RELATIVES and (said[at + 1] if at + 1 < len(said) else "") not in BE
        for at, one in enumerate(said)
    )


def _clause(words: list[Word], *, leads: bool) -> Clause:
    words = list(_together(words))
    first = words[0]
    verb, words = words[0].said, words[1:]
    told = len(words)
    if verb in INFORMING:
        named = (at for at in range(1, len(words)) if words[at - 1].names and words[at].said == "that")
        told = next(named, told)
    informs, words = told < len(words), words[:told]
    particle = ""
    if words and words[0].said in PARTICLES:
        particle, words = words[0].said, words[1:]
    while words and words[0].said in {"me", "us"}:
        words = words[1:]
    if words and (verb in LOOKS or verb in READING) and words[0].said in {"for", "at", "through", "up"}:
        # `search for old files`
        words = words[1:]
    parts = list(_parts(words))
    phrase = parts[0].words if parts and not parts[0].lead else ()
    tails = [one for one in parts if one.lead]
    if tails and not particle and tails[-1].lead in PARTICLES and not tails[-1].words:
        # `turn the light on`
        particle = tails.pop().lead
    return Clause(verb, particle, phrase, tuple(tails), leads, informs, first=first)


def _parts(words: list[Word]) -> Iterator[Tail]:
    """Part a phrase from all that is behind it, at each word that begins something."""
    lead = ""
    found: list[Word] = []
    for at, word in enumerate(words):
        before = words[at - 1].said if at else ""
        # `all of the users` is one phrase, and so is `that user`.
        partitive = word.said == "of" and not lead and before in QUANTIFIERS | {"one", "some", "any"}
        points = not lead and not found and word.said in DETERMINERS | PRONOUNS
        begins = word.said in _BEGINS or word.is_mark
        if partitive or points or not begins or word.names or word.is_quoted:
            if not partitive:
                found.append(word)
            continue
        if lead or found:
            yield Tail(lead, tuple(found))
        lead, found = word.said, []
    if lead or found:
        yield Tail(lead, tuple(found))


def _together(words: list[Word]) -> Iterator[Word]:
    """Write as one what is one verb: `shut down`, `get rid of`."""
    first, rest = words[0], words[1:]
    if rest:
        pair = (first.said, rest[0].said)
        joined = first.said + rest[0].said if rest[0].said in PARTICLES else ""
        one = IDIOMS.get(pair) or (joined if joined in CHANGING else "")
        if one:
            first, rest = Word(one), rest[1:]
            if pair == ("get", "rid") and rest and rest[0].said == "of":
                rest = rest[1:]
    yield first
    yield from rest


def _impolite(piece: str) -> str:
    rest = piece.strip()
    while begins := POLITE.match(rest):
        rest = rest[begins.end() :].lstrip()
    return rest


def _words(piece: str, hidden: list[Word]) -> list[Word]:
    found = []
    for token in _TOKEN.findall(piece):
        if token.startswith(_HIDDEN):
            found.append(hidden[int(token.strip(_HIDDEN))])
            continue
        if token in _OF_VALUES and found:
            found[-1] = found[-1]._replace(is_possessive=True)
            continue
        ends = _ENDING.search(token)
        text = token[: ends.start()] if ends and ends.start() else token
        bare = _POSSESSIVE.sub("", text)
        found.append(Word(bare.lstrip("#") or bare, is_possessive=bare != text))
        if text != token:
            found.append(Word(token[len(text) :]))
    while found and (found[-1].said in FILLERS or found[-1].is_mark):
        found.pop()
    return found


def _hide(text: str, hidden: list[Word], have: Mapping[str, Any]) -> str:
    """Put a mark in the place of what is quoted."""
    inner = text[1:-1]
    names = tuple(
        dict.fromkeys(name for value, name in _values(have) if value.casefold() == inner.casefold())
    )
    hidden.append(Word(inner, names, is_quoted=True))
    return f"{_HIDDEN}{len(hidden) - 1}{_HIDDEN}"


def _values_hidden(text: str, have: Mapping[str, Any], hidden: list[Word]) -> str:
    """Put marks in the place of what is at hand, where that is no word that could be one of the language as well."""
    named: dict[str, list[str]] = {}
    for value, name in _values(have):
        named.setdefault(value.casefold(), []).append(name)
    told = sorted(
        (one for one in named if one.strip() and len(one) <= _LONGEST_VALUE), key=len, reverse=True
    )[:_MOST_VALUES]
    if not told:
        return text

    def hide(found: re.Match[str]) -> str:
        value = found[0]
        inner = value.casefold() not in named
        names = named[value[1:-1].casefold() if inner else value.casefold()]
        plain = value.replace(" ", "").isalpha() and value.islower()
        if plain and not inner and (" " in value or not _may_be_value(value)):
            is_last = _ENDS_PHRASE.match(text, found.end()) and found.start() and " " not in value
            if not (is_last and (value in DETERMINERS or _may_be_name(value))):
                return value
        hidden.append(Word(value[1:-1] if inner else value, tuple(dict.fromkeys(names)), is_quoted=inner))
        return f"{_HIDDEN}{len(hidden) - 1}{_HIDDEN}"

    either = "|".join(re.escape(one) for one in told)
    # What is at hand under its whole path is meant by its last part, too.
    return re.sub(
        rf"(?i)(?<![\w/.'\u2019-])(?:\"(?:{either})\"|'(?:{either})'|(?:{either}))(?![\w/-]|\.\w)", hide, text
    )


def _may_be_name(word: str) -> bool:
    """Say whether a word that is also a verb can be a name where it ends a phrase: `restart service test`."""
    return (word in CHANGING or word in READING) and not (
        word in PARTICLES or word in QUESTIONS or doubt_in(word)
    )


def _may_be_value(word: str) -> bool:
    """Say whether a word of the language can be meant as a value: none of those that make the sentence."""
    small = (
        word in PREPOSITIONS
        or word in RELATIVES
        or word in DETERMINERS
        or word in PRONOUNS
        or word in QUESTIONS
    )
    return not (small or word in CHANGING or word in READING or word in LOOKS or doubt_in(word))


def _values(have: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Give the values at hand as they would be written, each with its name."""
    for name, value in have.items():
        for one in value if isinstance(value, list) else [value]:
            if isinstance(one, str) or (isinstance(one, int | float) and not isinstance(one, bool)):
                text = str(one)
                yield text, name
                if "/" in text.rstrip("/"):
                    yield text.rstrip("/").rpartition("/")[2], name
