"""JSON files that somebody else wrote: read within limits, and every problem told with its place."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NoReturn

from halflap.core.text import visible
from halflap.schema import json_problem

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

__all__ = ["Problems", "UnreadableError", "read_json", "said", "within", "words"]

_DEEPEST = 40
_MOST_VALUES = 200_000
_LARGEST_NUMBER = 2**63
_LONGEST_SHOWN = 60
_MOST_PROBLEMS = 100


class UnreadableError(Exception):
    """A file is not JSON that can be used; the message says why."""


@dataclass(slots=True)
class Problems:
    """What is wrong with a file, each with its place."""

    file: str
    found: list[str] = field(default_factory=list)

    def add(self, message: str) -> None:
        """Note a problem; a hostile file has no end of them."""
        if len(self.found) < _MOST_PROBLEMS:
            self.found.append(f"{self.file}: {message}")

    def wrong(self, path: str, expected: str, value: Any) -> None:
        """Note that a value is not what is expected."""
        self.add(f"{path or 'it'} must be {expected}, not {said(value)}.")

    def listed(self, path: str, most: int, what: str, value: Any) -> bool:
        """Say whether a value is a list of one or more and not too many; note it if not."""
        if isinstance(value, list) and 0 < len(value) <= most:
            return True
        expected = f"{path} must be a list of 1 to {most} {what}"
        many = isinstance(value, list) and len(value) > most
        self.add(f"{expected}, not of {len(value):,}." if many else f"{expected}, not {said(value)}.")
        return False

    def keys(
        self, value: Mapping[str, Any], path: str, known: Collection[str], needed: Collection[str]
    ) -> None:
        """Note the keys that are not known, and those that are missing."""
        for key in value:
            if key not in known:
                self.add(f"{within(path, key)} is not known. There are: {', '.join(known)}.")
        for key in needed:
            if key not in value:
                self.add(f"{within(path, key)} is missing.")


def within(path: str, key: str | int) -> str:
    """Say where a member is: `predictors[0].kind`."""
    if isinstance(key, int):
        return f"{path}[{key}]"
    shown = visible(key, _LONGEST_SHOWN)
    return f"{path}.{shown}" if path else shown


def said(value: Any) -> str:
    """Say what stands there, in a few letters."""
    match value:
        case str():
            return f'"{visible(value, _LONGEST_SHOWN)}"'
        case None | bool() | int() | float():
            return json.dumps(value)
        case list():
            return "a list" if value else "an empty list"
        case _:
            return "an object"


def words(options: Collection[str]) -> str:
    """List a few words: `a, b or c`."""
    *others, last = options
    return f"{', '.join(others)} or {last}" if others else last


def read_json(data: bytes) -> Any:
    """Read a value; what is doubtful in JSON (a key twice, NaN, half of a letter) is refused."""
    if data.startswith(_PICKLES):
        raise UnreadableError(_PICKLE)
    try:
        value = _DECODER.decode(data.decode("utf-8-sig"))
    except ValueError as error:
        why = json_problem(error)
        raise UnreadableError(f"{'it is ' if why.startswith('not ') else ''}{why}.") from None
    except RecursionError:
        raise UnreadableError(_TOO_DEEP) from None
    for count, part in enumerate(_parts(value)):
        if count > _MOST_VALUES:
            raise UnreadableError(f"it has more than {_MOST_VALUES:,} values.")
        if isinstance(part, str):
            _check_text(part)
        elif isinstance(part, int | float) and not abs(part) < _LARGEST_NUMBER:
            raise UnreadableError("a number in it is larger than 64 bits can hold.")
    return value


_PICKLES = (b"\x80\x02", b"\x80\x03", b"\x80\x04", b"\x80\x05", b"(dp", b"(lp", b"}q", b"]q")
"""How objects and lists begin in each of the forms of a pickle, and nothing in JSON."""
_PICKLE = (
    "it is a pickle, whatever its name says. A pickle runs code when it is loaded, so it is never opened as one. Save the state as "
    'JSON: `program.save("state.json")`, or export the program with `halflap programs export`.'
)
_TOO_DEEP = f"it is nested deeper than {_DEEPEST} levels."


def _parts(value: Any) -> Iterator[Any]:
    """Give each value and each key, without ever going deeper than is allowed."""
    unread: list[tuple[Any, int]] = [(value, 0)]
    while unread:
        part, depth = unread.pop()
        if depth > _DEEPEST:
            raise UnreadableError(_TOO_DEEP)
        yield part
        if isinstance(part, dict):
            yield from part
            unread += [(inner, depth + 1) for inner in part.values()]
        elif isinstance(part, list):
            unread += [(inner, depth + 1) for inner in part]


def _check_text(text: str) -> None:
    if not text.isascii() and any("\ud800" <= letter <= "\udfff" for letter in text):
        raise UnreadableError("a text in it has half of a surrogate pair, which cannot be written.")


def _pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                raise ValueError(f'the key "{visible(key, _LONGEST_SHOWN)}" is there twice')
            seen.add(key)
    return found


def _constant(name: str) -> NoReturn:
    raise ValueError(f"there is no {name} in it")


def _float(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{text[:_LONGEST_SHOWN]} is too large a number")
    return number


_DECODER = json.JSONDecoder(object_pairs_hook=_pairs, parse_constant=_constant, parse_float=_float)
