"""What a command is to be done to, as its phrase says: whether it is what a tool does it to, to all, and to which."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from halflap.graph.deeds import GENERIC, alike
from halflap.graph.effects import name_words
from halflap.graph.hearing import Hearing, Object, gathered
from halflap.graph.speech import ADJECTIVES, DETERMINERS, FILLERS, PRONOUNS, QUANTIFIERS, SEVERAL
from halflap.graph.synonyms import NOUNS
from halflap.graph.verbs import AT_TIMES_THINGS
from halflap.graph.words import is_plural, words_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from halflap.graph.clauses import Clause, Said, Word
    from halflap.graph.deeds import Deed
    from halflap.graph.edge import Ports

__all__ = ["object_of"]

_EVERYTHING = frozenset({"all", "everything", "everyone", "everybody"})
_ALONE = _EVERYTHING | {"each", "both"}
"""What says all of something that has to have been named before."""
_NUMBERED = frozenset({"number", "no", "nr", "id", "code", "reference", "ref"})
"""What stands between a thing and what names it."""
_MONEY = frozenset({"money", "fund", "amount", "cash", "payment"})
_AMOUNTS = frozenset({"amount", "sum", "value", "quantity", "total", "price"})
_CURRENCIES = frozenset({"euro", "dollar", "pound", "cent", "franc", "yen", "eur", "usd", "gbp", "chf"})


class _Phrase(NamedTuple):
    """A phrase: its determiners, and what is behind them."""

    small: tuple[Word, ...]
    content: tuple[Word, ...]

    @classmethod
    def of(cls, words: Sequence[Word]) -> _Phrase:
        at = 0
        while at < len(words) and _is_small(words[at]):
            at += 1
        kept = (one for one in words[at:] if one.said not in FILLERS or one.names or one.is_quoted)
        return cls(tuple(words[:at]), tuple(kept))

    @property
    def is_of_all(self) -> bool:
        return bool(self.small) and self.small[0].said in QUANTIFIERS

    @property
    def stands_for(self) -> str:
        """The word that stands for what was named before: `it`, `all of them`, `the last`."""
        if self.content:
            is_like = all(one.said in ADJECTIVES and not one.names for one in self.content)
            return self.content[0].said if self.small and is_like else ""
        pronouns = [one.said for one in self.small if one.said in PRONOUNS]
        return next((one for one in pronouns if one not in QUANTIFIERS), pronouns[0] if pronouns else "the")


def _is_small(word: Word) -> bool:
    plain = not word.names and not word.is_quoted and not word.is_possessive
    return plain and (word.said in DETERMINERS or word.said in PRONOUNS)


def object_of(said: Said, at: int, deed: Deed, ports: Ports) -> Object:
    """Say what the clause at a place of a goal is to be done to."""
    clause = _with_object(said.clauses[at], deed)
    if not clause.phrase:
        is_alone = len(said.clauses) == 1 and not clause.tails and not deed.heads
        return Object() if is_alone else Object(refused=clause.verb)
    phrase = _Phrase.of(clause.phrase)
    if phrase.stands_for:
        return _as_before(said, at, clause, deed, ports)
    found = _matched(phrase, clause, deed, Hearing(said, ports))
    return found._replace(every=phrase.is_of_all and not found.refused, tails=clause.tails)


def _with_object(clause: Clause, deed: Deed) -> Clause:
    """Give a clause with what is behind the preposition of its verb as its phrase: `reply to ticket T1`."""
    if clause.phrase or not clause.tails or clause.tails[0].lead not in deed.leads:
        return clause
    return replace(clause, phrase=clause.tails[0].words, tails=clause.tails[1:])


def _as_before(said: Said, at: int, clause: Clause, deed: Deed, ports: Ports) -> Object:
    """Look at what was named before, where a word stands for that."""
    phrase = _Phrase.of(clause.phrase)
    word = phrase.stands_for
    if word in _EVERYTHING and not _EVERYTHING.isdisjoint(name_words(ports)):
        return Object(every=True, tails=clause.tails)
    before = [one for one in range(at) if said.clauses[one].phrase]
    while before and _Phrase.of(said.clauses[before[-1]].phrase).stands_for:
        before.pop()
    if not before:
        is_pronoun = word in PRONOUNS and word not in _ALONE
        return Object(which=(word,), tails=clause.tails) if is_pronoun else Object(refused=word)
    found = object_of(said, before[-1], deed, ports)
    if found.refused:
        return Object(refused=word)
    is_of_all = any(one.said in _ALONE for one in phrase.small)
    return found._replace(
        every=word in SEVERAL and (found.every or is_of_all),
        which=(*found.which, *(() if word in PRONOUNS else (word,))),
        tails=(*found.tails, *clause.tails),
    )


def _matched(phrase: _Phrase, clause: Clause, deed: Deed, hearing: Hearing) -> Object:
    """Say whether the head of a phrase is what a tool does it to, and what else the phrase says."""
    content = phrase.content
    at = len(content) - 1
    while at >= 0 and _is_value(content, at, deed, hearing):
        at -= 1
    if 0 < at < len(content) - 1 and content[at].said in _NUMBERED:
        # `order number 7`
        at -= 1
    told = gathered(hearing.hear(one) for one in content[at + 1 :] if one.said not in _NUMBERED)
    if at < 0:
        # Only what names one thing: it has to be something that the tool takes.
        refused = next(iter(told.unheld if hearing.is_told else ()), "")
        strange = [one.text for one in content if one.names and not hearing.goes_into(one)]
        return told._replace(refused=next(iter(strange), refused))
    is_part = bool(at) and _is_part(content[at - 1], content[at], deed)
    is_sum = bool(at) and _is_sum(content[at - 1], content[at], deed)
    if not (is_part or is_sum or _is_its(content[at], clause, deed, is_determined=bool(phrase.small))):
        return Object(refused=content[at].text)
    heard = [hearing.hear(one) for one in content[:at]]
    strange = [one.word.text for one in heard if one.kind == "restricted"]
    if strange and (_is_noun(phrase, clause) or (not is_part and _is_said_before(content[:at], deed))):
        # `start time job 5`, `block the users following user u1`
        return Object(refused=strange[0])
    mine = {one for word in content[:at] for one in words_of(word.text)}
    if strange and deed.before and deed.is_named and mine.isdisjoint(deed.before):
        # A room booking is not what `cancel_table_booking` cancels.
        return Object(refused=strange[0])
    # `files users`: which of both it is cannot be known.
    plurals = [one.text for one in content[:at] if one.text in strange and not one.is_possessive]
    before = gathered(heard)
    # `5 euros`, where nothing at hand is so much of it
    sums = () if not is_sum or _AMOUNTS & _named(content[at - 1]) else (content[at - 1].text,)
    unheld = (*before.unheld, *told.unheld, *sums)
    refused = next(
        (one for one in plurals if is_plural(one)), unheld[0] if unheld and hearing.is_told else ""
    )
    return before._replace(
        refused=refused, unheld=unheld, some=(*before.some, *told.some), by=(*before.by, *told.by)
    )


def _is_value(content: Sequence[Word], at: int, deed: Deed, hearing: Hearing) -> bool:
    """Say whether a word names one thing, rather than what kind of thing it is."""
    word = content[at]
    if word.is_possessive or word.is_identifier:
        return not word.is_possessive
    if word.names:
        # A word of the language says what kind, unless it goes into the call.
        return not word.text.islower() or not word.is_plain or hearing.goes_into(word)
    return word.is_name and _is_said_before(content[:at], deed)


def _is_part(before: Word, head: Word, deed: Deed) -> bool:
    """Say whether a noun is what a tool takes to do it, with what it does it to before it: `delivery slot`."""
    of = words_of(before.text)[-1:]
    return not deed.heads.isdisjoint(of) and not deed.parts.isdisjoint(words_of(head.text)[-1:])


def _named(word: Word) -> set[str]:
    return {one for name in word.names for one in words_of(name)}


def _is_sum(before: Word, head: Word, deed: Deed) -> bool:
    """Say whether a noun is money, so and so much of it: `5 euros`."""
    is_money = not _MONEY.isdisjoint(deed.heads) and not _CURRENCIES.isdisjoint(words_of(head.text))
    return is_money and before.is_identifier


def _is_noun(phrase: _Phrase, clause: Clause) -> bool:
    """Say whether the verb may rather be a noun: there is no article behind it."""
    return clause.verb in AT_TIMES_THINGS and not phrase.small


def _is_said_before(words: Sequence[Word], deed: Deed) -> bool:
    """Say whether what a tool does it to is named already before something else says which."""
    return any(one.is_plain and not deed.heads.isdisjoint(words_of(one.text)[-1:]) for one in words)


def _same(words: Iterable[str]) -> frozenset[str]:
    """Give nouns, each as the one that stands for all that name the same."""
    return frozenset(NOUNS.get(one, one) for one in words)


def _is_its(head: Word, clause: Clause, deed: Deed, *, is_determined: bool) -> bool:
    """Say whether a noun is what a tool does it to; where nobody says what that is, any with an article is."""
    if head.is_possessive:
        return False
    if not head.names and not _same(deed.heads).isdisjoint(_same(words_of(head.text)[-1:])):
        return True
    # Who emails somebody sends an email.
    is_sent = clause.verb in deed.heads and any(
        clause.verb in alike(one) for one in deed.verbs - {clause.verb}
    )
    takes_any = not deed.heads or (deed.heads <= GENERIC and not deed.is_named) or is_sent
    return takes_any and is_determined and head.is_plain
