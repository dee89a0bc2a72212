"""Removes secrets from JSON values, texts and programs."""

from __future__ import annotations

import base64
import html
import json
import math
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any
from urllib.parse import quote, quote_plus

from halflap.calls.redact.scan import MARK, OVERLAP, Span, find_in_code, find_secrets, is_secret_text
from halflap.calls.redact.table import Sensitivity, sensitivity, words

__all__ = ["Redactor"]

_CUT = " [cut]"
_REPLACED_SECONDS = 3_600.0
"""How long a replaced token is still redacted: calls that were sent with it may return it later."""
_SHORTEST_ENCODED = 8
"""Shorter secrets are not looked for in base64 and hexadecimal digits: these would occur by chance."""
_MAX_DEPTH = 100
_MAX_JSON_LEVELS = 4
"""Levels of JSON texts within JSON texts that are read; the record of a call is the first."""
_LARGE_NUMBER = 1_000
"""Smaller numbers under a secret name are kept: they are counts more often than secrets."""
_NAME_KEYS = words("name key header field label id variable option element selector placeholder target")
_VALUE_KEYS = words("value values text")
_SHORT_KEY = 64
_PUNCTUATION = len('"",')
_SCALAR_BYTES = 8


class Redactor:
    """Removes the given secrets, and everything that looks like a secret."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        self._forms: dict[str, dict[frozenset[str], float]] = {}
        """The forms of each owner's secrets, and until when they are redacted."""
        self._known: list[str] = []
        self.short = lru_cache(maxsize=1_000)(self.part)
        """Redacts keys: they repeat, so the answers are kept."""
        self.replace_secrets("", secrets)

    def replace_secrets(self, owner: str, secrets: Iterable[str]) -> None:
        """Redact these secrets of an owner from now on, and the replaced ones for as long as a call may have them."""
        forms, now = frozenset(form for one in secrets for form in _written_forms(one[:OVERLAP])), time.time()
        before = self._forms.get(owner, {}).items()
        kept = {one: min(until, now + _REPLACED_SECONDS) for one, until in before if until > now}
        self._forms[owner] = {**kept, forms: math.inf}
        # Copied first: sign-ins are read in several threads.
        known = {form for each in list(self._forms.values()) for one in each for form in one}
        self._known = sorted(filter(None, known), key=len, reverse=True)
        self.short.cache_clear()

    def value(self, value: Any) -> Any:
        """Return a JSON value with the same keys, types and lengths, without its secrets."""
        return _Walk(self).walk(value)

    def value_within(self, value: Any, limit: int) -> tuple[Any, bool]:
        """Return a JSON value without its secrets, cut to about `limit` bytes, and whether it was cut."""
        walk = _Walk(self, limit)
        return walk.walk(value), walk.was_cut

    def text(self, text: str) -> str:
        """Return a text without its secrets. If the text is JSON, it is redacted as a value."""
        safe: str = self.value(text)
        return safe

    def part(self, text: str, length: int | None = None) -> str:
        """Return the first `length` characters of a text without its secrets, also without half a secret at the end."""
        read = text if length is None else text[: length + OVERLAP]
        return _without(text[:length], [*self._find_known(read), *find_secrets(read)])

    def code(self, code: str) -> str:
        """Return a program without the secrets in its literals and comments."""
        return _without(code, [*self._find_known(code), *find_in_code(code)])

    def _find_known(self, text: str) -> Iterator[Span]:
        for secret in self._known:
            at = text.find(secret)
            while at >= 0:
                yield at, at + len(secret)
                at = text.find(secret, at + len(secret))


def _written_forms(secret: str) -> Iterator[str]:
    """Return how a secret may be written: plain, escaped and encoded."""
    data = secret.encode(errors="surrogatepass")
    yield secret
    for ascii_only in (True, False):
        escaped = json.dumps(secret, ensure_ascii=ascii_only)[1:-1]
        yield from (escaped, json.dumps(escaped)[1:-1])
    yield from (repr(secret)[1:-1], html.escape(secret), quote(data, safe=""), quote_plus(data))
    if len(secret) >= _SHORTEST_ENCODED:
        yield data.hex()
        for before in range(3):
            # The part of its base64 that does not depend on what comes before and after.
            encoded = base64.b64encode(b"\0" * before + data).decode()
            encoded = encoded[(0, 2, 3)[before] : (before + len(data)) * 8 // 6]
            yield from (encoded, encoded.replace("+", "-").replace("/", "_"))


def _without(text: str, spans: list[Span]) -> str:
    parts, at = [], -1
    for start, end in sorted(spans):
        if start >= len(text):
            break
        if start > at:
            parts += [text[max(at, 0) : start], MARK]
        at = max(at, end)
    return "".join([*parts, text[at:]]) if parts else text


class _Walk:
    """One pass over a JSON value, with what is left of its size limit."""

    def __init__(self, redactor: Redactor, limit: float = float("inf")) -> None:
        self.was_cut = False
        self._redactor = redactor
        self._left = limit
        self._json_levels = _MAX_JSON_LEVELS

    def walk(self, value: Any, kind: Sensitivity = "no", depth: int = 0) -> Any:
        """Return the value without its secrets; `kind` follows from the name above it."""
        if isinstance(value, str):
            return self._string(value, kind, depth)
        if isinstance(value, Mapping):
            return self._mapping(value, kind, depth)
        if isinstance(value, list | tuple):
            return self._list(value, kind, depth)
        self._left -= _SCALAR_BYTES
        if kind == "secret" and type(value) in {int, float} and abs(value) >= _LARGE_NUMBER:
            return type(value)(0)
        is_json = value is None or isinstance(value, bool | int | float)
        return value if is_json else self._string(str(value), kind, depth)

    def _string(self, text: str, kind: Sensitivity, depth: int) -> str:
        if is_secret_text(kind, text):
            return self._spend(MARK)
        read = _read_json(text) if self._json_levels else None
        if read is None:
            return self._spend(self._plain(text))
        self._json_levels -= 1
        safe = self.walk(read, depth=depth)
        self._json_levels += 1
        return text if safe == read else _written_like(text, safe)

    def _plain(self, text: str) -> str:
        if len(text) <= self._left:
            return self._redactor.part(text)
        self.was_cut = True
        return self._redactor.part(text, max(int(self._left), 0)) + _CUT

    def _mapping(self, value: Mapping[Any, Any], kind: Sensitivity, depth: int) -> dict[str, Any]:
        kept: dict[str, Any] = {}
        is_pair = kind != "secret" and _is_secret_pair(value)
        for key, member in value.items():
            if self._is_full(depth):
                break
            name = str(key)
            below = kind if kind == "secret" else sensitivity(name)
            if is_pair and name.lower() in _VALUE_KEYS:
                below = "secret"
            is_short = len(name) <= min(self._left, _SHORT_KEY)
            safe = unique = self._spend(self._redactor.short(name) if is_short else self._plain(name))
            number = 2
            while unique in kept:
                unique, number = f"{safe} {number}", number + 1
            kept[unique] = self.walk(member, below, depth + 1)
        return kept

    def _list(self, value: Sequence[Any], kind: Sensitivity, depth: int) -> list[Any]:
        kept: list[Any] = []
        option = ""
        for member in value:
            if self._is_full(depth):
                break
            kept.append(self.walk(member, "secret" if sensitivity(option) == "secret" else kind, depth + 1))
            # `["--token", "…"]`
            option = member if isinstance(member, str) and member.startswith("-") else ""
        return kept

    def _spend(self, text: str) -> str:
        size = len(text) if text.isascii() else len(text.encode(errors="surrogatepass"))
        self._left -= size + _PUNCTUATION
        return text

    def _is_full(self, depth: int) -> bool:
        is_full = depth >= _MAX_DEPTH or self._left <= 0
        self.was_cut = self.was_cut or is_full
        return is_full


def _is_secret_pair(value: Mapping[Any, Any]) -> bool:
    """Recognise `{"name": "Authorization", "value": "…"}` and `{"element": "Password field", "text": "…"}`."""
    texts = {str(key).lower(): text for key, text in value.items() if isinstance(text, str)}
    if not texts.keys() & _VALUE_KEYS:
        return False
    is_named = any(sensitivity(texts[key]) == "secret" for key in texts.keys() & _NAME_KEYS)
    return is_named or texts.get("type") == "password"


def _read_json(text: str) -> Any:
    """Parse a text that is one JSON object or array without duplicate keys; None if it is not."""
    stripped = text.strip()
    if stripped[:1] + stripped[-1:] not in {"{}", "[]"}:
        return None
    try:
        return json.loads(stripped, object_pairs_hook=_unique)
    except (ValueError, RecursionError):
        return None


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("duplicate key")
    return found


def _written_like(text: str, value: Any) -> str:
    lines = "\n" in text.strip()
    separators = None if lines or '": ' in text or ", " in text else (",", ":")
    return json.dumps(value, indent=2 if lines else None, separators=separators, ensure_ascii=text.isascii())
