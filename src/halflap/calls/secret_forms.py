"""Where in a text there is something secret that is known by its form or by the name before it.

Every search is anchored at a fixed text or at a name, and takes a bounded number of steps from there: no text,
however made, takes more than a time in proportion to its length. Long texts are looked at in parts, since a
regular expression holds up all other threads while it runs.
"""

from __future__ import annotations

import base64
import binascii
import re
from typing import TYPE_CHECKING

from halflap.calls.secret_names import looks_secret, secrecy, words

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from halflap.calls.secret_names import Secrecy

__all__ = [
    "Span",
    "bounded",
    "find_forms",
    "find_named",
    "in_parts",
    "may_hold_form",
    "may_hold_named",
    "value_at",
]

Span = tuple[int, int]

_PART = 65_536
_OVERLAP = 1_024
_LONGEST_CONTAINER = 65_536
_LONGEST_KEY = 65_536
_MOST_FOUND = 10_000
"""Where a text holds more secrets than these, all of the rest is taken out: looking at each takes too long."""
_MOST_LOOKED_AT = 50_000

_FORMS: tuple[tuple[tuple[str, ...], str], ...] = (
    (("ghp_", "gho_", "ghu_", "ghs_", "ghr_"), r"gh[pousr]_[A-Za-z0-9]{16,}+"),
    (("github_pat_",), r"github_pat_\w{16,}+"),
    (("glpat-", "gldt-", "glrt-", "glcbt-", "glptt-", "glsoat-"), r"gl[a-z]{2,4}-[\w.-]{16,}+"),
    (("xox", "xapp-"), r"x(?:ox[a-z]|app)-[A-Za-z0-9-]{8,}+"),
    (("hooks.slack.com/services/",), r"hooks\.slack\.com/services/[\w/]{8,}+"),
    (("sk-",), r"(?<![A-Za-z])sk-[\w-]{16,}+"),
    (("AIza",), r"AIza[\w-]{30,}+"),
    (("ya29.",), r"ya29\.[\w.-]{16,}+"),
    (("GOCSPX-",), r"GOCSPX-[\w-]{16,}+"),
    (("sk_live_", "rk_live_", "sk_test_", "rk_test_"), r"[sr]k_(?:live|test)_[A-Za-z0-9]{8,}+"),
    (("whsec_",), r"whsec_[A-Za-z0-9+/=]{16,}+"),
    (("npm_",), r"npm_[A-Za-z0-9]{30,}+"),
    (("pypi-Ag",), r"pypi-Ag[\w-]{16,}+"),
    (("hf_",), r"hf_[A-Za-z]{30,}+"),
    (("SG.",), r"SG\.[\w-]{16,}+\.[\w-]{16,}+"),
    (("dop_v1_", "doo_v1_"), r"do[op]_v1_[a-f0-9]{32,}+"),
    (("shpat_", "shpss_", "shpca_", "shppa_"), r"shp[a-z]{2}_[A-Fa-f0-9]{32,}+"),
    (("hvs.", "hvb."), r"hv[sb]\.[\w-]{20,}+"),
    (("lin_api_",), r"lin_api_[A-Za-z0-9]{16,}+"),
    (("ntn_",), r"ntn_[A-Za-z0-9]{30,}+"),
    (("glsa_",), r"glsa_\w{20,}+"),
    (("sbp_",), r"sbp_[a-f0-9]{32,}+"),
    (("gsk_",), r"gsk_[A-Za-z0-9]{32,}+"),
    (("xai-",), r"xai-[A-Za-z0-9]{32,}+"),
    (("dckr_pat_",), r"dckr_pat_[\w-]{16,}+"),
    (("ATATT3",), r"ATATT3[\w=-]{32,}+"),
    (("figd_",), r"figd_[\w-]{20,}+"),
    (("PMAK-",), r"PMAK-[a-f0-9-]{32,}+"),
    (("AGE-SECRET-KEY-",), r"AGE-SECRET-KEY-[A-Z0-9]{16,}+"),
    (
        ("discord.com/api/", "discordapp.com/api/"),
        r"discord(?:app)?\.com/api/(?:v\d+/)?webhooks/\d+/[\w-]{8,}+",
    ),
)
_KNOWN = tuple((anchors, re.compile(form)) for anchors, form in _FORMS)

_JWT = re.compile(r"eyJ[\w-]{6,}+(\.[\w-]{6,}+(?:\.[\w-]*+){0,3})?")

_AWS_ANCHORS = ("AKIA", "ASIA", "ABIA", "ACCA")
_AWS_KEY = re.compile(r"A(?:KIA|SIA|BIA|CCA)[A-Z0-9]{16}")
_AWS_SECRET = re.compile(r"(?<![A-Za-z0-9/+=])[A-Za-z0-9/+]{40}(?![A-Za-z0-9/+=])")
_AWS_NEAR = 300
_AWS_LENGTH = 40

_PEM_BEGIN = re.compile(r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----")
_PEM_END = re.compile(r"-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----")
_PEM_BODY = re.compile(r"[A-Za-z0-9+/=\s\\:,.-]*+")

_USER_INFO = re.compile(r"://[^\s/?#@:\"'<>]{0,256}+:([^\s/?#\"'<>]{1,512})@")

_ONLY_USER = re.compile(r"://([\w~%+=-]{16,512}+)@")
_SIGNED = re.compile(
    r"(?i)(?<=[?&;])(?:sig|signature|x-amz-signature|x-amz-security-token|x-goog-signature)=([\w%+/=.~-]{8,}+)"
)
_TELEGRAM = re.compile(r"(?<![0-9])[0-9]{6,12}:[\w-]{35}(?![\w-])")
_CURL_USER = re.compile(
    r"(?<![\w-])(?:-[a-zA-Z]{0,4}[uU]|--(?:proxy-)?user)(?:[\s=\"',]{1,8}|(?=\w))[^\s:\"']{0,128}+:([^\s\"']{1,512}+)"
)
_CURL_LENGTH = 2_000
_CURL_OVERLAP = 700
_SCHEME = re.compile(r"(?i)\b(?:(bearer)|(basic))[ \t]{1,4}([A-Za-z0-9._~+/-]{6,}+=*+)")
_SURELY_RANDOM = 24

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
_NO_SECRETS = words(
    """
    null none nil undefined true false yes no required optional string str text bytes int integer number
    float bool boolean object array list dict any unknown empty missing expected invalid expired hidden redacted
    """
)
_SIGN = re.compile(
    "|".join(
        re.escape(sign)
        for sign in (
            *(anchor for anchors, _ in _FORMS for anchor in anchors),
            *_AWS_ANCHORS,
            *("eyJ", "-----BEGIN", "earer", "EARER", "asic", "ASIC", "curl"),
        )
    )
    + r"|[0-9]{6}:[\w-]{35}|[?&;](?i:sig|x-amz-s|x-goog-s)"
)
_SHORT = 2_000
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


def may_hold_form(text: str) -> bool:
    """Say whether it is worth while to look for a known form; of a long text, always."""
    return len(text) > _SHORT or _SIGN.search(text) is not None or _may_hold_user(text)


def _may_hold_user(text: str) -> bool:
    return "@" in text and "://" in text


def may_hold_named(text: str) -> bool:
    """Say whether anything in a text can be the value of a name."""
    return ":" in text or "=" in text or "--" in text or "</" in text


def find_forms(text: str) -> Iterator[Span]:
    """Find what is a secret whatever stands around it."""
    if not may_hold_form(text):
        return
    for anchors, form in _KNOWN:
        for anchor in anchors:
            yield from bounded(_anchored(text, anchor, form), len(text))
    yield from bounded(_jwts(text), len(text))
    yield from _aws(text)
    yield from _private_keys(text)
    if _may_hold_user(text):
        yield from bounded(_users(text), len(text))
    if "curl" in text:
        yield from _curl_users(text)
    if "=" in text:
        yield from bounded((match.span(1) for match in in_parts(_SIGNED, text)), len(text))
    if ":" in text:
        yield from bounded((match.span() for match in in_parts(_TELEGRAM, text)), len(text))
    if any(sign in text for sign in ("earer", "EARER", "asic", "ASIC")):
        yield from bounded(_schemes(text), len(text))


def _users(text: str) -> Iterator[Span]:
    """Find passwords in addresses, and what stands there alone and is no name."""
    for at in _places(text, "://"):
        match = _USER_INFO.match(text, at) or _ONLY_USER.match(text, at)
        if match is not None and (match.re is _USER_INFO or looks_secret("random", match[1])):
            yield match.span(1)


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


def _is_secret(kind: Secrecy, name: str, value: str) -> bool:
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


def in_parts(pattern: re.Pattern[str], text: str) -> Iterator[re.Match[str]]:
    """Find all matches, part by part; each may be a thousand characters long."""
    for start in range(0, len(text), _PART):
        for match in pattern.finditer(text, start, start + _PART + _OVERLAP):
            if match.start() >= start + _PART:
                break
            yield match


def _places(text: str, anchor: str) -> Iterator[int]:
    at = text.find(anchor)
    while at >= 0:
        yield at
        at = text.find(anchor, at + 1)


def bounded(spans: Iterator[Span], end: int) -> Iterator[Span]:
    """Give the first of the spans, and then, if there are far too many, all of the rest as one."""
    for number, span in enumerate(spans):
        if number == _MOST_FOUND:
            yield span[0], end
            return
        yield span


def _anchored(text: str, anchor: str, form: re.Pattern[str]) -> Iterator[Span]:
    done = 0
    for at in _places(text, anchor):
        if at >= done:
            match = form.match(text, at)
            if match is not None:
                done = match.end()
                yield match.span()


def _curl_users(text: str) -> Iterator[Span]:
    done = 0
    for at in _places(text, "curl"):
        # What begins soon behind the last one was looked at with it, and some way on.
        if at >= done:
            done = at + _CURL_LENGTH - _CURL_OVERLAP
            yield from (match.span(1) for match in _CURL_USER.finditer(text, at, at + _CURL_LENGTH))


def _jwts(text: str) -> Iterator[Span]:
    done = 0
    for at in _places(text, "eyJ"):
        match = _JWT.match(text, at) if at >= done else None
        if match is not None:
            # Where one does not end as it should, none that begins within it does.
            done = match.end()
            if match[1] is not None:
                yield match.span()


def _aws(text: str) -> Iterator[Span]:
    """Find the identifiers of keys, and what may be the key of one next to it."""
    keys = sorted(
        match.span()
        for anchor in _AWS_ANCHORS
        for at in _places(text, anchor)
        if (match := _AWS_KEY.match(text, at)) is not None
    )
    yield from keys
    looked_at = 0
    for start, end in keys:
        since = max(looked_at, start - _AWS_NEAR)
        looked_at = end + _AWS_NEAR
        # From where the last one may have begun.
        for found in _AWS_SECRET.finditer(text, max(0, since - _AWS_LENGTH), looked_at):
            yield found.span()


def _private_keys(text: str) -> Iterator[Span]:
    done = 0
    for at in _places(text, "-----BEGIN "):
        begin = _PEM_BEGIN.match(text, at) if at >= done else None
        if begin is not None:
            end = _PEM_END.search(text, begin.end(), begin.end() + _LONGEST_KEY)
            # A key that was cut off has no end; then everything that could be part of it goes.
            body = _PEM_BODY.match(text, begin.end())
            done = end.end() if end is not None else body.end() if body is not None else begin.end()
            yield at, done


def _schemes(text: str) -> Iterator[Span]:
    for match in in_parts(_SCHEME, text):
        word = match[3]
        if match[2] is not None:
            if _is_user_and_password(word):
                yield match.span(3)
        elif len(word) >= _SURELY_RANDOM or any(character.isdigit() for character in word):
            yield match.span(3)


def _is_user_and_password(word: str) -> bool:
    """Tell `Basic dXNlcjpwYXNz` from `basic understanding`."""
    try:
        return b":" in base64.b64decode(word + "=" * (-len(word) % 4), validate=True)
    except (binascii.Error, ValueError):
        return False


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
    if not word or word.lower() in _NO_SECRETS or _REFERENCE.match(word) is not None:
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
