"""What a description says that a tool does beside what it begins with: that it charges, sends or deletes something, too."""

from __future__ import annotations

import re
from functools import lru_cache

from halflap.graph.described import DETERMINERS, WEAK, forms
from halflap.graph.verbs import AT_TIMES_THINGS, CHANGING, DESTROYING

__all__ = ["consequence"]

_WORD = re.compile(r"[^\W\d_]+|[,.;:!?(\u2013\u2014]|\n")
_USAGE = re.compile(
    r"(?i)\b(?:args|arguments|parameters|params|returns|examples?|notes?|usage|input|output)\s*:"
)
"""What comes behind is how it is called."""
_ENDS = frozenset({".", "!", "?", "\n"})
_BREAKS = _ENDS | {";", ":", "\u2013", "\u2014"}
_BEFORE = _BREAKS | {
    ",", "(", "and", "or", "then", "also", "it", "which", "that", "will", "automatically", "immediately", "to", "may",
    "this", "tool",
}  # fmt: skip
"""What a verb stands behind, and seldom a thing."""
_GOES_ON = frozenset({"and", "then", ";", ":", "\u2013", "\u2014"})
_ASKS = frozenset({"what", "when", "where", "how", "whether", "who", "which", "why"})
_GRAVE = (DESTROYING - {"forget", "undo", "consume", "empty", "clear", "archive", "expire", "reset", "void"}) | {
    "charge", "pay", "send", "book", "buy", "purchase", "bill", "transfer", "email", "notify", "write", "post", "publish",
    "order", "submit", "lock", "block", "fire", "burn", "replace",
}  # fmt: skip
_CHANGES = {form: verb for verb in sorted(CHANGING - {"new", "like"}) for form in forms(verb)}
_IRREGULAR = {
    "pay": "paid", "send": "sent", "buy": "bought", "write": "written", "withdraw": "withdrawn", "sell": "sold",
    "cancel": "cancelled", "drop": "dropped", "ban": "banned", "transfer": "transferred", "expel": "expelled",
    "submit": "submitted", "revert": "reverted",
}  # fmt: skip
_DONE = {
    done: verb
    for verb in sorted(_GRAVE)
    for done in {
        _IRREGULAR.get(verb, ""),
        f"{verb.removesuffix('e')}ed",
        f"{verb[:-1]}ied" if verb[-1] == "y" else "",
    }
    if done
} | {"lost": "lose", "put": "put", "gone": "lose"}
_USED_UP = re.compile(r"(?i)\bwhich\s+(?:cannot|can\s?n[o']t|can\s+no\s+longer)\s+be\b")
_ARTICLES = frozenset({"a", "an", "the", "it", "them", "your", "its", "their", "all"})
_PASSIVE = frozenset({"is", "are", "be", "gets", "get"})
_RELATIVE = frozenset({"that", "which", "who", "whose", "if", "whether", "when", "where"})


@lru_cache(maxsize=1 << 13)
def consequence(description: str, *, reads: bool) -> str | None:
    """Give a verb that a description says is done beside what it begins with.

    Where the tool's name reads, only what its first sentence goes on with in the same form counts (`Get the next job and
    mark it as taken`); else whatever of the text may be one.
    """
    usage = _USAGE.search(description)
    words = _WORD.findall((description[: usage.start()] if usage else description).casefold())
    while words and not words[0].isalpha():
        words = words[1:]
    if _USED_UP.search(description):
        return "consume"
    return (_goes_on(words) or _later(words)) if reads else _anywhere(words)


def _goes_on(words: list[str]) -> str | None:
    if words and words[0] in _CHANGES:
        # `Buy and sell orders` are what is told: else it would have been seen.
        return None
    for at in range(1, len(words)):
        word, before = words[at], words[at - 1]
        if before in _ENDS or word in _ENDS:
            return None
        verb = _CHANGES.get(word)
        if verb is None or word.endswith("ing") or before not in _GOES_ON:
            continue
        same = before not in {"and", "then"} or (word != verb) == words[0].endswith("s")
        is_plain = verb not in WEAK or words[at + 1 : at + 2] in (["it"], ["them"])
        if same and is_plain and _takes_something(words, at):
            return verb
    return None


def _later(words: list[str]) -> str | None:
    """Give what a later sentence says that it does: `Each call sends a letter to the owner`."""
    ends = next((at for at, one in enumerate(words) if one in _ENDS), len(words))
    for at in range(ends + 1, len(words)):
        verb, before = _CHANGES.get(words[at]), words[at - 1]
        done = _DONE.get(words[at])
        if done is not None and before in _PASSIVE and _is_main(words, at) and _is_there(words, at):
            # `The author is notified`
            return done
        is_third = verb is not None and words[at] != verb and words[at].endswith("s")
        if (
            is_third
            and verb in _GRAVE
            and words[at + 1 : at + 2] != []
            and words[at + 1] in _ARTICLES
            and before not in _RELATIVE
        ):
            return verb
    return None


def _is_there(words: list[str], at: int) -> bool:
    """Say whether something is done to what is named: not to whatever is asked for (`if the order is cancelled`)."""
    begins = next((one + 1 for one in reversed(range(at)) if words[one] in _BREAKS), 0)
    return words[begins] in _ARTICLES


def _anywhere(words: list[str]) -> str | None:
    asks = bool(words) and words[0] in _ASKS
    for at in range(1, len(words)):
        word, before = words[at], words[at - 1]
        done = _DONE.get(word)
        if done is not None and before in _PASSIVE and _is_main(words, at):
            return done
        verb = _CHANGES.get(word)
        if verb is None or before not in _BEFORE or (asks and before in {"to", "and", "or", "it"}):
            continue
        if before in {"that", "which"} and word == verb:
            # `Orders that ship this week`
            continue
        if word.endswith("ing"):
            if verb in _GRAVE and before in {"and", "then"}:
                return verb
        elif _takes_something(words, at) and (verb in _GRAVE or verb not in WEAK):
            return verb
    return None


def _takes_something(words: list[str], at: int) -> bool:
    """Say whether a word is done to something: what is a thing as well only where an article follows."""
    verb, then = _CHANGES[words[at]], words[at + 1] if at + 1 < len(words) else ""
    if verb in AT_TIMES_THINGS:
        return then in DETERMINERS and not (words[at] == verb + "s" and then in {"in", "as", "up"})
    return then.isalpha() and then != "of"


def _is_main(words: list[str], at: int) -> bool:
    """Say whether something is said of what the tool does, and not of which things it tells."""
    for word in reversed(words[:at]):
        if word in _RELATIVE:
            return False
        if word in _BREAKS:
            return True
    return words[0] not in _ASKS
