"""What the first words of a tool's description say: that it changes something, that it reads, or what it tells."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from halflap.graph.measures import is_measured
from halflap.graph.things import REPORTS, is_thing
from halflap.graph.verbs import (
    AT_TIMES_THINGS,
    CHANGING,
    DESTROYING,
    HARMLESS_WITH,
    PLAINLY_READING,
    SAID_READING,
)

__all__ = ["DETERMINERS", "WEAK", "Described", "described", "forms", "is_form"]

_ABOUT_ITSELF = re.compile(
    r"^\W*(?:(?:\w+\s+){0,3}tool\s+(?:to|that|which|for|allows?\s+(?:you\s+)?to)?\s*|use\s+this\s+(?:tool\s+)?to\s+"
    r"|(?:allows?|lets?|helps?)\s+(?:(?:you|users|us|me)\s+(?:to\s+)?|to\s+))"
)
_WORD = re.compile(r"[^\W\d_]+|[,.;:!?(]")
_ADVERBS = frozenset(
    {"permanently", "automatically", "irreversibly", "safely", "quickly", "simply", "immediately", "securely", "force",
     "also", "directly", "easily", "forcibly", "completely", "asynchronously", "efficiently", "programmatically"}
)  # fmt: skip
DETERMINERS = frozenset(
    {"a", "an", "the", "this", "one", "all", "each", "every", "new", "your", "my", "some", "any", "its", "it", "them",
     "another", "multiple", "several", "given", "specified", "existing", "specific", "up", "down", "off", "out", "in",
     "back", "as", "two", "many"}
)  # fmt: skip
_BEHIND_THINGS = frozenset(
    {"of", "that", "which", "who", "between", "for", "from", "per", "by", "at", "are", "is", "about", "with", "within"}
)  # fmt: skip
_BEGINS_THINGS = frozenset(
    {"a", "an", "the", "all", "every", "each", "one", "which", "who", "what", "when", "where", "how", "whether", "why",
     "number", "more", "any", "some", "these", "this", "free", "hot"}
)  # fmt: skip
WEAK = frozenset(
    {"run", "execute", "perform", "do", "load", "open", "print", "return", "process", "generate", "convert", "build",
     "resolve", "request", "report", "call", "record", "test", "evaluate", "go", "navigate", "index", "group",
     "review", "rate", "score", "grade", "split", "transform", "connect", "format", "combine", "log", "invoke",
     "follow", "name", "price", "make", "take", "trigger", "compose", "start", "begin", "access", "document", "optimize",
     "complete", "exec", "eval", "focus", "step", "control", "manage", "apply", "play", "switch", "scroll", "link",
     "copy", "save", "store", "write", "create", "set", "alert", "give", "push", "new", "reverse", "tag", "label",
     "annotate", "flag", "mark", "hold", "type", "text", "stream", "prepare", "read"}
)  # fmt: skip
"""What is said of reading, too: `Run a search`, `Create a list of`. It makes no `get_...` change anything."""
_MADE_OF_NOTHING = HARMLESS_WITH["generate"] | {
    "list", "report", "visualization", "overview", "table", "context", "query", "response", "answer", "analysis",
    "url", "search", "description", "random",
}  # fmt: skip
_MAKES = frozenset(
    {"create", "generate", "make", "build", "compose", "draw", "produce", "take", "run", "execute", "perform"}
)
_KEPT = frozenset(
    {"file", "files", "folder", "document", "note", "page", "slide", "sheet", "database", "repository"}
)
_NEVER_SEVERAL = frozenset(
    {"put", "buy", "close", "open", "write", "save", "merge", "push", "fill", "complete"}
)
"""What is a thing at times, but as the first word of a sentence is done."""
_SAYS_WHICH = frozenset({"free"})
_SENDS = frozenset({"send", "submit", "post", "issue", "put"})
_ARTICLES = frozenset({"a", "an", "the", "it", "this", "your", "its", "their", "another", "one"})
_PARTICLES = frozenset({"in", "out", "off", "up", "down", "away", "over", "back", "rid", "on", "through"})
_LOOKED_UP = frozenset(
    (verb, particle)
    for verb in ("look", "looks", "looking")
    for particle in ("up", "over", "through", "in", "on")
) | frozenset((verb, "on") for verb in ("read", "provides", "returns", "report", "reports"))
_REPORTED = frozenset({"report", "reports"})
_QUERIES = frozenset({"query", "request", "search", "question", "prompt"})
_OBJECT_WITHIN = 6
_WITH_WITHIN = 8


class Described(NamedTuple):
    """What the beginning of a description says."""

    does: str
    """Its first word."""
    change: str | None
    """The verb that it begins with, where that changes something: also one that is not known, but is a verb."""
    is_sure: bool
    """Whether that is hardly ever said of what only reads."""
    reads: bool
    """Whether it begins with a verb that reads, or with what is told."""
    noun: str = ""
    """The last word of the noun phrase that it may begin with: `guide` of `Care guide of a species`."""
    is_measured: bool = False
    """Whether it begins with what something has: `Fill level of a bin`."""
    is_vague: bool = False
    """Whether it begins with what is said of reading and of changing: `Gives the price`, `Give a dog its medicine`."""


@lru_cache(maxsize=1 << 14)
def described(description: str) -> Described:
    """Read how a description begins."""
    words = _WORD.findall(_ABOUT_ITSELF.sub("", description.casefold()))
    while words and (words[0] in _ADVERBS or not words[0].isalpha()):
        words = words[1:]
    if not words or not words[0].isascii():
        return Described("", None, is_sure=False, reads=False)
    first, then = words[0], words[1] if len(words) > 1 else ""
    change = None if _says_what_like(words) else _change(first, then)
    measured = is_measured(words) or (first in _REPORTED and then == "on")
    if measured or _is_harmless(_CHANGES.get(first, ""), words[1:]):
        return Described(first, None, is_sure=False, reads=True, is_measured=measured)
    if change is not None:
        return Described(first, change, is_sure=_is_sure(change, words), reads=False)
    if first in _READS and first not in _BEGINS_THINGS:
        # `Check out a guest`, `Give the dog a name`: those say nothing, and the name has to.
        reads = first in _PLAINLY and (then not in _PARTICLES or (first, then) in _LOOKED_UP)
        reads = reads and not (_READS[first] == "provide" and "with" in words[:_WITH_WITHIN])
        # `Tracks in a playlist`
        several = first not in _PLAINLY and _is_plural(first) and (then in _BEHIND_THINGS or then == "in")
        return Described(first, None, is_sure=False, reads=reads or several, is_vague=not (reads or several))
    told = first in _BEGINS_THINGS or _says_what_like(words)
    is_done = first not in _BEGINS_THINGS and then in _ARTICLES
    # `Page the owner`, but `Page of a book`
    told = told or (
        not is_done
        and (is_thing(first) or then in _BEHIND_THINGS or (_is_plural(first) and not then.isalpha()))
    )
    if not told and is_done:
        # `Fines a driver`: whatever that is, it is done.
        return Described(first, first.removesuffix("s"), is_sure=False, reads=False)
    return Described(first, None, is_sure=False, reads=told, noun="" if told else _noun(words))


def _noun(words: list[str]) -> str:
    """Give the word before the first of those that stand behind things, where no article comes before it."""
    ends = next((at for at, one in enumerate(words) if not one.isalpha() or one in _BEHIND_THINGS), 0)
    return words[ends - 1] if ends > 1 and DETERMINERS.isdisjoint(words[:ends]) else ""


def is_form(said: str, verb: str) -> bool:
    """Say whether a word is a verb as sentences begin with it: `Get`, `Gets`, `Searches`, `Queries`, `Getting`."""
    return bool(verb) and said in forms(verb)


@lru_cache(maxsize=1 << 12)
def forms(verb: str) -> frozenset[str]:
    """Give the forms that sentences begin with."""
    ending = "es" if verb.endswith(("s", "x", "z", "ch", "sh", "o")) else "s"
    third = f"{verb[:-1]}ies" if verb.endswith("y") and verb[-2:-1] not in set("aeiou") else verb + ending
    return frozenset({verb, third, f"{verb.removesuffix('e')}ing", f"{verb}{verb[-1]}ing"})


_READS = {form: verb for verb in sorted(SAID_READING) for form in forms(verb)}
_PLAINLY = {form for verb in PLAINLY_READING for form in forms(verb)} | {"returns", "returning"}
_CHANGES = {form: verb for verb in sorted(CHANGING) for form in forms(verb)} | {one: one for one in CHANGING}


def _change(first: str, then: str) -> str | None:
    """Give the verb that changes something and that a description begins with: `Orders a card`, but no `Orders of`."""
    verb = _CHANGES.get(first)
    if verb is None or verb in SAID_READING - DESTROYING or then == "of":
        return None
    if first.endswith("ing") and verb in AT_TIMES_THINGS - DESTROYING and then in REPORTS:
        # `Opening hours`
        return None
    if verb not in AT_TIMES_THINGS or verb in _NEVER_SEVERAL or then in DETERMINERS:
        return verb
    # `Order details`, `Orders that`; but `Order pizza`
    is_told = first != verb or is_thing(then) or then in _BEHIND_THINGS or not then.isalpha()
    return None if is_told else verb


def _says_what_like(words: list[str]) -> bool:
    """Say whether a description begins with several things and what they are like: `Free delivery slots`."""
    ends = next(
        (at for at, one in enumerate(words) if not one.isalpha() or one in _BEHIND_THINGS), len(words)
    )
    several = ends > 1 and _is_plural(words[ends - 1])
    return words[0] in _SAYS_WHICH and several and DETERMINERS.isdisjoint(words[1:ends])


def _is_sure(verb: str, words: list[str]) -> bool:
    """Say whether a verb is hardly said of reading: `Cancels an order`, but no `Cancel reasons`, no `Send a query`."""
    asks = verb in _SENDS and not _QUERIES.isdisjoint(words[:_OBJECT_WITHIN])
    leads = words[0] != verb or (len(words) > 1 and words[1] in DETERMINERS)
    return leads and not asks and verb not in WEAK


def _is_harmless(verb: str, rest: list[str]) -> bool:
    """Say whether what is made leaves everything as it was: a chart, a summary, a search."""
    near = set(rest[:_OBJECT_WITHIN])
    if "again" in rest:
        # What is only told need not be done again.
        return False
    if verb in _MAKES and near.isdisjoint(_KEPT) and not near.isdisjoint(_MADE_OF_NOTHING):
        return True
    return not HARMLESS_WITH.get(verb, frozenset()).isdisjoint(near)


def _is_plural(word: str) -> bool:
    return word.endswith("s") and not word.endswith("ss")
