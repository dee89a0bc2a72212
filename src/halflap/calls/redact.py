"""Takes secrets out of values and texts: by the name they stand under, by their value, and by their form."""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from halflap.calls.secret_commands import secret_from
from halflap.calls.secret_forms import find_forms, may_hold_form
from halflap.calls.secret_named import find_named, may_hold_named
from halflap.calls.secret_names import looks_secret, names_field, secrecy, words
from halflap.calls.secret_pairs import find_pairs, may_hold_pair
from halflap.calls.secret_values import written_forms

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from halflap.calls.secret_names import Secrecy
    from halflap.calls.spans import Span

__all__ = ["MARK", "Redactor"]

MARK = "[redacted]"
_CUT = " [cut]"

_PASSES = 8
"""So often a text is looked at anew after something was taken out of it, which may bare something else."""
_DEEPEST = 200
_DEEPEST_JSON = 4
"""So many texts of JSON within texts of JSON are read."""
_LONGEST_JSON = 4_000_000
_LARGE_NUMBER = 1_000
_MARGIN = 4_096
"""So much more of a text that is cut is looked at, lest the beginning of a secret is left at its end."""
_NAME_KEYS = words("name key header field label id variable option")
_FIELD_KEYS = words("element selector locator label placeholder target field")
"""How tools that operate a page say where a text goes."""
_VALUE_KEYS = words("value values")
_FIELD_VALUE_KEYS = words("value values text")
_STRENGTH = ("no", "digits", "random", "text", "all")
_JSON_TYPES = ("string", "integer", "number", "boolean", "object", "array", "null")
_DESCRIBING = words(
    """
    type title description format minLength maxLength minimum maximum required properties items anyOf oneOf
    allOf $ref additionalProperties nullable readOnly writeOnly deprecated
    """
)
"""What a JSON schema says of a secret is none: `{"password": {"type": "string"}}` stays as it is."""
_LITERAL = re.compile(
    r"#[^\n]*+"
    r"|\"\"\"(?:[^\"\\]++|\\.|\"(?!\"\"))*+(?:\"\"\")?|\'\'\'(?:[^\'\\]++|\\.|\'(?!\'\'))*+(?:\'\'\')?"
    r"|\"(?:[^\"\\\n]++|\\.)*+\"?|\'(?:[^\'\\\n]++|\\.)*+\'?",
    re.DOTALL,
)
"""The texts and comments of a program. It may be no program: nothing is parsed here."""
_BESIDE_TEXT = len('"",')
_ANY_SCALAR = 8
_LONGEST_PAIR_KEY = 16


class Redactor:
    """Knows the secrets of a configuration, and how secrets look."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        self._forms = written_forms(secrets)
        self._shortest = min(map(len, self._forms), default=0)
        self._margin = max(_MARGIN, *(len(form) for form in self._forms)) if self._forms else _MARGIN

    def text(self, text: str, levels: int = _DEEPEST_JSON) -> str:
        """Give a text without its secrets; `levels` is how many texts of JSON in each other are read."""
        if not self._may_hold(text):
            return text
        return _repeated(text, lambda before: self._once(before, levels))

    def code(self, code: str) -> str:
        """Give a program without its secrets: they are in its literals and comments, not in its names."""
        return _repeated(code, self._code)

    def value(self, value: Any) -> Any:
        """Give a JSON value without its secrets: the same keys, types and lengths, other texts."""
        return _Walk(self, None).walk(value, "no")

    def value_within(self, value: Any, limit: int) -> tuple[Any, bool]:
        """Give a JSON value without its secrets, of about so many bytes at most, and whether it was cut.

        Texts are shortened, and what comes behind is left out; it stays JSON.
        """
        walk = _Walk(self, limit)
        return walk.walk(value, "no"), walk.was_cut

    def beginning(self, text: str, length: int, levels: int = _DEEPEST_JSON) -> str:
        """Give the beginning of a text without its secrets, nor the beginning of one at its end."""
        part = text[: length + self._margin]
        if len(part) == len(text):
            return self.text(text, levels)[:length]
        return self.text(part, levels)[: -self._margin][:length]

    def _may_hold(self, text: str) -> bool:
        """Say whether it is worth while to look closer; most texts are short and hold nothing."""
        if text[:1] in {"[", "{"} or may_hold_named(text) or may_hold_pair(text) or may_hold_form(text):
            return True
        return any(form in text for form in self._forms)

    def _once(self, text: str, levels: int) -> str:
        read = _read_json(text) if levels else _NOT_JSON
        if read is _NOT_JSON:
            return self._pass(text, lambda _at: True)
        safe = _Walk(self, None, levels - 1).walk(read, "no")
        # As it is written, too: a key may be in it twice.
        return self._pass(text if safe == read else _written_like(text, safe), None)

    def _code(self, code: str) -> str:
        return self._pass(code, _within_literals(code))

    def _pass(self, text: str, bare: Callable[[int], bool] | None) -> str:
        """Go through a text once; `bare` says where values may stand without quotes, None looks at no names."""
        offset, pieces = 0, []
        # What was taken out already is not part of anything.
        for piece in text.split(MARK):
            spans: list[Span] = []
            part = piece
            if bare is not None:
                within = partial(_shifted, bare, offset)
                spans += find_named(piece, within)
                # Where all of the rest goes, nothing else need be looked for in it.
                rest = min((start for start, end in spans if end == len(piece)), default=len(piece))
                part = piece[: rest + self._margin]
                spans += find_pairs(part, within)
            spans += self._values(part)
            spans += find_forms(part)
            pieces.append(_without(piece, sorted(spans)))
            offset += len(piece) + len(MARK)
        return MARK.join(pieces)

    def _values(self, text: str) -> Iterator[Span]:
        if len(text) < self._shortest:
            return
        for form in self._forms:
            at = text.find(form)
            while at >= 0:
                yield at, at + len(form)
                at = text.find(form, at + len(form))


_NOT_JSON = object()


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


def _shifted(bare: Callable[[int], bool], offset: int, at: int) -> bool:
    return bare(at + offset)


def _read_json(text: str) -> Any:
    """Read a text that is a JSON object or array as a whole, and says nothing twice."""
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
        raise ValueError("a key is there twice")
    return found


def _written_like(text: str, value: Any) -> str:
    """Write a value as JSON in about the way that a text has it."""
    lines = "\n" in text.strip()
    spaced = lines or '": ' in text or ", " in text
    return json.dumps(
        value,
        indent=2 if lines else None,
        separators=None if spaced else (",", ":"),
        ensure_ascii=text.isascii(),
    )


def _within_literals(code: str) -> Callable[[int], bool]:
    """Say where in a program something is a text or a comment."""
    spans = [match.span() for match in _LITERAL.finditer(code)]
    starts = [start for start, _ in spans]

    def within(at: int) -> bool:
        index = bisect_right(starts, at) - 1
        return index >= 0 and at < spans[index][1]

    return within


class _Walk:
    """One way through a value, with what may still be kept."""

    def __init__(self, redactor: Redactor, limit: int | None, levels: int = _DEEPEST_JSON) -> None:
        self._redactor = redactor
        self._left = limit
        self._levels = levels
        self.was_cut = False

    def walk(self, value: Any, how: Secrecy, depth: int = 0) -> Any:
        """Give the value without its secrets; `how` is what the name above says of it."""
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
            return type(value)(0) if how in {"all", "digits"} and abs(value) >= _LARGE_NUMBER else value
        return self._string(str(value), how)

    def _string(self, text: str, how: Secrecy) -> str:
        if not text or text == MARK:
            self._spend(len(text))
            return text
        if looks_secret(how, text) and not (how == "text" and _is_path(text)):
            self._spend(len(MARK))
            return MARK
        if self._left is not None and len(text) > self._left:
            self.was_cut = True
            kept = self._redactor.beginning(text, max(self._left, 0)) + _CUT
        else:
            kept = self._redactor.text(text, self._levels)
        self._spend(_size(kept))
        return kept

    def _mapping(self, value: Mapping[Any, Any], how: Secrecy, depth: int) -> dict[str, Any]:
        kept: dict[str, Any] = {}
        below: Secrecy = "all" if how == "all" else "no"
        of_pair = _secret_of_pair(value)
        describes = below == "all" and value.get("type") in _JSON_TYPES
        for key, member in value.items():
            if self._is_full(depth):
                break
            name = self._key(str(key), kept)
            inner: Secrecy = below
            if describes and key in _DESCRIBING:
                inner = "no"
            elif below == "no":
                inner = max(secrecy(str(key)), secrecy(name), key=_STRENGTH.index)
                if inner == "text" and not isinstance(member, str):
                    inner = "no"
                if str(key).lower() in of_pair:
                    inner = "all"
            kept[name] = self.walk(member, inner, depth + 1)
        return kept

    def _key(self, key: str, taken: Mapping[str, Any]) -> str:
        if self._left is not None and len(key) > self._left:
            self.was_cut = True
            safe = self._redactor.beginning(key, max(self._left, 0), 0) + _CUT
        else:
            safe = self._redactor.text(key, 0)
        self._spend(_size(safe))
        name, number = safe, 2
        while name in taken:
            name, number = f"{safe} {number}", number + 1
        return name

    def _list(self, value: Sequence[Any], how: Secrecy, depth: int) -> list[Any]:
        kept: list[Any] = []
        below: Secrecy = how if how in {"all", "random"} else "no"
        before: Any = None
        is_pair = len(value) == len(("name", "value"))
        for member in value:
            if self._is_full(depth):
                break
            announced = isinstance(member, str) and _announces(before, is_pair=is_pair)
            start = secret_from(value[0], before, member) if isinstance(member, str) else None
            if start is None or announced:
                kept.append(self.walk(member, "all" if announced else below, depth + 1))
            else:
                kept.append(self._string(member[:start], below) + MARK)
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


def _secret_of_pair(value: Mapping[Any, Any]) -> frozenset[str]:
    """Say under which keys a pair such as `{"name": "Authorization", "value": "…"}` has its secret."""
    keys = {key.lower() for key in value if isinstance(key, str) and len(key) <= _LONGEST_PAIR_KEY}
    if not keys & _FIELD_VALUE_KEYS:
        return frozenset()
    found: frozenset[str] = frozenset()
    for key, name in value.items():
        if not isinstance(name, str) or not isinstance(key, str):
            continue
        kind = key.lower()
        if kind in _FIELD_KEYS and names_field(name):
            return _FIELD_VALUE_KEYS
        if (kind in _NAME_KEYS and secrecy(name) == "all") or (kind == "type" and name.lower() == "password"):
            found = _VALUE_KEYS
    return found


def _announces(before: Any, *, is_pair: bool) -> bool:
    """Say whether what follows in a list is secret: `["--token", "…"]`, `["Authorization", "…"]`."""
    return isinstance(before, str) and (is_pair or before.startswith("-")) and secrecy(before) == "all"


def _size(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode(errors="surrogatepass"))


def _is_path(text: str) -> bool:
    return text.startswith(("/", "~", ".")) or text[1:3] == ":\\"
