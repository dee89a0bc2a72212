"""Secrets in text and code that follow their name: `password=…`, `"token": "…"`, `--api-key …`, `("secret", "…")`.

Best effort: the text may be anything. Each name costs a bounded number of steps, or what is consumed.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from halflap.calls.redact.forms import bounded, in_parts
from halflap.calls.redact.names import is_secret_text, mentions_secret, secrecy, words

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from halflap.calls.redact.forms import Span

__all__ = ["find_assignments"]

_LONGEST_VALUE = 65_536
"""Characters that are searched for the end of a value."""
_SHORTEST_NUMBER = 4
_NAME = re.compile(
    r"(?<![\w.$-])(?:([\w.$-]{2,}+)\\*+[\"'`]?\]?[ \t]{0,8}(?:=>|:=|==|[:=])[ \t]{0,8}"
    r"|(-[\w.$-]{2,}+)[ \t]{1,8}(?=[^\s=:|<>-]))"
)
"""A name before a sign of assignment, or an option before its value."""
_QUOTE = re.compile(r"(\\*+)(\"\"\"|'''|[\"'`])")
_BEFORE_QUOTE = re.compile(r"(?:\s|\\++(?:\r?\n|[nrt](?![A-Za-z]))){0,64}+(?=[fbruFBRU]{0,2}\\*+[\"'`])")
_PART = re.compile(r"(\\*+[\"'`])|([(\[{])|([)\]}])|([,;]|(?<!\\)\n)|[^\\\"'`()\[\]{},;\n]++|[\s\S]")
"""What an expression is made of: quotes, brackets, and what ends it outside of brackets."""
_JOIN = re.compile(r"[ \t]{0,8}(?:\+|\|\||\?\?|\b(?:or|if|else)\b)")
_MORE = re.compile(rf"\(|{_JOIN.pattern}")
_BARE = re.compile(r"[^\s\"'`<>&]++")
_BARE_LINE = re.compile(r"[^\r\n\"'`<>]++")
_WHOLE_LINE = ("authorization", "cookie", "cookies", "mnemonic", "seed_phrase", "recovery_phrase")
_REFERENCE = re.compile(
    r"(?:(?:Bearer|Basic|Token) )?(?:\$\{?[A-Za-z_]\w*+(?::-[A-Za-z]{0,16})?\}?|\$\{\{.*|\{\{.*|\*+)\Z"
)
"""A variable, a template or asterisks instead of the secret."""
_NO_SECRETS = words(
    """
    null none nil undefined true false yes no required optional string str text bytes int integer number float bool
    boolean object array list dict any unknown empty missing expected invalid expired hidden redacted
    """
)
_ELEMENT = re.compile(r"<([\w:.-]{2,64}+)(?:\s[^<>]{0,200}+)?>([^<]{1,4096}+)</")
_RECEIVED = re.compile(
    r"(?<![\w.\[\]-])([\w.\[\]-]{2,200}+): expected [^\n]{1,300}?, received ([^\n]{1,4096}+)"
)
"""Our own message about an argument that does not fit."""
_PAIR = re.compile(
    r"(?:[(\[]\s{0,40}(\\*+[\"'])([^\"'\\\n,]{2,128}+)\1|(\\*+[\"'])(-[\w.$-]{1,64}+)\3)"
    r"\s{0,40},\s{0,40}(?=\\*+[\"'`])"
)
"""`("token", "…")`, `fill("#password", "…")`, `["--token", "…"]`."""
_NAMED_VALUE = re.compile(
    r"(?<![\w.$-])(?i:name|key|header|field|label|variable|option|element|selector|locator|placeholder|target)"
    r"(?:\\*+[\"'`])?\s{0,40}(?:=>|[:=])\s{0,40}(\\*+[\"'])([^\"'\\\n]{2,128}+)\1"
    r"[^{}<>]{0,200}?(?<![\w.$-])(?i:values?|text)(?:\\*+[\"'`])?\s{0,40}(?:=>|[:=])\s{0,40}(?=\\*+[\"'`])"
)
"""`{"name": "password", "value": "…"}`, `type(element="Password field", text="…")`."""


def find_assignments(text: str, bare: Callable[[int], bool] | None = None) -> Iterator[Span]:
    """Find the values of secret names; `bare` tells where a value may have no quotes (default: everywhere)."""
    if ":" in text or "=" in text or "--" in text:
        yield from bounded(_named(text, bare), len(text))
    if "</" in text:
        yield from (match.span(2) for match in in_parts(_ELEMENT, text) if secrecy(match[1]) != "no")
    if ", received " in text:
        for match in in_parts(_RECEIVED, text):
            if any(secrecy(name) != "no" for name in re.split(r"[.\[\]]", match[1])):
                yield match.span(2)
    if "," in text or "alue" in text.lower() or "text" in text.lower():
        yield from bounded(_beside(text), len(text))


def _named(text: str, bare: Callable[[int], bool] | None) -> Iterator[Span]:
    done = 0
    # Only the search for the end of an expression may read far in vain.
    room = 4 * len(text) + _LONGEST_VALUE
    for match in in_parts(_NAME, text):
        name, at = match[1] or match[2], match.end()
        kind = "no" if match.start() < done else secrecy(name)
        if kind == "no":
            continue
        spans: list[Span] = []
        lead = _BEFORE_QUOTE.match(text, at)
        is_bracket = text[at : at + 1] in {"[", "{", "("}
        word = _bare(text, at, name) if lead is None and (bare is None or bare(at)) else None
        if room > 0 and (word is None or is_bracket or _MORE.match(text, word[1])):
            spans, end = _expression(text, at if lead is None else lead.end())
            room -= abs(end) - at
            if is_bracket and text[at] != "(" and kind == "all" and end - at > len("[]"):
                spans = [(at, end)]
        if word is not None and not (spans and text[word[1] : word[1] + 1] == "("):
            spans = spans or [word] if is_bracket else [*spans, word]
        for span in spans:
            value = text[slice(*span)]
            if _REFERENCE.match(value) is None and is_secret_text(kind, value):
                done = max(done, span[1])
                yield span


def _bare(text: str, at: int, name: str) -> Span | None:
    """Return where a value without quotes lies: a word, or the line where a secret may have several."""
    match = (_BARE_LINE if name.lower().endswith(_WHOLE_LINE) else _BARE).match(text, at)
    word = "" if match is None else match[0].rstrip(",;)}].\\ (")
    is_small = word.isdigit() and len(word) < _SHORTEST_NUMBER
    is_word = any(character.isalnum() for character in word)
    if is_small or not is_word or word.lower().lstrip("-") in _NO_SECRETS:
        return None
    return at, at + len(word)


def _expression(text: str, at: int) -> tuple[list[Span], int]:
    """Return the quoted texts of an expression that are not themselves names of secrets, and where it ends.

    The end is negative if it was not found within bounds, or ends in the middle of a bracket.
    """
    spans: list[Span] = []
    depth, most = 0, at + _LONGEST_VALUE
    while at < min(len(text), most):
        part = _PART.match(text, at)
        assert part is not None
        at = part.end()
        if part[1]:
            span = _quoted(text, part.start())
            if span is None:
                continue
            if secrecy(text[slice(*span)]) == "no" or depth == 0:
                spans.append(span)
            quote = _QUOTE.match(text, part.start())
            at = span[1] + (0 if quote is None else len(quote[0]))
            if depth == 0 and _JOIN.match(text, at) is None:
                break
        elif part[2]:
            depth += 1
        elif part[3]:
            depth -= 1
            if depth <= 0 and (depth < 0 or _JOIN.match(text, at) is None):
                break
        elif part[4] and depth == 0:
            break
    return spans, at if depth <= 0 else -at


def _beside(text: str) -> Iterator[Span]:
    """Find values that follow the name of a secret in a list, or are called its value."""
    for match in in_parts(_PAIR, text):
        span = _quoted(text, match.end()) if secrecy(match[2] or match[4]) == "all" else None
        if span is not None:
            yield span
    for match in in_parts(_NAMED_VALUE, text):
        span = _quoted(text, match.end()) if mentions_secret(match[2]) else None
        if span is not None:
            yield span


def _quoted(text: str, at: int) -> Span | None:
    """Return where the quoted text that starts here lies, without its quotes; unclosed, it ends with the line."""
    quote = _QUOTE.match(text, at)
    if quote is None:
        return None
    start, mark = quote.end(), quote[0]
    end = text.find(mark, start)
    while end > start and text[end - 1] == "\\" and not quote[1]:
        end = text.find(mark, end + 1)
    if end < 0 or (len(mark) == 1 and end - start > _LONGEST_VALUE):
        line_end = text.find("\n", start)
        end = line_end if line_end >= 0 else len(text)
    return (start, end) if end > start else None
