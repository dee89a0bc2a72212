"""What a tool's description says of its parameters: many servers describe them there, as their functions do."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from halflap.graph.words import words_in

if TYPE_CHECKING:
    from halflap.graph.words import Words

__all__ = ["sentences_about", "told_of_parameters"]

_LONGEST = 20_000
_LONGEST_HEAD = 80
_MOST_SENTENCES = 200
_SENTENCE = re.compile(r"(?<=[.!?;。\uff01\uff1f\uff1b])\s+|\n+")
_COMMON = frozenset(
    [
        "a",
        "an",
        "at",
        "by",
        "for",
        "from",
        "in",
        "is",
        "max",
        "min",
        "of",
        "on",
        "start",
        "end",
        "the",
        "to",
        "total",
        "value",
    ]
)
_SECTION = re.compile(
    r"^\s*#*\s*\**(?:args|arguments|parameters|params|inputs?|参数|参数说明)\**\s*[:\uff1a]?\**\s*[:\uff1a]?\s*$",
    re.IGNORECASE,
)
_END = re.compile(
    r"^\s*#*\s*\**(?:returns?|raises|yields|examples?|notes?|output|usage|返回|示例)\b.*?[:\uff1a]?\s*$",
    re.IGNORECASE,
)
_NAMED = re.compile(
    r"^\s*(?:[-*•]\s*)?(?::param\s+(?:\w+\s+)?)?[`*\"']*(?P<name>[\w.$-]{1,80})[`*\"']*"
    r"\s*(?:\((?P<kind>[^()\n]{0,120})\))?\s*(?::|\uff1a|--?\s|\u2013|—)\s*(?P<text>.*)$"
)


def told_of_parameters(description: str) -> dict[str, str]:
    """Give what a description says of each parameter, where it has a section or a list of them."""
    told: dict[str, str] = {}
    name = ""
    section: int | None = None
    for line in description[:_LONGEST].splitlines():
        indent, head = len(line) - len(line.lstrip()), line.strip()[:_LONGEST_HEAD]
        if _SECTION.match(head):
            section, name = indent, ""
        elif section is not None and indent <= section and _END.match(head):
            section, name = None, ""
        elif (section is not None or ":param" in line) and (found := _NAMED.match(line)) is not None:
            name = found["name"]
            told.setdefault(name, " ".join(filter(None, (found["text"], found["kind"]))).strip())
        elif not line.strip():
            name = ""
        elif name and line[:1].isspace():
            told[name] = f"{told[name]} {line.strip()}".strip()
    return {name: text for name, text in told.items() if text}


def sentences_about(description: str, words: Words) -> str:
    """Give what a description says where it names a thing: `Offset and duration are in seconds.` of a duration."""
    named = {*words[-1:], *words[:-1]} - _COMMON
    if not named:
        return ""
    return " ".join(
        sentence
        for sentence in _SENTENCE.split(description[:_LONGEST], maxsplit=_MOST_SENTENCES)
        if not named.isdisjoint(words_in(sentence[:1_000]))
    )
