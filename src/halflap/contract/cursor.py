"""Cursors: where the next page begins, signed, bound to the query that they were made for, and not for ever."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import json
import logging
import secrets
import struct
import time
from collections import deque
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, fields, is_dataclass
from datetime import timedelta
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeVar

from pydantic import BaseModel
from pydantic_core import to_jsonable_python

from halflap.contract.failures import InvalidQuery
from halflap.contract.page import Page, Pagination
from halflap.contract.structs import is_struct

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

__all__ = ["Cursors", "Turn"]

_log = logging.getLogger(__name__)
_T = TypeVar("_T")

_VERSION = b"\x01"
_HEAD = struct.Struct(">Q")
_SIGNATURE = 32
_LEAST_KEY = 16
_LONGEST = 4_096
_TUPLE = "tuple"
_WHAT_TO_DO = (
    "Pass pagination.next_cursor of the page before, with the same arguments as for that page, or no cursor for the "
    "first page."
)


class Cursors:
    """Makes pages, and the cursors between them.

    With a `key`, at least 16 bytes that stay secret, cursors hold on all processes that have the same, and over
    restarts; without one a key is made, and the cursors end with this process.
    """

    def __init__(
        self,
        key: bytes | None = None,
        *,
        lifetime: timedelta = timedelta(hours=1),
        max_page_size: int = 100,
        clock: Callable[[], float] = time.time,
    ) -> None:
        if key is not None and not _is_key(key):
            raise ValueError(
                f"The key of cursors is at least {_LEAST_KEY} bytes, such as secrets.token_bytes(32) gives them."
            )
        if max_page_size < 1:
            raise ValueError(f"max_page_size is at least 1, not {max_page_size}.")
        if lifetime < timedelta(seconds=1):
            raise ValueError(f"A cursor lives for at least a second, not {lifetime}.")
        self.is_of_process = key is None
        """Whether the cursors end with this process, since no key was given."""
        if key is None:
            _log.info(
                "No key for cursors was given: one was made, and they are worth nothing after this process ends."
            )
        self.max_page_size = max_page_size
        self._key = secrets.token_bytes(32) if key is None else key
        self._lifetime = lifetime
        self._clock = clock

    def page(self, items: Sequence[_T], *, cursor: str | None, size: int, query: Any) -> Page[_T]:
        """Give a page of a list that is all there."""
        turn = self.open(cursor, size=size, query=query)
        start = turn.position or 0
        return turn.page(items[start : start + turn.size + 1], total_count=len(items))

    def fetch(
        self,
        fetch: Callable[[int, int], Iterable[_T]],
        *,
        cursor: str | None,
        size: int,
        query: Any,
        total_count: int | None = None,
    ) -> Page[_T]:
        """Give a page of what `fetch(offset, count)` gives."""
        turn = self.open(cursor, size=size, query=query)
        return turn.page(fetch(turn.position or 0, turn.size + 1), total_count=total_count)

    def fetch_after(
        self,
        fetch: Callable[[Any, int], Iterable[_T]],
        *,
        key: Callable[[_T], Any],
        cursor: str | None,
        size: int,
        query: Any,
        total_count: int | None = None,
    ) -> Page[_T]:
        """Give a page of what `fetch(after, count)` gives: the results after the one with that key; None is the start.

        `key` gives an item's key, which has to be one that comes back from JSON as it was, or a tuple of such (of a
        date, take its text), and not None. Other than with offsets, results that come or go meanwhile neither repeat nor hide any other.
        """
        turn = self.open(cursor, size=size, query=query, by_key=True)
        return turn.page(fetch(turn.position, turn.size + 1), total_count=total_count, key=key)

    def open(self, cursor: str | None, *, size: int, query: Any, by_key: bool = False) -> Turn:
        """Read a cursor, or begin at the start; what is forged, foreign or stale raises InvalidQuery.

        `query` is all that says which results these are, such as the tool's name and its arguments but for the cursor:
        a cursor of another query is refused. The result says where to fetch how much, and makes the page of that.
        """
        if not _is_size(size):
            raise InvalidQuery(f"The page size is a whole number of at least 1, not {size!r}.")
        bound = _digest(query, by_key=by_key)
        position = None if cursor is None else self._read(cursor, bound)
        return Turn(self, position, min(size, self.max_page_size), bound, by_key)

    def _write(self, position: Any, bound: bytes) -> str:
        ends = _HEAD.pack(int(self._clock() + self._lifetime.total_seconds()))
        body = _VERSION + ends + json.dumps(position, separators=(",", ":")).encode()
        cursor = _encode(body + self._sign(body, bound))
        if len(cursor) > _LONGEST:
            raise ValueError(f"A key of {len(body):,} bytes is too long for a cursor: take a shorter one.")
        return cursor

    def _read(self, cursor: str, bound: bytes) -> Any:
        body, signature = _decode(cursor)
        if not hmac.compare_digest(signature, self._sign(body, bound)):
            raise InvalidQuery(f"This cursor was not made here for this query. {_WHAT_TO_DO}")
        (ends,) = _HEAD.unpack_from(body, len(_VERSION))
        if self._clock() >= ends:
            raise InvalidQuery("This cursor has expired. Begin again, with no cursor.")
        return _key(json.loads(body[len(_VERSION) + _HEAD.size :]))

    def _sign(self, body: bytes, bound: bytes) -> bytes:
        return hmac.digest(self._key, b"halflap.cursor" + bound + body, "sha256")


@dataclass(frozen=True, slots=True)
class Turn:
    """One page that is to be made: from where, and how large."""

    cursors: Cursors
    position: Any
    """The offset of the first result, or the key of the last one before; None at the start."""
    size: int
    """How many results the page has at most. Fetch one more, so that it shows whether there are more."""
    bound: bytes
    by_key: bool = False

    def page(
        self, rows: Iterable[Any], *, total_count: int | None = None, key: Callable[[Any], Any] | None = None
    ) -> Page[Any]:
        """Make the page of what was fetched."""
        if self.by_key and key is None:
            raise TypeError("A page by key needs `key`, which gives the key of a result.")
        if key is not None and not self.by_key:
            raise TypeError("A page that takes `key` is one by key: open it with by_key=True.")
        fetched = list(islice(rows, self.size + 1))
        results, has_more = fetched[: self.size], len(fetched) > self.size
        cursor = None
        if has_more:
            position = _position(key(results[-1])) if key is not None else (self.position or 0) + self.size
            cursor = self.cursors._write(position, self.bound)  # noqa: SLF001 -- the other half of the same thing
        return Page(
            results,
            Pagination(
                total_count=total_count, page_size=len(results), has_more=has_more, next_cursor=cursor
            ),
        )


def _position(key: Any) -> Any:
    """Give what a cursor holds of the key from which the next page goes on, if it will come back as it is."""
    if key is None:
        raise ValueError(
            "The key of the last result of a page is None, which is where results begin: the next page would be the first "
            "again. Take a key that every result has."
        )
    held = {_TUPLE: list(key)} if isinstance(key, tuple) else key
    try:
        back = _key(json.loads(json.dumps(held, allow_nan=False)))
    except (ValueError, TypeError, KeyError):
        back = None
    if back != key:
        raise ValueError(
            f"A key has to be one that JSON can hold, and {key!r} is not: the next page would not get it back as it is. "
            "Give it as a text or a number, and make of that what you compare with."
        )
    return held


def _key(held: Any) -> Any:
    return tuple(held[_TUPLE]) if isinstance(held, dict) else held


def _is_key(key: object) -> bool:
    return isinstance(key, bytes) and len(key) >= _LEAST_KEY


def _is_size(size: object) -> bool:
    return isinstance(size, int) and not isinstance(size, bool) and size > 0


def _digest(query: Any, *, by_key: bool) -> bytes:
    try:
        text = _text([by_key, _ordered(query)])
    except (ValueError, TypeError) as error:
        raise TypeError(
            f"`query` has to be made of what JSON can hold, to bind cursors to it: {error}"
        ) from error
    return hashlib.sha256(text.encode()).digest()


def _ordered(value: Any) -> Any:
    """Put sets into an order, wherever they are: theirs is another one in every process.

    Of a secret it is what it hides that tells queries apart; nothing of it can be read in a cursor.
    """
    if callable(getattr(value, "get_secret_value", None)):
        value = value.get_secret_value()
    if isinstance(value, AbstractSet):
        return sorted(_text(_ordered(one)) for one in value)
    if isinstance(value, BaseModel):
        value = dict(value)
    elif is_dataclass(value) and not isinstance(value, type):
        value = {one.name: getattr(value, one.name) for one in fields(value)}
    elif is_struct(type(value)):
        value = {name: getattr(value, name) for name in value.__struct_fields__}
    if isinstance(value, Mapping):
        return {key: _ordered(inner) for key, inner in value.items()}
    return [_ordered(inner) for inner in value] if isinstance(value, list | tuple | deque) else value


def _text(value: Any) -> str:
    return json.dumps(to_jsonable_python(value), sort_keys=True)


def _encode(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


def _decode(cursor: object) -> tuple[bytes, bytes]:
    refused = InvalidQuery(f"This is no cursor. {_WHAT_TO_DO}")
    if not isinstance(cursor, str) or not cursor.isascii() or not 0 < len(cursor) <= _LONGEST:
        raise refused
    try:
        raw = base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True)
    except (binascii.Error, ValueError):
        raise refused from None
    # The same bytes can be written in more than one way; only ours is taken, so that no character is without meaning.
    if _encode(raw) != cursor or len(raw) <= len(_VERSION) + _HEAD.size + _SIGNATURE or raw[:1] != _VERSION:
        raise refused
    return raw[:-_SIGNATURE], raw[-_SIGNATURE:]
