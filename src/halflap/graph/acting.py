"""Verbs of a description that are not known to read: whatever they are, something may be done by them."""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import pairwise

from halflap.graph.described import forms
from halflap.graph.speech import (
    AUXILIARIES,
    CONDITIONS,
    DETERMINERS,
    PARTICLES,
    PREPOSITIONS,
    PRONOUNS,
    QUESTIONS,
    RELATIVES,
)
from halflap.graph.things import REPORTS, TELLS, is_thing
from halflap.graph.verbs import AT_TIMES_THINGS, CHANGING, SAID_READING

__all__ = ["acts"]

_USAGE = re.compile(
    r"(?im)\b(?:args|arguments|parameters|params|returns|examples?|usage|input|output|tips?|hints?)\s*:"
    r"|^\s*(?:[-*#\u2022]|\d+[.)])|```|https?:"
)
"""What comes behind is how it is called, or a list."""
_QUOTED = re.compile(r"`[^`\n]*`|\"[^\"\n]*\"")
_BRACKETS = re.compile(r"[()]")
_JOINED = re.compile(r"(?i)\s*[&+/]\s*|\s+(?:as well as|plus|but|in order to)\s+")
"""What stands for `and`."""
_DASHED = re.compile(r"\s-+\s")
_SENTENCE = re.compile(r"[.!?](?:\s|$)|\n")
_WORD = re.compile(r"[^\W\d_]+(?:['\u2019-][^\W\d_]+)*|[,;:\u2013\u2014]|[\w.]+")
_STATES = """
    be become have contain include return support require need use take accept depend default mean refer represent
    correspond belong exist hold consist comprise involve cover work allow enable let help result follow match equal serve
    operate function lack span range last differ vary relate concern indicate specify say state denote reflect describe
    define cite mention come reside sit occur happen remain stay appear seem want like prefer know expect assume ensure
    respect honor honour ignore limit omit prevent avoid handle see note choose pick enter combine try wait think point lead
    wrap mirror mimic emulate leverage utilize utilise employ rely own bear sort group rank filter paginate aggregate average
    sum total count weigh compute normalize normalise format truncate trim parse infer derive interpret map highlight score
    grade evaluate assess judge benchmark receive offer produce output yield render draw model cost matter affect impact
    influence determine govern feature showcase cater suit fit underlie inherit reach read reuse fetch wish intend consider
    remember understand explain clarify attempt fail succeed organize organise categorize
    categorise
"""
"""What is said of what something is like, of how it is called and how it is worked out: it changes nothing."""
_NO_VERBS = frozenset(
    {"plus", "minus", "as", "its", "this", "thus", "yes", "across", "versus", "vs", "less", "unless", "perhaps", "always",
     "sometimes", "afterwards", "towards", "besides", "his", "ours", "yours", "theirs", "hers", "us", "returns", "making"}
)  # fmt: skip
_STATED = frozenset(form for verb in {*SAID_READING, *_STATES.split()} for form in forms(verb)) | AUXILIARIES
_DONE_TO_SOMEBODY = frozenset(
    {"tell", "ask", "give", "offer", "supply", "report", "ping", "collect", "navigate", "pull", "dump", "present", "capture",
     "load", "test", "rate", "study", "profile", "track", "solve", "recall", "take", "hold", "serve", "let", "enable", "allow",
     "limit", "truncate", "trim", "draw", "enter", "wait", "lead", "own", "bear", "cost", "affect", "impact", "influence", "govern",
     "pick", "choose", "point", "operate", "employ", "feature", "answer", "echo", "note", "prevent", "fail", "inherit", "judge"}
)  # fmt: skip
"""What reads, or tells what something is like, where a sentence begins with it; behind `and`, it is done to something."""
_BESIDE = frozenset(
    form for verb in {*SAID_READING, *_STATES.split()} - _DONE_TO_SOMEBODY for form in forms(verb)
)
_CHANGES = {form: verb for verb in sorted(CHANGING) for form in forms(verb)}
_SMALL = DETERMINERS | PREPOSITIONS | PRONOUNS | RELATIVES | AUXILIARIES | CONDITIONS | QUESTIONS | frozenset(
    {"and", "or", "but", "nor", "if", "not", "only", "also", "even", "both", "either", "such", "more", "most", "other",
     "than", "then", "now", "here", "there", "yet", "whether", "per", "i", "you", "we", "they", "he", "she", "no"}
)  # fmt: skip
_ADVERB = re.compile(
    r"\w+ly|also|then|automatically|too|even|afterwards|immediately|thereby|instead|again|always"
)
_OBJECTS = frozenset(
    {"it", "its", "them", "the", "a", "an", "their", "his", "her", "him", "your", "all", "each", "every", "this", "that",
     "these", "those", "any", "one", "everyone", "everybody", "everything", "another"}
)  # fmt: skip
"""What begins what something is done to."""
_BREAKS = frozenset({";", ":", "\u2013", "\u2014"})
_ONE = frozenset({"it", "them", "him", "her", "its", "their", "everyone", "everybody", "everything"})
_AGAIN = _BREAKS | {"and", "then", "or", ","}
_WITH = frozenset({"after", "by", "before", "while"})
_MADE = TELLS | {"report", "list", "view", "picture", "map", "table", "search", "analysis", "lookup", "query"}
_OBJECT_WITHIN = 6
_LIKE = re.compile(r"\w+(?:al|ic|ive|ous|ed|able|ible|ary|ful|less|ent|ant)")
"""How what says what something is like ends."""
_BEHIND = re.compile(r"\w+(?:ing|ed|able|ible|ly)|available|related|specific")
"""How what says more of things ends: `tags sorted by name`."""
_PAST = re.compile(r"\w+[^e]ed")
_NOT_PAST = frozenset({"shred", "shed", "embed", "wed", "bed", "imbed"})
_CALLS = frozenset(
    {"query", "search", "lookup", "call", "request", "tool", "function", "endpoint", "operation", "action", "command",
     "check", "look", "report", "view", "listing", "scan", "fetch", "read", "reading", "this", "overview", "summary"}
)  # fmt: skip
"""What stands for the tool itself, so that what it does may come behind `which`."""
_SUBJECTS = frozenset(
    {"it", "this", "tool", "call", "function", "which", "that", "request", "query", "also", "then"}
)


@lru_cache(maxsize=1 << 13)
def acts(description: str) -> str | None:
    """Give the first verb of a description that is done to something, and is not known to read."""
    usage = _USAGE.search(description)
    text = _QUOTED.sub(" x ", description[: usage.start()] if usage and usage.start() else description)
    text = _DASHED.sub("; ", _JOINED.sub(" and ", _BRACKETS.sub(", ", text)))
    sentences = [_WORD.findall(one.casefold()) for one in _SENTENCE.split(text)]
    said = [one for one in sentences if one]
    for number, words in enumerate(said):
        found = _in_sentence(words, is_first=not number)
        if found is not None:
            return _CHANGES.get(found) or _base(found)
    return None


def _base(word: str) -> str:
    """Give a verb that nobody knows as it may be called."""
    if word.endswith("ing"):
        return word.removesuffix("ing")
    return word.removesuffix("s") if _is_third(word) else word


def _in_sentence(words: list[str], *, is_first: bool) -> str | None:
    leads = is_first and words[0] in _STATED
    third = _is_third(words[0])
    if is_first and words[0] in {"check", "checks", "tick", "ticks"} and "off" in words:
        return "complete"
    for at, word in enumerate(words):
        if not _may_be_verb(word):
            continue
        before = _before(words, at)
        then = _behind(words, at)
        same = third == _is_third(word)
        goes_on = leads and before in _AGAIN and (same or before in _BREAKS or then in _ONE)
        # `Find files; gives their paths`
        is_new = word not in (_BESIDE if same else _STATED)
        if goes_on and is_new and (then in _OBJECTS or _is_several(words, at)):
            return word
        if word not in _STATED and then in _OBJECTS and _is_told(words, at, before, is_first=is_first):
            return word
    return None


def _is_told(words: list[str], at: int, before: str, *, is_first: bool) -> bool:
    """Say whether a verb before what it is done to is said of the tool: not of what it tells, nor of whoever calls it."""
    word, then = words[at], _behind(words, at)
    if word.endswith("ing"):
        return before in _WITH or before in _AGAIN
    if not _is_third(word):
        # `Find a cow. Cull it.`, `It will cull the cow.`
        will = before in {"will", "may"} and "you" not in words[:at] and PREPOSITIONS.isdisjoint(words[:at])
        return not is_first and (will or (not at and then in _ONE))
    if before == "it" or (before in {"which", "that"} and _is_of_itself(words, at)):
        return True
    if is_first or not _MADE.isdisjoint(words[at + 1 : at + _OBJECT_WITHIN]):
        return False
    is_behind = before in _SUBJECTS or before in _BREAKS
    return not at or is_behind or words[0].endswith("ing") or _is_of_call(words, at)


def _before(words: list[str], at: int) -> str:
    """Give the word before one, over adverbs."""
    at -= 1
    while at > 0 and _ADVERB.fullmatch(words[at]) and words[at] != "then":
        at -= 1
    return words[at] if at >= 0 else ""


def _behind(words: list[str], at: int) -> str:
    """Give the word behind one, over what belongs to a verb: `chop down the tree`."""
    rest = words[at + 1 : at + 3]
    return rest[1] if len(rest) > 1 and rest[0] in PARTICLES and rest[1] in _OBJECTS else (rest or [""])[0]


def _may_be_verb(word: str) -> bool:
    if word in _NO_VERBS or word in _SMALL or (_PAST.fullmatch(word) and word not in _NOT_PAST):
        return False
    return word.replace("-", "").isalpha() and len(word) > 2  # noqa: PLR2004 -- no verb is shorter


def _is_third(word: str) -> bool:
    return word.endswith("s") and not word.endswith("ss")


def _is_several(words: list[str], at: int) -> bool:
    """Say whether what may be a verb is done to what has no article: `redacts names`; but `and email addresses`."""
    word, then = words[at], words[at + 1] if at + 1 < len(words) else ""
    if not then.isalpha() or then in _SMALL or _LIKE.fullmatch(word):
        return False
    if _is_third(word):
        # `the titles and tags`
        listed = [one for one in words[1 : at - 1] if one not in _AGAIN][-1:]
        return not any(_is_third(one) for one in listed) and not _BEHIND.fullmatch(then)
    if _before(words, at) not in {"and", "then"} or not PREPOSITIONS.isdisjoint(words[2 : at - 1]):
        # `the status of file and background operations`
        return False
    return _is_third(then) and not (is_thing(word) or word in AT_TIMES_THINGS or then in REPORTS)


def _is_of_itself(words: list[str], at: int) -> bool:
    """Say whether what comes behind `which` is said of the call, and not of what it tells: `a query which debits`."""
    ahead = [one for one in words[: at - 1] if one not in _SMALL]
    return words[at - 2 : at - 1] == [","] or (len(ahead) == 1 and ahead[0] in _CALLS)


def _is_of_call(words: list[str], at: int) -> bool:
    """Say whether a sentence is about each call: `Each call sends`."""
    return any(a in {"each", "every", "this", "the"} and b in _CALLS for a, b in pairwise(words[:at]))
