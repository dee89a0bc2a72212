"""Read JSON files that someone else wrote: within limits, refusing whatever two parsers could read differently."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any, NoReturn

from halflap.core.text import visible
from halflap.schema import json_problem

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["UnreadableError", "read_json"]

_MAX_DEPTH = 40
_MAX_VALUES = 200_000
_MAX_NUMBER = 2**63
_PICKLE_STARTS = (b"\x80\x02", b"\x80\x03", b"\x80\x04", b"\x80\x05", b"(dp", b"(lp", b"}q", b"]q")
"""How pickles of objects and lists begin, in every protocol; no JSON does."""


class UnreadableError(Exception):
    """A file is not JSON that can be used; the message says why."""


def read_json(data: bytes) -> Any:
    """Parse a value; duplicate keys, NaN, lone surrogates and anything too deep or too large are refused."""
    if data.startswith(_PICKLE_STARTS):
        raise UnreadableError(
            "this is a pickle, whatever its name says. Loading a pickle runs code, so it is never opened. Save the state as "
            'JSON with `program.save("state.json")`, or use `halflap programs export`.'
        )
    try:
        value = _DECODER.decode(data.decode("utf-8-sig"))
    except ValueError as error:
        raise UnreadableError(f"{json_problem(error)}.") from None
    except RecursionError:
        raise UnreadableError(f"nested deeper than {_MAX_DEPTH} levels.") from None
    for count, part in enumerate(_parts(value)):
        if count > _MAX_VALUES:
            raise UnreadableError(f"more than {_MAX_VALUES:,} values.")
        if isinstance(part, str) and any("\ud800" <= letter <= "\udfff" for letter in part):
            raise UnreadableError("a string contains half of a surrogate pair.")
        if isinstance(part, int | float) and not abs(part) < _MAX_NUMBER:
            raise UnreadableError("a number does not fit into 64 bits.")
    return value


def _parts(value: Any) -> Iterator[Any]:
    """Yield every value and key, without recursion."""
    unread: list[tuple[Any, int]] = [(value, 0)]
    while unread:
        part, depth = unread.pop()
        if depth > _MAX_DEPTH:
            raise UnreadableError(f"nested deeper than {_MAX_DEPTH} levels.")
        yield part
        if isinstance(part, dict):
            yield from part
            unread += [(inner, depth + 1) for inner in part.values()]
        elif isinstance(part, list):
            unread += [(inner, depth + 1) for inner in part]


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise ValueError(f'the key "{visible(key, 60)}" occurs twice')
        found[key] = value
    return found


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a number in JSON")


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError("a number is too large")
    return number


_DECODER = json.JSONDecoder(object_pairs_hook=_unique, parse_constant=_refuse_constant, parse_float=_finite)
