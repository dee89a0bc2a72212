"""Find secrets in text and code: by the names they are assigned to, and by their forms."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from halflap.calls.redact.table import (
    FORMS,
    PREFIXES,
    WORDLIKE_PREFIXES,
    Sensitivity,
    is_random,
    is_token,
    sensitivity,
    words,
)
from halflap.core.text import REDACTED as MARK

__all__ = ["MARK", "OVERLAP", "Span", "find_in_code", "find_secrets", "is_secret_text"]

Span = tuple[int, int]

_PART, OVERLAP = 1 << 16, 1 << 14
"""A search blocks all threads, so texts are searched in parts. A secret longer than the overlap may be missed."""


def find_secrets(text: str) -> Iterator[Span]:
    """Find what looks like a secret in a text; spans may overlap."""
    if any(sign in text for sign in (":", "=", ">", "--")):
        yield from _find_named(text)
    if '"' in text or "'" in text:
        yield from _find_pairs(text)
    if len(text) >= _SHORTEST_FORM and not _DATA.match(text):
        yield from _find_forms(text)


def find_in_code(code: str) -> Iterator[Span]:
    """Find what looks like a secret in the literals and comments of a program."""
    literals = _LITERAL.sub(lambda literal: "x" * len(literal[0]), code.replace("x", " "))
    yield from _find_named(code, literals)
    yield from _find_pairs(code)
    yield from _find_forms(code)


def is_secret_text(kind: Sensitivity, text: str) -> bool:
    """Return whether a text is secret under a name of this kind."""
    if kind == "maybe":
        return text[:1] not in {"/", "~", "."} and " " not in text and is_random(text)
    return kind == "secret" and text.strip("*") != "" and text.lower() not in _PLACEHOLDERS


# Forms


_START = r"(?:\b|(?<=\\[nrt])|(?<=%[0-9A-Fa-f]{2}))"
"""Not inside a word; the `n` of an escaped line break and a percent-encoded character end a word as well."""


def _tokens(prefixes: Iterable[str]) -> re.Pattern[str]:
    """Match a prefix and what follows; grouping them by their first letter makes the search several times faster."""
    by_letter: dict[str, list[str]] = {}
    for prefix in prefixes:
        by_letter.setdefault(prefix[0], []).append(re.escape(prefix[1:]))
    letters = (f"{letter}(?:{'|'.join(rests)})" for letter, rests in by_letter.items())
    return re.compile(rf"{_START}({'|'.join(letters)})([\w+/=.~%$-]{{12,}}+)", re.ASCII)


_WORDLIKE = words(" ".join(WORDLIKE_PREFIXES.values()))
_TOKENS = _tokens(sorted(_WORDLIKE | words(" ".join(PREFIXES.values())), reverse=True))
_FORMS = [(form, form.signs.split(), re.compile(form.pattern, re.ASCII)) for form in FORMS]
_SHORTEST_FORM = 12
_DATA = re.compile(r"(?:data:[\w/+.-]{1,80};base64,)?[A-Za-z0-9+/\r\n]{2000,}+=*\Z")
"""A file in base64: longer than any token, and in a megabyte everything occurs by chance."""


def _find_forms(text: str) -> Iterator[Span]:
    for match in _in_parts(_TOKENS, text):
        if match[1] not in _WORDLIKE or is_token(match[2]):
            yield match.span()
    for form, signs, pattern in _FORMS:
        if any(sign in text for sign in signs):
            for match in _in_parts(pattern, text):
                if form.accept is None or form.accept(match[pattern.groups]):
                    yield match.span(pattern.groups)


def _in_parts(pattern: re.Pattern[str], text: str) -> Iterator[re.Match[str]]:
    for start in range(0, len(text), _PART):
        for match in pattern.finditer(text, start, start + _PART + OVERLAP):
            if match.start() >= start + _PART:
                break
            yield match


# Names and their values

_NAME = re.compile(
    r"(?<![\w.$-])(?:([\w.$-]{2,}+)(\\*+[\"'`])?[\[\]\d]{0,20}[ \t]{0,8}(?:=>|:=|==|[:=>])"
    r"(?: (?:str|bytes)(?: \| None)? =| expected [^\n]{1,300}?, received )?"
    r"|(-[\w.-]{2,}+)[ \t]{1,8}(?=[^\s=:|<>-]))"
)
"""`password=`, `"token":`, `--api-key `, `<secret>`, `key: str =`, and our own `key: expected integer, received `."""
_PAIRS = (
    re.compile(
        r"(?<![\w.$-])(?i:name|key|header|field|label|element|selector|placeholder|target)(?:\\*+[\"'])?\s{0,8}[:=]\s{0,8}"
        r"(\\*+[\"'])([^\"'\\\n]{2,128}+)\1[^{}<>]{0,200}?(?<![\w.$-])(?i:value|text)(?:\\*+[\"'])?\s{0,8}[:=](?=\s{0,8}\\*+[\"'])"
    ),
    re.compile(
        r"(?:\(\s{0,8}|(?<!\\)(?=\\{0,8}[\"']--))(\\{0,8}[\"'])([^\"'\\\n]{2,128}+)\1\s{0,8},(?=\s{0,8}\\{0,8}[\"'])"
    ),
)
"""`{"name": "password", "value": `, `type(element="Password field", text=`; `fill("#password", `, `"--token", `."""
_QUOTED = re.compile(
    r"(?:\s|\\\n){0,40}+(?:\(\s{0,40}+)?[bfruBFRU]{0,2}(?:(\\++[\"'])((?:(?!\1)[^\n])*+)"
    r"|(\"\"\"|''')((?:(?!\3)[\s\S])*+)|([\"'`])((?:\\.|(?!\5)[^\n\\])*+))"
)
"""A quoted value; one that is not closed ends with its line."""
_BARE = re.compile(r"[ \t]{0,8}([^\s\"'`<>&]++)")
_LINE = re.compile(r"[ \t]{0,8}([^\r\n\"'`<>]++)")
_LINE_NAMES = ("authorization", "cookie", "cookies", "mnemonic", "phrase")
"""Values with several words."""
_REFERENCE = re.compile(
    r"\[redacted|(?:(?:Bearer|Basic|Token) )?(?:\$\{?[A-Za-z_]\w*+(?::-[A-Za-z]{0,16})?\}?|\$?\{\{.*)\Z"
)
"""A variable or a template instead of the secret."""
_PLACEHOLDERS = words(
    f"""
    null none nil undefined true false yes no required optional string str text bytes int integer number float bool
    boolean object array list dict any unknown empty missing expected invalid expired hidden redacted {MARK}
    """
)
"""Words that stand where a secret could: the types of a schema, flags, and what messages say about a secret."""
_SHORTEST_NUMBER = 4
_LITERAL = re.compile(
    r"#[^\n]*+|\"\"\"(?:[^\"\\]++|\\.|\"(?!\"\"))*+(?:\"\"\")?|\'\'\'(?:[^\'\\]++|\\.|\'(?!\'\'))*+(?:\'\'\')?"
    r"|\"(?:[^\"\\\n]++|\\.)*+\"?|\'(?:[^\'\\\n]++|\\.)*+\'?",
    re.DOTALL,
)
"""The string literals and comments of a program, found without parsing it: it may not be one."""


def _find_named(text: str, literals: str | None = None) -> Iterator[Span]:
    """Find the values of secret names; those without quotes only where `literals`, if given, has an `x`."""
    end = 0
    for match in _in_parts(_NAME, text):
        name, at = match[1] or match[3], match.end()
        kind = "no" if match.start() < end else sensitivity(name)
        before = text[match.start() - 1 : match.start()]
        if kind == "no" or (text[at - 1] == ">" and before != "<"):
            continue
        found = _QUOTED.match(text, at)
        # In `print("token:", token)` the quote ends a literal.
        if found is not None and not match[2] and before and before in {found[1], found[3], found[5]}:
            continue
        value = "" if found is None else found[found.lastindex or 0]
        if found is None and (literals is None or literals[at - 1] == "x"):
            found = (_LINE if name.lower().endswith(_LINE_NAMES) else _BARE).match(text, at)
            value = "" if found is None else found[1].rstrip(",;)}].\\ (")
            is_short_number = value.isdigit() and len(value) < _SHORTEST_NUMBER
            is_option = value.lstrip("-").lower() in _PLACEHOLDERS
            if is_short_number or is_option or not any(map(str.isalnum, value)):
                continue
        if found is not None and not _REFERENCE.match(value) and is_secret_text(kind, value):
            start = found.start(found.lastindex or 0)
            end = start + len(value)
            yield start, end


def _find_pairs(text: str) -> Iterator[Span]:
    for match in (match for pattern in _PAIRS for match in _in_parts(pattern, text)):
        found = _QUOTED.match(text, match.end()) if sensitivity(match[2]) == "secret" else None
        if found is not None and found[found.lastindex or 0]:
            yield found.span(found.lastindex or 0)
