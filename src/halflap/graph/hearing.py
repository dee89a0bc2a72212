"""What a word of a goal says to a tool: what it does anyhow, what it is told, to which it is to be done, or nothing known."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

from halflap.graph.deeds import own_words, parameters_of
from halflap.graph.speech import ADJECTIVES, DETERMINERS
from halflap.graph.vocabulary import IDENTIFYING
from halflap.graph.words import words_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from halflap.graph.clauses import Said, Tail, Word
    from halflap.graph.edge import Ports

__all__ = ["IDLE", "Heard", "Hearing", "Object", "content_of", "gathered"]

Kind = Literal["own", "told", "filter", "taken", "which", "unheld", "restricted"]


IDLE = frozenset(
    {"me", "us", "you", "good", "is", "are", "was", "were", "it", "him", "them", "his", "myself"}
)
"""What says nothing behind a phrase."""
_NUMBERS = frozenset({"integer", "number"})


class Object(NamedTuple):
    """What is said of what something is to be done to."""

    refused: str = ""
    """The word because of which it is not what the tool does it to."""
    every: bool = False
    restricted: tuple[str, ...] = ()
    """Words that say to which, and that nothing knows."""
    unheld: tuple[str, ...] = ()
    """What names one thing and is not at hand."""
    which: tuple[str, ...] = ()
    """Words such as `last`, or one that stands for what was named before."""
    some: tuple[str, ...] = ()
    """What says to which of all, and nothing at hand does: words for what the tool takes."""
    by: tuple[str, ...] = ()
    """The names of what is at hand and says to which of all: the tool does not take it, what is found may have it."""
    tails: tuple[Tail, ...] = ()
    """All that is said behind."""


class Heard(NamedTuple):
    """What one word says."""

    kind: Kind
    word: Word
    by: tuple[str, ...] = ()
    """Under which names that is at hand which chooses."""


class Hearing:
    """What a tool knows of the words of a goal."""

    def __init__(self, said: Said, ports: Ports) -> None:
        self._said = said
        self._own = own_words(ports)
        self._takes = parameters_of(ports)
        self._slots = {words_of(slot.parameter) for slot in ports.slots}
        self._required = {words_of(one) for one in ports.required}
        self.takes_numbers = any(slot.required and slot.type.kind in _NUMBERS for slot in ports.slots)
        """Whether it has to be told a number."""

    @property
    def is_told(self) -> bool:
        """Whether something that the tool takes is at hand."""
        return any(
            value is not None and words_of(name) in self._slots for name, value in self._said.have.items()
        )

    @property
    def is_from(self) -> bool:
        """Whether it says itself that it takes something from somewhere."""
        return "from" in self._own

    def names_one(self, things: frozenset[str]) -> bool:
        """Say whether one of these things is at hand, and no list of them."""
        named = {words_of(name) for name, value in self._said.have.items() if not isinstance(value, list)}
        return any(
            things & {*one} and (len(one) == 1 or one[-1] in IDENTIFYING) for one in named & self._slots
        )

    def room(self, words: Iterable[Word]) -> int:
        """Count what the tool can still be told by other words than these: values at hand, and those that it lacks."""
        named = {name for word in words for name in word.names}
        held = {words_of(name): name for name in self._said.have}
        silent = sum(one in self._slots and name not in named for one, name in held.items())
        return silent + sum(one not in held for one in self._required)

    def identifies(self, things: frozenset[str]) -> bool:
        """Say whether one of these things has to be named to the tool."""
        return any(
            things & {*one} and (len(one) == 1 or one[-1] in IDENTIFYING) for one in self._required
        ) or any(one[-1:] == ("id",) and len(one) == 1 for one in self._required)

    def goes_into(self, word: Word) -> bool:
        """Say whether a word is a value at hand that the tool takes."""
        return self._into(word.names)

    def hear(self, word: Word) -> Heard:
        """Say what a word is."""
        words = set(words_of(word.text))
        if word.names:
            return self._held(word, word.names)
        if word.said in ADJECTIVES:
            return Heard("which", word)
        if word.is_plain and words <= self._own:
            return Heard("own", word)
        held = tuple(name for name in self._said.have if words and words <= set(words_of(name)))
        if held:
            return self._held(word, held)
        if word.is_plain and words <= self._takes:
            return Heard("taken", word)
        is_named = word.is_identifier or word.is_name
        return Heard("unheld" if is_named else "restricted", word)

    def _held(self, word: Word, names: tuple[str, ...]) -> Heard:
        return Heard("told", word) if self._into(names) else Heard("filter", word, names)

    def _into(self, names: Iterable[str]) -> bool:
        return any(words_of(name) in self._slots or words_of(name)[-1:] in self._slots for name in names)


def gathered(heard: Iterable[Heard]) -> Object:
    """Put together what words say."""
    found = list(heard)

    def of(kind: Kind) -> tuple[str, ...]:
        return tuple(one.word.text for one in found if one.kind == kind)

    by = tuple(dict.fromkeys(name for one in found for name in one.by))
    return Object(
        restricted=of("restricted"), unheld=of("unheld"), which=of("which"), some=of("taken"), by=by
    )


def content_of(tail: Tail) -> Iterator[Word]:
    """Give the words behind a phrase that say something."""
    for word in tail.words:
        if word.is_mark:
            continue
        if word.names or word.is_quoted or word.said not in DETERMINERS | IDLE:
            yield word
