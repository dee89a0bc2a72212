"""The redactor: applies names, configured values and forms to JSON values, texts and programs."""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from halflap.calls.redact.assignments import find_assignments
from halflap.calls.redact.configured import written_forms
from halflap.calls.redact.forms import find_forms
from halflap.calls.redact.names import is_secret_text, mentions_secret, secrecy, words

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from halflap.calls.redact.forms import Span
    from halflap.calls.redact.names import Secrecy

__all__ = ["MARK", "Redactor"]

MARK = "[redacted]"
_CUT = " [cut]"

_PASSES = 8
"""A removed secret may expose another; after this many passes the whole text is replaced."""
_DEEPEST = 200
_DEEPEST_JSON = 4
"""Levels of JSON texts within JSON texts that are read."""
_LONGEST_JSON = 4_000_000
_LARGE_NUMBER = 1_000
"""Smaller numbers under a secret name are kept: they are counts more often than secrets."""
_MARGIN = 4_096
"""Characters beyond a cut that are examined too, so that no secret is cut in half and left."""
_NAME_KEYS = words(
    "name key header field label id variable option element selector locator placeholder target"
)
_FIELD_KEYS = words("element selector locator label placeholder target field")
_VALUE_KEYS = words("value values text")
_STRENGTH: tuple[Secrecy, ...] = ("no", "random", "scalar", "all")
_SCHEMA_TYPES = words("string integer number boolean object array null")
_SCHEMA_KEYS = words(
    """
    type title description format minLength maxLength minimum maximum required properties items anyOf oneOf allOf $ref
    additionalProperties nullable readOnly writeOnly deprecated
    """
)
"""The JSON schema of a secret is not secret: `{"password": {"type": "string"}}`."""
_LITERAL = re.compile(
    r"#[^\n]*+"
    r"|\"\"\"(?:[^\"\\]++|\\.|\"(?!\"\"))*+(?:\"\"\")?|\'\'\'(?:[^\'\\]++|\\.|\'(?!\'\'))*+(?:\'\'\')?"
    r"|\"(?:[^\"\\\n]++|\\.)*+\"?|\'(?:[^\'\\\n]++|\\.)*+\'?",
    re.DOTALL,
)
"""The string literals and comments of a program, found without parsing it: it may not be one."""
_BESIDE_TEXT = len('"",')
_ANY_SCALAR = 8
_MOST_KEYS, _LONGEST_KEY = 1_000, 64
_NOT_JSON = object()


class Redactor:
    """Removes the secrets of a configuration, and everything that looks like a secret."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        self._known = written_forms(secrets)
        self._keys: dict[str, str] = {}
        self._margin = max(_MARGIN, *map(len, self._known)) if self._known else _MARGIN

    def text(self, text: str, levels: int = _DEEPEST_JSON) -> str:
        """Return a text without its secrets; `levels` of JSON within JSON are read."""
        return _repeated(text, lambda before: self._once(before, levels))

    def code(self, code: str) -> str:
        """Return a program without the secrets in its literals and comments; its names stay."""
        return _repeated(code, lambda before: self._pass(before, _literals(before)))

    def value(self, value: Any) -> Any:
        """Return a JSON value with the same keys, types and lengths, without its secrets."""
        return _Walk(self, None).walk(value, "no")

    def value_within(self, value: Any, limit: int) -> tuple[Any, bool]:
        """Return a JSON value without its secrets, cut to about `limit` bytes, and whether it was cut."""
        walk = _Walk(self, limit)
        return walk.walk(value, "no"), walk.was_cut

    def beginning(self, text: str, length: int, levels: int = _DEEPEST_JSON) -> str:
        """Return the beginning of a text without its secrets, nor the beginning of one at its end."""
        part = text[: length + self._margin]
        if len(part) == len(text):
            return self.text(text, levels)[:length]
        return self.text(part, levels)[: -self._margin][:length]

    def key(self, key: str) -> str:
        """Return a short key without its secrets; keys repeat, so the answers are kept."""
        safe = self._keys.get(key)
        if safe is None:
            if len(self._keys) >= _MOST_KEYS:
                self._keys.clear()
            safe = self._keys[key] = self.text(key, 0)
        return safe

    def _once(self, text: str, levels: int) -> str:
        read = _read_json(text) if levels else _NOT_JSON
        if read is _NOT_JSON:
            return self._pass(text, None)
        safe = _Walk(self, None, levels - 1).walk(read, "no")
        # As written, too: a configured secret may be written with escapes.
        return self._pass(text if safe == read else _written_like(text, safe), None, assignments=False)

    def _pass(self, text: str, literals: list[Span] | None, *, assignments: bool = True) -> str:
        """Search a text once; in code, values without quotes count only within its literals."""
        offset, pieces = 0, []
        # What was removed already is not part of anything.
        for piece in text.split(MARK):
            spans: list[Span] = []
            rest = len(piece)
            if assignments:
                spans += find_assignments(piece, None if literals is None else _within(literals, offset))
                # Where the whole rest is removed, nothing else needs to be found in it.
                rest = min((start for start, end in spans if end == len(piece)), default=rest)
            part = piece[: rest + self._margin]
            spans += self._configured(part)
            spans += find_forms(part)
            pieces.append(_without(piece, sorted(spans)))
            offset += len(piece) + len(MARK)
        return MARK.join(pieces)

    def _configured(self, text: str) -> Iterator[Span]:
        for form in self._known:
            at = text.find(form)
            while at >= 0:
                yield at, at + len(form)
                at = text.find(form, at + len(form))


def _repeated(text: str, once: Callable[[str], str]) -> str:
    for _ in range(_PASSES):
        after = once(text)
        if after == text:
            return text
        text = after
    return MARK


def _without(text: str, spans: Sequence[Span]) -> str:
    parts, at, taken = [], 0, -1
    for start, end in spans:
        if start > taken:
            parts += [text[at:start], MARK]
        taken = at = max(taken, end)
    return "".join([*parts, text[at:]]) if parts else text


def _read_json(text: str) -> Any:
    """Parse a text that is one JSON object or array without duplicate keys."""
    stripped = text.strip()
    if len(text) > _LONGEST_JSON or stripped[:1] + stripped[-1:] not in {"{}", "[]"}:
        return _NOT_JSON
    try:
        return json.loads(stripped, object_pairs_hook=_unique)
    except (ValueError, RecursionError):
        return _NOT_JSON


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("duplicate key")
    return found


def _written_like(text: str, value: Any) -> str:
    lines = "\n" in text.strip()
    spaced = lines or '": ' in text or ", " in text
    separators = None if spaced else (",", ":")
    return json.dumps(value, indent=2 if lines else None, separators=separators, ensure_ascii=text.isascii())


def _literals(code: str) -> list[Span]:
    return [match.span() for match in _LITERAL.finditer(code)]


def _within(spans: list[Span], offset: int) -> Callable[[int], bool]:
    starts = [start for start, _ in spans]

    def within(at: int) -> bool:
        index = bisect_right(starts, at + offset) - 1
        return index >= 0 and at + offset < spans[index][1]

    return within


class _Walk:
    """One pass over a value, with what is left of its size limit."""

    def __init__(self, redactor: Redactor, limit: int | None, levels: int = _DEEPEST_JSON) -> None:
        self._redactor = redactor
        self._left = limit
        self._levels = levels
        self.was_cut = False

    def walk(self, value: Any, how: Secrecy, depth: int = 0) -> Any:
        """Return the value without its secrets; `how` is what the name above it implies."""
        if isinstance(value, str):
            return self._string(value, how)
        if isinstance(value, Mapping):
            return self._mapping(value, how, depth)
        if isinstance(value, list | tuple):
            return self._list(value, how, depth)
        self._spend(_ANY_SCALAR)
        if isinstance(value, bool) or value is None:
            return value
        if isinstance(value, int | float):
            return type(value)(0) if how in {"all", "scalar"} and abs(value) >= _LARGE_NUMBER else value
        return self._string(str(value), how)

    def _string(self, text: str, how: Secrecy) -> str:
        is_secret = text not in {"", MARK} and is_secret_text(how, text)
        safe = MARK if is_secret else self._cut(text, self._levels)
        self._spend(_size(safe))
        return safe

    def _cut(self, text: str, levels: int) -> str:
        if self._left is not None and len(text) > self._left:
            self.was_cut = True
            return self._redactor.beginning(text, max(self._left, 0), levels) + _CUT
        return self._redactor.text(text, levels)

    def _mapping(self, value: Mapping[Any, Any], how: Secrecy, depth: int) -> dict[str, Any]:
        kept: dict[str, Any] = {}
        is_schema = how == "all" and value.get("type") in _SCHEMA_TYPES
        is_pair = _is_secret_pair(value)
        for key, member in value.items():
            if self._is_full(depth):
                break
            name = self._key(str(key), kept)
            below: Secrecy = how if how == "all" else "no"
            if is_schema and key in _SCHEMA_KEYS:
                below = "no"
            elif how != "all":
                below = max(secrecy(str(key)), secrecy(name), key=_STRENGTH.index)
                if is_pair and str(key).lower() in _VALUE_KEYS:
                    below = "all"
            kept[name] = self.walk(member, below, depth + 1)
        return kept

    def _key(self, key: str, taken: Mapping[str, Any]) -> str:
        is_short = len(key) <= _LONGEST_KEY and (self._left is None or len(key) <= self._left)
        safe = self._redactor.key(key) if is_short else self._cut(key, 0)
        self._spend(_size(safe))
        name, number = safe, 2
        while name in taken:
            name, number = f"{safe} {number}", number + 1
        return name

    def _list(self, value: Sequence[Any], how: Secrecy, depth: int) -> list[Any]:
        kept: list[Any] = []
        below: Secrecy = how if how in {"all", "random"} else "no"
        before: Any = None
        for member in value:
            if self._is_full(depth):
                break
            # `["--token", "…"]`, `["Authorization", "…"]`
            is_announced = (
                isinstance(before, str)
                and (len(value) == len(("name", "value")) or before.startswith("-"))
                and secrecy(before) == "all"
            )
            kept.append(self.walk(member, "all" if is_announced else below, depth + 1))
            before = member
        return kept

    def _spend(self, size: int) -> None:
        if self._left is not None:
            self._left -= size + _BESIDE_TEXT

    def _is_full(self, depth: int) -> bool:
        if depth >= _DEEPEST or (self._left is not None and self._left <= 0):
            self.was_cut = True
            return True
        return False


def _is_secret_pair(value: Mapping[Any, Any]) -> bool:
    """Recognise `{"name": "Authorization", "value": "…"}` and `{"element": "Password field", "text": "…"}`."""
    keys = {
        key.lower(): name for key, name in value.items() if isinstance(key, str) and isinstance(name, str)
    }
    if not keys.keys() & _VALUE_KEYS:
        return False
    return (
        keys.get("type", "").lower() == "password"
        or any(secrecy(keys[key]) == "all" for key in keys.keys() & _NAME_KEYS)
        or any(mentions_secret(keys[key]) for key in keys.keys() & _FIELD_KEYS)
    )


def _size(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode(errors="surrogatepass"))
