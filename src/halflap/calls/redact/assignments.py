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

_LONGEST_CONTAINER = 65_536
_LONGEST_EXPRESSION = 300
_SHORTEST_NUMBER = 4
_QUOTED = r"[fbruFBRU]{0,2}(\\*+)(\"\"\"|'''|[\"'`])"
_QUOTE = re.compile(_QUOTED)
_NAME = re.compile(
    r"(?<![\w.$-])(?:([\w.$-]{2,}+)\\*+[\"'`]?\]?[ \t]{0,8}(?:=>|:=|==|[:=])[ \t]{0,8}"
    r"|(-[\w.$-]{2,}+)[ \t]{1,8}(?=[^\s=:|<>-]))"
)
_LEAD = re.compile(
    r"(?:[A-Za-z_][\w.]{0,64}+(?:\[[^\]\n]{0,64}+\])?(?:[ \t]{0,4}\|[ \t]{0,4}[\w.]{1,64}+){0,4}+[ \t]{0,8}=)?"
    rf"(?:[\s(]|\\++(?:\r?\n|[nrt](?![A-Za-z]))){{0,64}}+(?={_QUOTED})"
)
"""What may come between a name and its quoted value: a type annotation, brackets, line breaks."""
_MORE = re.compile(rf"\\*+[\"'`]{{1,3}}+\s{{0,64}}\+?\s{{0,64}}(?={_QUOTED})")
"""Between two strings that are joined."""
_OTHERWISE = re.compile(
    r"(?:\b(?:or|else)\b|\|\||\?\?|\b(?:getenv|get|pop|SecretStr)\((?:[ \t]{0,4}[\"'][^\"'\n]{0,99}+[\"'][ \t]{0,4},)?)"
    rf"[ \t(]{{0,8}}(?={_QUOTED})"
)
"""Before the literal that an expression falls back to, as in `getenv("TOKEN", "…")`."""
_BARE = re.compile(r"[^\s\"'`<>&]++")
_BARE_LINE = re.compile(r"[^\r\n\"'`<>]++")
_BLOCK = re.compile(r"[|>][+-]?[ \t]{0,8}\r?\n([ \t]{1,64}+)([^\n]++(?:\n\1[^\n]*+)*+)")
_BRACKET = re.compile(r"\"(?:[^\"\\]++|\\.)*+\"|'(?:[^'\\]++|\\.)*+'|[\[\]{}]", re.DOTALL)
_STRING = re.compile(r"(\\*+[\"'])([^\"'\\\n]{1,4096}+)\1")
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
    rf"\s{{0,40}},\s{{0,40}}(?={_QUOTED})"
)
"""`("token", "…")`, `fill("#password", "…")`, `["--token", "…"]`."""
_NAMED_VALUE = re.compile(
    r"(?<![\w.$-])(?i:name|key|header|field|label|variable|option|element|selector|locator|placeholder|target)"
    r"(?:\\*+[\"'`])?\s{0,40}(?:=>|[:=])\s{0,40}(\\*+[\"'])([^\"'\\\n]{2,128}+)\1"
    rf"[^{{}}<>]{{0,200}}?(?<![\w.$-])(?i:values?|text)(?:\\*+[\"'`])?\s{{0,40}}(?:=>|[:=])\s{{0,40}}(?={_QUOTED})"
)
"""`{"name": "password", "value": "…"}`, `type(element="Password field", text="…")`."""
_TUPLE = re.compile(
    r"^[ \t]{0,64}+([A-Za-z_]\w{0,64}+(?:[ \t]{0,4},[ \t]{0,4}[A-Za-z_]\w{0,64}+){1,8}+)[ \t]{0,4}=(?!=)([^\n]{1,4096}+)",
    re.MULTILINE,
)
"""`user, password = "ann", "…"`."""


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
    if "," in text and ('"' in text or "'" in text):
        yield from bounded(_pairs(text), len(text))
    if any(sign in text for sign in ("alue", "ALUE", "text", "Text", "TEXT")):
        yield from bounded(_named_values(text), len(text))


def _named(text: str, bare: Callable[[int], bool] | None) -> Iterator[Span]:
    done = 0
    # Only the search for a closing bracket may read far in vain.
    steps = 4 * len(text) + _LONGEST_CONTAINER
    for match in in_parts(_NAME, text):
        name, at = match[1] or match[2], match.end()
        kind = "no" if match.start() < done else secrecy(name)
        if kind == "no":
            continue
        container = None
        if text[at : at + 1] in {"[", "{"} and steps > 0:
            container = _container(text, at)
            steps -= _LONGEST_CONTAINER if container is None else container[1] - at
        if container is None:
            spans = _values(text, match, name, allow_bare=bare is None or bare(at))
        elif kind == "all":
            spans = iter([container])
        else:
            spans = (inside.span(2) for inside in _STRING.finditer(text, *container))
        for span in spans:
            value = text[slice(*span)]
            if _REFERENCE.match(value) is None and is_secret_text(kind, value):
                done = max(done, span[1])
                yield span


def _values(text: str, match: re.Match[str], name: str, *, allow_bare: bool) -> Iterator[Span]:
    """Find the value after a name, the strings joined to it, and what the expression falls back to."""
    at = match.end()
    block = _BLOCK.match(text, at) if allow_bare else None
    if block is not None:
        yield block.span(2)
        return
    lead = _LEAD.match(text, at)
    if lead is None and allow_bare:
        yield from _bare(text, at, name)
    while lead is not None:
        span = _quoted(text, lead.end())
        if span is None:
            break
        yield span
        is_joined = "(" in lead[0] or "+" in text[span[1] : span[1] + 16]
        lead = _MORE.match(text, span[1]) if is_joined else None
    if match[1] is not None:
        line_end = text.find("\n", at, at + _LONGEST_EXPRESSION)
        end = line_end if line_end >= 0 else at + _LONGEST_EXPRESSION
        for otherwise in _OTHERWISE.finditer(text, at, end):
            span = _quoted(text, otherwise.end())
            if span is not None and secrecy(text[slice(*span)]) == "no":
                yield span


def _bare(text: str, at: int, name: str) -> Iterator[Span]:
    lowered = name.lower()
    match = (_BARE_LINE if lowered.endswith(_WHOLE_LINE) else _BARE).match(text, at)
    word = "" if match is None else match[0].rstrip(",;)}].\\ ")
    is_small = word.isdigit() and len(word) < _SHORTEST_NUMBER
    is_word = any(character.isalnum() for character in word)
    if is_word and not is_small and word.lower().lstrip("-") not in _NO_SECRETS:
        yield at, at + len(word)


def _pairs(text: str) -> Iterator[Span]:
    for match in in_parts(_PAIR, text):
        if secrecy(match[2] or match[4]) == "all":
            span = _quoted(text, match.end())
            if span is not None:
                yield span
    for match in in_parts(_TUPLE, text):
        if any(secrecy(name.strip()) != "no" for name in match[1].split(",")):
            yield from (inside.span(2) for inside in _STRING.finditer(text, *match.span(2)))


def _named_values(text: str) -> Iterator[Span]:
    for match in in_parts(_NAMED_VALUE, text):
        if mentions_secret(match[2]):
            span = _quoted(text, match.end())
            if span is not None:
                yield span


def _quoted(text: str, at: int) -> Span | None:
    """Return where the quoted text that starts here lies, without its quotes; unclosed, it ends with the line."""
    quote = _QUOTE.match(text, at)
    if quote is None:
        return None
    start, mark = quote.end(), quote[1] + quote[2]
    end = text.find(mark, start)
    while end > start and text[end - 1] == "\\" and not quote[1]:
        end = text.find(mark, end + 1)
    if end < 0 or (len(mark) == 1 and end - start > _LONGEST_CONTAINER):
        line_end = text.find("\n", start)
        end = line_end if line_end >= 0 else len(text)
    return (start, end) if end > start else None


def _container(text: str, at: int) -> Span | None:
    depth = 0
    for match in _BRACKET.finditer(text, at, at + _LONGEST_CONTAINER):
        if match[0] in {"[", "{"}:
            depth += 1
        elif match[0] in {"]", "}"}:
            depth -= 1
            if depth == 0:
                return (at, match.end()) if match.end() - at > len("[]") else None
    return None
