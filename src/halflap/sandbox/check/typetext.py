"""Read the types that ty writes: what they are a choice of, and which of JSON's kinds each of those is."""

from __future__ import annotations

import re

__all__ = ["AWAITABLE", "is_awaitable", "is_coroutine", "kind_of", "literals_of", "members"]

_OPEN, _CLOSE = "[({", "])}"
_KINDS = {
    "str": "string", "LiteralString": "string", "int": "integer", "float": "number", "bool": "boolean",
    "None": "null", "list": "array", "tuple": "array", "dict": "object",
}  # fmt: skip
_ODD = (
    "set", "frozenset", "bytes", "complex", "range", "dict_keys", "dict_values", "dict_items", "BaseException",
    "Exception",
)  # fmt: skip
"""What no argument of a tool can be, and what has no keys."""
_HEAD = re.compile(r"[A-Za-z_][\w.]*")
AWAITABLE = ("CoroutineType", "Coroutine", "Future", "Task", "Halflap_Coroutine")


def members(text: str) -> list[str]:
    """Split a type into what it is a choice of, at the bars that are not within brackets or quotes."""
    parts, depth, begin, place = [], 0, 0, 0
    while place < len(text):
        letter = text[place]
        if letter in "\"'":
            place = _past(text, place)
            continue
        if letter in _OPEN:
            depth += 1
        elif letter in _CLOSE:
            depth -= 1
        elif letter == "|" and depth == 0:
            parts.append(text[begin:place])
            begin = place + 1
        place += 1
    parts.append(text[begin:])
    return [part.strip().removesuffix("*") for part in parts]


def _past(text: str, place: int) -> int:
    """Give the place behind a quoted text."""
    quote = text[place]
    place += 1
    while place < len(text) and text[place] != quote:
        place += 2 if text[place] == "\\" else 1
    return place + 1


def is_awaitable(member: str) -> bool:
    """Say whether it is something that has to be awaited."""
    return _head(member) in AWAITABLE


def is_coroutine(member: str) -> bool:
    """Say whether it is a call that has not even begun."""
    return _head(member) in {"CoroutineType", "Coroutine", "Halflap_Coroutine"}


def kind_of(member: str) -> str | None:
    """Say which of JSON's kinds a member is; `odd` for none of them, None for what is not known."""
    head = _head(member)
    if head == "Literal":
        inner = member[len("Literal[") : -1]
        if inner[:1] in {'"', "'"}:
            return "string"
        if inner.split(",")[0] in {"True", "False"}:
            return "boolean"
        return "integer" if inner[:1] in "-0123456789" else None
    if is_awaitable(member) or head in _ODD:
        return "odd"
    return _KINDS.get(head)


def literals_of(member: str) -> list[str] | None:
    """Give the texts that a literal type has, each as it is written; None if it is none."""
    if _head(member) != "Literal" or not member.endswith("]"):
        return None
    return [part.strip() for part in _split(member[len("Literal[") : -1])]


def _split(text: str) -> list[str]:
    parts, begin, place = [], 0, 0
    while place < len(text):
        if text[place] in "\"'":
            place = _past(text, place)
            continue
        if text[place] == ",":
            parts.append(text[begin:place])
            begin = place + 1
        place += 1
    parts.append(text[begin:])
    return parts


def _head(member: str) -> str:
    # `(BaseException & ~Exception)`: what is left of a type when a part was ruled out is still of its first.
    found = _HEAD.match(member.lstrip("("))
    return found.group() if found else ""
