"""Where in a text there is something secret that is known by its form.

Every search is anchored at a fixed text, and takes a bounded number of steps from there: no text, however made,
takes more than a time in proportion to its length.
"""

from __future__ import annotations

import base64
import binascii
import re
from typing import TYPE_CHECKING

from halflap.calls.secret_commands import COMMANDS, find_in_commands
from halflap.calls.secret_names import looks_secret
from halflap.calls.spans import bounded, in_parts

if TYPE_CHECKING:
    from collections.abc import Iterator

    from halflap.calls.spans import Span

__all__ = ["find_forms", "may_hold_form"]

_LONGEST_KEY = 65_536
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
    (("dapi",), r"dapi[a-f0-9]{32,}+(?:-[0-9]++)?"),
    (("r8_",), r"(?<![A-Za-z0-9])r8_[A-Za-z0-9]{32,}+"),
    (("sntrys_", "sntryu_"), r"sntry[su]_[\w+/=-]{20,}+"),
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
_SCHEME = re.compile(r"(?i)\b(?:(bearer)|(basic))[ \t]{1,4}([A-Za-z0-9._~+/-]{6,}+=*+)")
_SURELY_RANDOM = 24
_SIGN = re.compile(
    "|".join(
        re.escape(sign)
        for sign in (
            *(anchor for anchors, _ in _FORMS for anchor in anchors),
            *_AWS_ANCHORS,
            *("eyJ", "-----BEGIN", "earer", "EARER", "asic", "ASIC", *COMMANDS),
        )
    )
    + r"|[0-9]{6}:[\w-]{35}|[?&;](?i:sig|x-amz-s|x-goog-s)"
)
_SHORT = 2_000


def may_hold_form(text: str) -> bool:
    """Say whether it is worth while to look for a known form; of a long text, always."""
    return len(text) > _SHORT or _SIGN.search(text) is not None or _may_hold_user(text)


def _may_hold_user(text: str) -> bool:
    return "@" in text and "://" in text


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
    yield from find_in_commands(text)
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


def _places(text: str, anchor: str) -> Iterator[int]:
    at = text.find(anchor)
    while at >= 0:
        yield at
        at = text.find(anchor, at + 1)


def _anchored(text: str, anchor: str, form: re.Pattern[str]) -> Iterator[Span]:
    done = 0
    for at in _places(text, anchor):
        if at >= done:
            match = form.match(text, at)
            if match is not None:
                done = match.end()
                yield match.span()


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
