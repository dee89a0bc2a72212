"""Whether a goal asks for what a tool does: for a change it has to be a command that says so, and to what.

What changes something is meant only if a clause of the goal begins with its verb and goes on with what it does it to. So
`delete the photo of user u1` deletes no user, `refund status` refunds nothing, and what nobody thought of is not done.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import takewhile
from typing import TYPE_CHECKING

from halflap.graph.clauses import acted
from halflap.graph.deeds import alike, deeds_of, own_words
from halflap.graph.described import is_form
from halflap.graph.effects import name_words, seems_to_change
from halflap.graph.every import SAYS_ALL, does_all, doubt_of_which, is_of_each, names_it, quantifier
from halflap.graph.hearing import IDLE, Hearing, content_of, gathered
from halflap.graph.objects import object_of
from halflap.graph.seconds import SECOND, second_of
from halflap.graph.speech import AUXILIARIES, CONDITIONS, DETERMINERS, FILLERS, QUANTIFIERS, RELATIVES
from halflap.graph.verbs import AT_TIMES_THINGS, DESTROYING, MAKING
from halflap.graph.words import is_plural, words_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from halflap.graph.clauses import Clause, Said, Tail
    from halflap.graph.deeds import Deed
    from halflap.graph.edge import Ports
    from halflap.graph.hearing import Object

__all__ = ["Asked", "asked"]

_TOGETHER = frozenset({"to", "into", "onto", "in", "on"})
_ADDING = alike("add") | {"append", "attach", "assign", "put"}
_SETTING = alike("set")
_WHO = frozenset({"that", "who", "which", "whom", "whose", "where"})
_SAYS_WHICH = (RELATIVES - {"as", "when", "while", "once", "so"}) | {"of", "with", "from", "by"} | AUXILIARIES
_INSIDE = frozenset({"in", "on"})
_SOURCES = frozenset({"from", "source", "src", "origin", "sender"})
_ADDRESSES = frozenset({"to", "recipient", "receiver", "address", "email", "phone"})
_ENDS = frozenset({"to", "destination", "dest", "target", "recipient", "receiver"})
_UNSURE = "it may turn that round, set a bound, or say that it is not to be done"
_NO_COMMAND = "it is not what the goal tells to do"
_NOT_ITS_OBJECT = "that is not what it does it to"
_ALL_OF_THEM = "it does it to all that there are, which the goal does not say"
_TO_ONE = (
    "by a goal alone it is done to one: say to which in `have`, one or a list of them; `want`, with a goal that says `all` "
    "and nothing of which, has it done to all that are found"
)
_AT_HAND_IS_ONE = "what is at hand is one"
_NOT_TAKEN = (
    "nothing at hand says that to the tool, so it would be left out: say it in `have` if a parameter takes it"
)


@dataclass(frozen=True, slots=True)
class Asked:
    """What a goal says of a tool."""

    is_meant: bool
    every: bool = False
    """Whether it says all, and nothing of which: that counts only for a tool that is wanted by its name."""
    by: tuple[str, ...] = ()
    """The names of what is at hand and says to which of all, where nothing else does: it has to be what chooses."""
    but: str = ""
    """The word that says to which of all, where nothing at hand does."""
    is_open: bool = True
    """Whether other tools may say to which one: not where the goal says which, or all."""
    doubt: str = ""
    """The word of the goal because of which it is not meant, or not done to what other tools say."""
    why: str = ""
    danger: str = ""
    """Where it comes near, why words alone do not lead to it: that it destroys something, or may."""


def asked(said: Said, ports: Ports) -> Asked:
    """Say whether a goal means a tool: one that reads may be meant anyhow, one that changes something if it is told to."""
    if not seems_to_change(ports):
        return Asked(is_meant=True)
    deeds = deeds_of(ports)
    verbs = frozenset().union(*(alike(verb) for deed in deeds for verb in deed.verbs))
    if said.doubt:
        return Asked(is_meant=False, doubt=said.doubt if _is_near(said, verbs) else "", why=_UNSURE)
    found = [
        one
        for way, at, clause in _clauses(said)
        for deed in deeds
        if _says(clause, deed)
        for one in [_in_clause(way, at, deed, ports)]
    ]
    meant = [one for one in found if one.is_meant]
    if not meant:
        near = next(iter(found), None)
        if near is None and (verb := _is_near(said, verbs) or _called(said, ports)):
            near = Asked(is_meant=False, doubt=verb, why=_NO_COMMAND)
        return near or Asked(is_meant=False)
    first = next((one for one in meant if one.doubt), meant[0])
    return replace(
        first,
        every=all(one.every for one in meant),
        is_open=all(one.is_open for one in meant),
    )


def _says(clause: Clause, deed: Deed) -> bool:
    """Say whether a clause has a tool's verb, or one that is said for it: who says to kill does not mean to stop."""
    if clause.verb in deed.verbs:
        return True
    is_worse = clause.verb in DESTROYING and deed.verbs.isdisjoint(DESTROYING)
    return not is_worse and any(clause.verb in alike(verb) for verb in deed.verbs)


def _clauses(said: Said) -> Iterator[tuple[Said, int, Clause]]:
    """Give the clauses of a goal, and those that they stand for: `make a backup of it` for `backup it`."""
    for at, clause in enumerate(said.clauses):
        yield said, at, clause
        meant = acted(clause)
        if meant is not None:
            clauses = (*said.clauses[:at], meant, *said.clauses[at + 1 :])
            yield replace(said, clauses=clauses), at, meant


def _is_near(said: Said, verbs: Iterable[str]) -> str:
    """Give the word of a goal that says what a tool does, though not as a command."""
    sure = [one for one in verbs if one not in AT_TIMES_THINGS]
    for word in said.words:
        if any(word == verb or (word.endswith("ing") and is_form(word, verb)) for verb in sure):
            return word
    return next((one.verb for one in said.clauses if one.verb in verbs), "")


def _called(said: Said, ports: Ports) -> str:
    """Give the last word of a tool's name where a goal has all of them, though it tells nothing: `exhibit schedule`."""
    spoken = {words_of(one): one for one in said.words}
    named = [words_of(one) for one in name_words(ports)]
    return spoken[named[-1]] if len(named) > 1 and all(one in spoken for one in named) else ""


def _refused(word: str, why: str = _NOT_ITS_OBJECT) -> Asked:
    return Asked(is_meant=False, doubt=word, why=why)


def _in_clause(said: Said, at: int, deed: Deed, ports: Ports) -> Asked:
    """Say whether a clause is a command for something that a tool does."""
    clause = said.clauses[at]
    hearing = Hearing(said, ports)
    if not clause.leads or (_is_noun(clause) and not _tells_of_one(clause, deed, hearing)):
        return _refused(clause.verb, _NO_COMMAND)
    if deed.particle != clause.particle and (deed.particle or clause.particle not in own_words(ports)):
        return _refused(clause.particle or clause.verb)
    told = object_of(said, at, deed, ports)
    behind = [
        _behind(tail, clause, hearing)
        for number, tail in enumerate(told.tails, 1)
        # `that are named B`: what comes next says it.
        if tail.words or number == len(told.tails)
    ]
    refused = told.refused or _put_off(clause) or next((one.refused for one in behind if one.refused), "")
    second = second_of(said, hearing)
    if second or refused:
        return _refused(second, SECOND) if second else _refused(refused)
    every = told.every or any(is_of_each(one, deed, ports, said) for one in told.tails)
    # `assign engineer E1 to all stations`: those are all.
    is_its = told.every or (every and not deed.verbs.isdisjoint(MAKING))
    several = "" if every else _several(clause, deed)
    if _is_to_everybody(told, deed, said) or ((is_its or several) and hearing.names_one(deed.heads)):
        # `close all tickets`, with one at hand: that is not what is said.
        return _refused(several or quantifier(said), _AT_HAND_IS_ONE)
    left = "" if every else _left_over(said, clause, told, hearing, deed)
    if left:
        return _refused(left, _NOT_TAKEN)
    return _allowed(said, clause, _joined(told, behind)._replace(every=every), ports)


def _allowed(said: Said, clause: Clause, whole: Object, ports: Ports) -> Asked:
    """Say to what a tool may be applied that a clause tells to apply."""
    doubts = [*whole.restricted, *whole.unheld, *whole.which, *_rest(said, clause)]
    which = [*doubts, *whole.some]
    if does_all(ports) and (which or whole.by or not (whole.every or names_it(clause, ports))):
        return _refused((*which, *whole.by, clause.verb)[0], _ALL_OF_THEM)
    if whole.every:
        but = next(iter(which), "") or doubt_of_which(whole, clause, ports, said)
        return Asked(
            is_meant=True,
            every=not (but or whole.by),
            by=() if but else whole.by,
            but=but,
            is_open=False,
            doubt=quantifier(said),
            why=_TO_ONE,
        )
    return Asked(
        is_meant=True,
        is_open=not doubts,
        doubt=doubts[0] if doubts else "",
        why=_says_which(doubts[0]) if doubts else "",
    )


def _left_over(said: Said, clause: Clause, told: Object, hearing: Hearing, deed: Deed) -> str:
    """Give what a goal says beside what is done to what, where nothing that the tool takes can be that: `at noon`.

    A value at hand that the goal does not have may be what is said in other words, and so may one that is missing.
    """
    if clause.informs:
        return ""
    others = [one.first for one in said.clauses if one is not clause and not one.phrase and not one.tails]
    words = [*clause.phrase, *(word for tail in told.tails for word in tail.words)]
    # Of what is made there is none yet.
    chooses = deed.verbs.isdisjoint(MAKING)
    is_named = chooses and hearing.identifies(deed.heads)
    is_told = any(hearing.goes_into(one) for one in clause.phrase)
    is_open = chooses and not is_told and not told.unheld
    # What comes behind `that` is said of one that is not named.
    tails = takewhile(lambda tail: not (is_open and tail.lead in _WHO), told.tails)
    demands = [
        word
        for tail in tails
        for word in _unheard(tail, hearing)[:1]
        # Of what is not named, it may say which.
        if not (is_open and (tail.lead in _SAYS_WHICH or (tail.lead in _INSIDE and word.isalpha())))
    ]
    demands += [one.text for one in others if one.is_identifier and not one.names]
    if told.unheld and not is_named and all(one.isdigit() for one in told.unheld):
        # `add 2 and 3` is no `add_row`.
        if not hearing.takes_numbers:
            return told.unheld[0]
        demands = [*told.unheld, *demands]
    room = max(0, hearing.room([*words, *others]) - (is_named and not is_told))
    return demands[room] if len(demands) > room else ""


def _unheard(tail: Tail, hearing: Hearing) -> list[str]:
    """Give what is said behind a phrase and tells the tool nothing that it takes."""
    heard = [hearing.hear(one) for one in content_of(tail)]
    return [
        one.word.text
        for one in heard
        if one.kind in {"unheld", "restricted"} and one.word.said not in _IDLY_SAID
    ]


def _is_to_everybody(told: Object, deed: Deed, said: Said) -> bool:
    """Say whether something goes to all, and what is at hand is the address of one."""
    one = any(
        set(words_of(name)) & _ADDRESSES and value is not None and not isinstance(value, list)
        for name, value in said.have.items()
    )
    goes = any(
        tail.lead in {"to", "for"} and tail.words and tail.words[0].said in QUANTIFIERS | SAYS_ALL
        for tail in told.tails
    )
    return one and (goes or told.every) and not deed.verbs.isdisjoint(MAKING)


def _several(clause: Clause, deed: Deed) -> str:
    """Give the word by which something is to be done to several that are not named: `restart servers`."""
    if any(one.names for one in clause.phrase):
        return ""
    plain = [one for one in clause.phrase if one.is_plain and one.said not in FILLERS]
    is_its = any(not deed.heads.isdisjoint(words_of(one.text)[-1:]) for one in plain[-1:])
    return plain[-1].text if is_its and is_plural(plain[-1].text) else ""


def _tells_of_one(clause: Clause, deed: Deed, hearing: Hearing) -> bool:
    """Say whether what could be a noun is told to be done to one that is at hand: `reset password of user u1`."""
    heads = [one for one in clause.phrase[-1:] if not is_plural(one.text)]
    is_its = any(not deed.heads.isdisjoint(words_of(one.text)[-1:]) for one in heads)
    return is_its and any(hearing.goes_into(word) for tail in clause.tails[:1] for word in tail.words)


def _put_off(clause: Clause) -> str:
    """Give the word by which a clause is not to be done, or not now: `delete user u1 is what he said`, `when it ships`."""
    conditions = [tail.lead for tail in clause.tails if tail.lead in CONDITIONS]
    for tail in clause.tails:
        if tail.lead in RELATIVES:
            break
        if tail.lead in AUXILIARIES:
            return tail.lead
    return next(iter(conditions), "")


def _rest(said: Said, clause: Clause) -> list[str]:
    """Give what else a goal says that neither does nor asks for anything: it may say what to leave out."""
    return [
        one.verb for one in said.clauses if one is not clause and not one.is_whole and not one.first.names
    ][:1]


def _says_which(word: str) -> str:
    """Say why a word of a goal leaves it open to which one something is to be done."""
    return f"{word!r} says to which, and nothing at hand does: say it in `have`"


def _is_noun(clause: Clause) -> bool:
    """Say whether what could be a verb is rather a thing: `commit changes of yesterday`, `order pizzas by price`."""
    bare = all(one.is_plain and one.said not in DETERMINERS and not one.names for one in clause.phrase)
    if not bare or not clause.tails:
        return False
    are_several = any(is_plural(one.text) for one in clause.phrase[-1:])
    if clause.tails[0].lead == "by":
        return are_several
    # `set price of product 5`
    is_set = clause.verb in _SETTING and bool(clause.phrase) and not are_several
    return clause.tails[0].lead == "of" and clause.verb in AT_TIMES_THINGS and not is_set


def _joined(told: Object, behind: Iterable[Object]) -> Object:
    parts = [told, *behind]
    return told._replace(
        restricted=tuple(word for one in parts for word in one.restricted),
        unheld=tuple(word for one in parts for word in one.unheld),
        which=tuple(word for one in parts for word in one.which),
        some=tuple(word for one in parts for word in one.some),
        by=tuple(dict.fromkeys(name for one in parts for name in one.by)),
    )


def _behind(tail: Tail, clause: Clause, hearing: Hearing) -> Object:
    """Say what is told behind a phrase: which one, or what else belongs to it."""
    heard = [hearing.hear(one) for one in content_of(tail)]
    found = gathered(heard)
    if not heard and not any(one.said in IDLE for one in tail.words):
        # `after all`
        return found._replace(restricted=(tail.lead,))
    if found.restricted and hearing.is_told and (tail.lead in _WHO or not tail.lead.isalpha()):
        # What is at hand may not be what is meant: `block the user that u1 invited`.
        return found._replace(refused=found.restricted[0])
    if tail.lead in _TOGETHER and clause.verb in _ADDING:
        # To add somebody to a team is not to create them.
        strange = [one.word.text for one in heard if one.kind in {"restricted", "filter", "which"}]
        return found._replace(refused=next(iter(strange), ""))
    return found._replace(refused=_turned(tail, hearing))


def _turned(tail: Tail, hearing: Hearing) -> str:
    """Give what is at hand for the other end than the goal says: `move it from G1`, with a `to` that is G1."""
    for word in tail.words:
        ways = [set(words_of(name)) for name in word.names if hearing.goes_into(word)]
        if tail.lead == "about":
            # `send an email about bob@x.y`
            begins = any(not one & _ADDRESSES for one in ways)
        elif tail.lead == "from":
            begins = any(one & _SOURCES or (hearing.is_from and not one & _ENDS) for one in ways)
        else:
            begins = tail.lead not in _TOGETHER or any(not one & _SOURCES for one in ways)
        if ways and not begins:
            return word.text
    return ""


_IDLY_SAID = frozenset({"saying", "stating", "text", "name", "value", "called", "named", "way", "order"})
