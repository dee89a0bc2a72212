"""Where in a text there is something secret that is known by the name before it.

Every search is anchored at a name, and takes a bounded number of steps from there: no text, however made, takes
more than a time in proportion to its length.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from halflap.calls.secret_names import looks_secret, secrecy, words
from halflap.calls.spans import bounded, in_parts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from halflap.calls.secret_names import Secrecy
    from halflap.calls.spans import Span

__all__ = ["find_named", "may_hold_named", "value_at"]

_LONGEST_CONTAINER = 65_536
_MOST_LOOKED_AT = 50_000
_NAME = re.compile(
    r"(?<![\w.$-])(?:([\w.$-]{2,}+)\\*+[\"'`]?\]?[ \t]{0,8}(?:=>|:=|==|[:=])[ \t]{0,8}"
    r"|(-[\w.$-]{2,}+)[ \t]{1,8}(?=[^\s=:|<>-]))"
)
_QUOTE = re.compile(r"[fbruFBRU]{0,2}(\\*+)(\"\"\"|'''|[\"'`])")
_INSIDE = {quote: re.compile(rf"(?:[^{quote}\\]++|\\.)*+", re.DOTALL) for quote in ('"', "'", "`")}
_BARE = re.compile(r"[^\s\"'`<>&]++")
_BARE_LINE = re.compile(r"[^\r\n\"'`<>]++")
_LINE = re.compile(r"[^\r\n]*+")
_BRACKET = re.compile(r"\"(?:[^\"\\]++|\\.)*+\"|'(?:[^'\\]++|\\.)*+'|[\[\]{}]", re.DOTALL)
_REFERENCE = re.compile(r"\$\{?[A-Za-z_][A-Za-z0-9_]*+\}?\Z|\$\{\{.*|\{\{.*|\*+\Z")
_VARIABLE = re.compile(r"(?:(?:Bearer|Basic|Token) )?\$\{[A-Za-z_][A-Za-z0-9_]*+(?::-([A-Za-z]{0,16}))?\}?\Z")
"""A variable as configuration has it; what stands for it if it is not set may be a secret."""
_NO_SECRETS = words(
    """
    null none nil undefined true false yes no required optional string str text bytes int integer number
    float bool boolean object array list dict any unknown empty missing expected invalid expired hidden redacted
    """
)
_ELEMENT = re.compile(r"<([\w:.-]{2,64}+)(?:\s[^<>]{0,200}+)?>([^<]{1,4096}+)</")
_RECEIVED = re.compile(
    r"(?<![\w.\[\]-])([\w.\[\]-]{2,200}+): expected [^\n]{1,300}?, received ([^\n]{1,4096}+)"
)
"""As we tell ourselves of an argument that does not fit: where, what was expected, what came."""
_SHORTEST_IN_TEXT = 8
_STRING = re.compile(r"(\\*+[\"'])([^\"'\\\n]{1,4096}+)(?=\1)")
_SPACE = r"(?:\s|\\++(?:\r?\n|[nrt](?![A-Za-z])))"
_LEAD = re.compile(rf"(?:{_SPACE}|\(){{0,64}}+(?=[fbruFBRU]{{0,2}}\\*+[\"'`])")
_TYPED = re.compile(
    r"[A-Za-z_][\w.]{0,64}+(?:\[[^\]\n]{0,64}+\])?(?:[ \t]{0,4}\|[ \t]{0,4}[\w.]{1,64}+){0,4}+"
    rf"[ \t]{{0,8}}=(?:{_SPACE}|\(){{0,64}}+(?=[fbruFBRU]{{0,2}}\\*+[\"'`])"
)
"""The type of a variable, between its name and its value."""
_CHOICE = re.compile(
    r"(?:\b(?:or|else)\b|\|\||\?\?|\?:?|\b(?:SecretStr|SecretBytes|Secret|str|bytes|b64decode|fromhex)\("
    r"|(?:getenv|get|pop|setdefault|env|getattr)\([^\"'(),\n]{0,64}+,?[ \t]{0,4}(?:\"[^\"\n]{0,99}+\"|'[^'\n]{0,99}+'"
    r"|(?<=,)|(?<=, )),?[ \t]{0,4}(?:default[ \t]{0,4}=[ \t]{0,4})?)[ \t(]{0,8}(?=[fbruFBRU]{0,2}\\*+[\"'`])"
)
"""Behind these, in an expression, stands what a secret is otherwise, or what it is made of."""
_LONGEST_EXPRESSION = 300
_MOST_JOINED = 64
_GAP = re.compile(r"[ \t]{0,8}\+?[ \t]{0,8}(?=[fbruFBRU]{0,2}\\*+[\"'`])")
_GAP_LINES = re.compile(r"\s{0,64}\+?\s{0,64}(?=[fbruFBRU]{0,2}\\*+[\"'`])")
_BLOCK = re.compile(
    r"[|>][+-]?[0-9]?[+-]?[ \t]{0,8}\r?\n([ \t]{1,64}+)[^\n]*+(?:\n(?:\1[^\n]*+|[ \t\r]*+(?=\n)))*+"
)
_BLOCK_SIGN = re.compile(r"[|>][+-]?[0-9]?[+-]?[ \t]{0,8}(?:\r?\n|\Z)")
_INDENT = re.compile(r"[ \t]*+")
_LONGEST_INDENT = 300
_SHORTEST_NUMBER = 4


def may_hold_named(text: str) -> bool:
    """Say whether anything in a text can be the value of a name."""
    return ":" in text or "=" in text or "--" in text or "</" in text


def find_named(text: str, bare: Callable[[int], bool] | None = None) -> Iterator[Span]:
    """Find what stands behind a secret's name: `password=…`, `"token": "…"`, `--api-key …`, `<secret>…`.

    `bare` says where a value may stand without quotes; None is everywhere.
    """
    if not may_hold_named(text):
        return
    yield from bounded(_named(text, bare), len(text))
    if "</" in text:
        yield from (match.span(2) for match in in_parts(_ELEMENT, text) if secrecy(match[1]) != "no")
    if ", received " in text:
        for match in in_parts(_RECEIVED, text):
            if any(secrecy(name) != "no" for name in re.split(r"[.\[\]]", match[1])):
                yield match.span(2)


def _named(text: str, bare: Callable[[int], bool] | None) -> Iterator[Span]:
    done = 0
    # Looking for the end of a bracket is the only search that may be in vain for long.
    steps = 4 * len(text) + _LONGEST_CONTAINER
    looked_at = 0
    for match in in_parts(_NAME, text):
        name, at = match[1] or match[2], match.end()
        kind = "no" if match.start() < done else secrecy(name)
        if kind == "no":
            continue
        looked_at += 1
        if looked_at > _MOST_LOOKED_AT:
            yield match.start(), len(text)
            return
        allow_bare = bare is None or bare(at)
        container = None
        if text[at : at + 1] in {"[", "{"} and steps > 0:
            container = _container(text, at)
            steps -= _LONGEST_CONTAINER if container is None else container[1] - at
        if container is not None and kind == "random":
            done = container[1]
            for inside in _STRING.finditer(text, *container):
                if looks_secret(kind, inside[2]):
                    yield inside.span(2)
            continue
        spans = [container] if container is not None else _values(text, match, name, allow_bare=allow_bare)
        for span in spans:
            if _is_secret(kind, name, text[slice(*span)]):
                done = max(done, span[1])
                yield span


def _is_variable(value: str) -> bool:
    found = _VARIABLE.match(value)
    return found is not None and (not found[1] or found[1].lower() in _NO_SECRETS)


def _is_secret(kind: Secrecy, name: str, value: str) -> bool:
    if _is_variable(value):
        return False
    if kind != "text":
        return looks_secret(kind, value)
    if name.lower().endswith("pass"):
        return len(value) >= _SHORTEST_IN_TEXT or looks_secret("random", value)
    return len(value) >= _SHORTEST_IN_TEXT


def _values(text: str, match: re.Match[str], name: str, *, allow_bare: bool) -> Iterator[Span]:
    """Find the value behind a name, and what else an expression there may come to."""
    at = match.end()
    if allow_bare and _BLOCK_SIGN.match(text, at) is not None:
        block = _block(text, match.start(), at)
        if block is not None:
            yield block
        return
    # A quote may come later: `= ("…")`, `: str = "…"`, or on the next line.
    lead = _LEAD.match(text, at)
    if lead is not None:
        yield from _joined(text, lead.end(), several_lines="(" in lead[0])
    else:
        span = value_at(text, at, name, allow_bare=allow_bare)
        if span is not None:
            yield span
        typed = _TYPED.match(text, at)
        if typed is not None:
            yield from _joined(text, typed.end(), several_lines="(" in typed[0])
    if match[1] is not None:
        line_end = text.find("\n", at, at + _LONGEST_EXPRESSION)
        end = line_end if line_end >= 0 else at + _LONGEST_EXPRESSION
        for choice in _CHOICE.finditer(text, at, end):
            span = value_at(text, choice.end(), name, allow_bare=False)
            if span is not None:
                yield span


def _joined(text: str, at: int, *, several_lines: bool) -> Iterator[Span]:
    """Find a text in quotes, and those that are joined to it."""
    for _ in range(_MOST_JOINED):
        quote = _QUOTE.match(text, at)
        if quote is None:
            return
        span = _quoted(text, quote)
        end = quote.end() if span is None else span[1]
        if span is not None:
            yield span
        mark = quote[1] + quote[2]
        if not text.startswith(mark, end):
            return
        gap = (_GAP_LINES if several_lines else _GAP).match(text, end + len(mark))
        if gap is None:
            return
        at = gap.end()


def _block(text: str, start: int, at: int) -> Span | None:
    """Find a block of lines as YAML has it: all that stand deeper than the name."""
    match = _BLOCK.match(text, at)
    if match is None:
        return None
    line = text.rfind("\n", max(0, start - _LONGEST_INDENT), start) + 1
    depth = _INDENT.match(text, line, start)
    deeper = depth is None or len(match[1]) > len(depth[0])
    return (match.end(1), match.end()) if deeper and match.end() > match.end(1) else None


def value_at(text: str, at: int, name: str, *, allow_bare: bool) -> Span | None:
    """Say from where to where the value goes that begins here, without its quotes."""
    quote = _QUOTE.match(text, at)
    if quote is not None:
        return _quoted(text, quote)
    if not allow_bare:
        return None
    whole_line = name.lower().endswith(("authorization", "cookie", "cookies", "mnemonic", "phrase"))
    whole_line = whole_line and not name.lower().endswith("passphrase")
    match = (_BARE_LINE if whole_line else _BARE).match(text, at)
    if match is None:
        return None
    word = match[0].rstrip(",;)}].\\ ")
    # What stands for a variable that is not set comes behind `:-`.
    told = word.lower().lstrip("-")
    if not told or told in _NO_SECRETS or _REFERENCE.match(word) is not None:
        return None
    if word.isdigit() and len(word) < _SHORTEST_NUMBER:
        return None
    return at, at + len(word)


def _quoted(text: str, quote: re.Match[str]) -> Span | None:
    start = quote.end()
    mark = quote[1] + quote[2]
    if len(mark) == 1:
        inside = _INSIDE[mark].match(text, start)
        end = start if inside is None else inside.end()
        closed = text.startswith(mark, end)
    else:
        # In quotes that are escaped, or threefold: up to the next that are written alike.
        end = text.find(mark, start)
        while end > start and text[end - 1] == "\\":
            end = text.find(mark, end + 1)
        closed = end >= 0
    if not closed:
        line = _LINE.match(text, start)
        end = start if line is None else line.end()
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
