"""Pages of results, and cursors: signed positions that expire."""

from __future__ import annotations

import hashlib
import hmac
import json
import logging
import secrets
import time
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from itertools import islice
from typing import Annotated, Any, Generic, TypeVar

from pydantic import Field, WithJsonSchema
from pydantic_core import PydanticSerializationError, to_jsonable_python

from halflap.contract.errors import InvalidQuery
from halflap.contract.relations import unit

_log = logging.getLogger(__name__)
T = TypeVar("T")

_MIN_KEY_SIZE = 16
_MAX_CURSOR_LENGTH = 4_096
_WHAT_TO_DO = (
    "Pass pagination.next_cursor of the previous page together with the same arguments, or leave the cursor out to "
    "start at the first page."
)


def _is_none(value: object) -> bool:
    return value is None


@dataclass(frozen=True, slots=True, kw_only=True)
class Pagination:
    """The position of a page, and how to get the next one."""

    total_count: Annotated[
        int | None,
        WithJsonSchema({"type": "integer", "minimum": 0}),
        Field(exclude_if=_is_none, description="Number of results on all pages"),
        unit("results"),
    ] = None
    page_size: Annotated[int, Field(ge=0, description="Number of results on this page"), unit("results")]
    has_more: Annotated[bool, Field(description="Whether there are more pages")]
    next_cursor: Annotated[
        str | None,
        WithJsonSchema({"type": "string"}),
        Field(exclude_if=_is_none, description="Pass to 'cursor' parameter to get next page"),
    ] = None

    def __post_init__(self) -> None:
        if self.has_more != (self.next_cursor is not None):
            raise ValueError("A page has a next_cursor exactly when has_more is true.")


@dataclass(frozen=True)
class Page(Generic[T]):
    """Some of the results, in order."""

    results: Annotated[list[T], Field(description="The results on this page, in order")]
    pagination: Annotated[Pagination, Field(description="How many results there are, and how to get more")]


class Cursors:
    """Makes pages and the cursors between them.

    Give a secret `key` of at least 16 bytes to make cursors valid across restarts and on every process with the same
    key. Without one, a random key is used and cursors end with this process.
    """

    def __init__(
        self,
        key: bytes | None = None,
        *,
        lifetime: timedelta = timedelta(hours=1),
        max_page_size: int = 100,
        clock: Callable[[], float] = time.time,
    ) -> None:
        if key is not None and len(key) < _MIN_KEY_SIZE:
            raise ValueError(
                f"A cursor key has at least {_MIN_KEY_SIZE} bytes, such as secrets.token_bytes(32)."
            )
        if key is None:
            _log.info("Cursors use a random key and will not outlive this process; pass `key` to keep them.")
        self.max_page_size = max_page_size
        self._key = secrets.token_bytes(32) if key is None else key
        self._lifetime = lifetime
        self._clock = clock

    def page(self, items: Sequence[T], *, cursor: str | None, size: int, query: Any) -> Page[T]:
        """Return a page of a complete list."""
        turn = self.open(cursor, size=size, query=query)
        start = turn.position or 0
        return turn.page(items[start : start + turn.size + 1], total_count=len(items))

    def open(self, cursor: str | None, *, size: int, query: Any) -> Turn:
        """Read a cursor, or start at the beginning. A forged, foreign or expired cursor raises InvalidQuery.

        `query` identifies the results: the tool's name and its arguments other than the cursor, as JSON. A cursor made
        for another query is refused.
        """
        if size < 1:
            raise InvalidQuery(f"The page size must be at least 1, not {size!r}.")
        binding = _digest(query)
        position = None if cursor is None else self._read(cursor, binding)
        return Turn(self, position, min(size, self.max_page_size), binding)

    def write(self, position: Any, binding: bytes) -> str:
        """Return the cursor for a position."""
        try:
            held = json.dumps(
                [int(self._clock() + self._lifetime.total_seconds()), position], allow_nan=False
            )
        except (ValueError, TypeError) as error:
            raise ValueError(f"A result's key must be JSON, such as a date's ISO text: {error}.") from error
        body = urlsafe_b64encode(held.encode()).decode()
        cursor = f"{body}.{self._sign(body, binding)}"
        if len(cursor) > _MAX_CURSOR_LENGTH:
            raise ValueError(f"A key of {len(held):,} bytes is too long for a cursor; use a shorter one.")
        return cursor

    def _read(self, cursor: object, binding: bytes) -> Any:
        text = cursor if isinstance(cursor, str) and len(cursor) <= _MAX_CURSOR_LENGTH else ""
        body, _, signature = text.rpartition(".")
        # The text itself is signed, so each cursor has only one spelling.
        if not hmac.compare_digest(_utf8(signature), _utf8(self._sign(body, binding))):
            raise InvalidQuery(f"This is not a cursor of this query. {_WHAT_TO_DO}")
        expiry, position = json.loads(urlsafe_b64decode(body))
        if self._clock() >= expiry:
            raise InvalidQuery("This cursor has expired. Start again without a cursor.")
        return position

    def _sign(self, body: str, binding: bytes) -> str:
        return hmac.new(self._key, b"halflap.cursor" + binding + _utf8(body), "sha256").hexdigest()


@dataclass(frozen=True, slots=True)
class Turn:
    """A page to be made: its start and its maximum size."""

    cursors: Cursors
    position: Any
    """The offset of the first result, or the key of the last one before it; None at the start."""
    size: int
    """Maximum number of results. Fetch one more, which shows whether there are more."""
    binding: bytes

    def page(
        self, rows: Iterable[Any], *, total_count: int | None = None, key: Callable[[Any], Any] | None = None
    ) -> Page[Any]:
        """Make the page from the fetched rows.

        Without `key`, the next position is an offset. With it, it is the key of the last result, as JSON, so that
        results added or removed in between are neither repeated nor skipped.
        """
        fetched = list(islice(rows, self.size + 1))
        results, has_more = fetched[: self.size], len(fetched) > self.size
        cursor = None
        if has_more:
            position = (self.position or 0) + self.size if key is None else key(results[-1])
            cursor = self.cursors.write(position, self.binding)
        return Page(
            results,
            Pagination(
                total_count=total_count, page_size=len(results), has_more=has_more, next_cursor=cursor
            ),
        )


def _digest(query: Any) -> bytes:
    try:
        text = json.dumps(to_jsonable_python(query), sort_keys=True)
    except (ValueError, TypeError, PydanticSerializationError) as error:
        raise TypeError(f"`query` must be JSON, so that cursors can be bound to it: {error}") from error
    return hashlib.sha256(text.encode()).digest()


def _utf8(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")
