"""What names say of going from page to page: which way, by what, and whether that which comes back is what a call takes.

`next_cursor`, `paging.cursors.after` and `_links.next.href` are told apart into a way (on, or back), and what leads it
(a cursor, a key, an address); so are `cursor`, `starting_after` and `page_state`. They belong together if the ways do,
and what leads is the same, or is one of those that only the server can read.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from halflap.graph.words import Words, words_of

if TYPE_CHECKING:
    from halflap.graph.edge import Path

__all__ = [
    "ADDRESS",
    "Said",
    "belongs",
    "given",
    "is_address",
    "is_beginning",
    "is_last_seen",
    "leads_on",
    "may_turn",
    "own_words",
    "taken",
]

ADDRESS = "url"
"""How all words for the address of something read: `link`, `href`, `uri`."""
_ON = frozenset({"next", "following", "after", "continue", "continuation", "resume"})
_ENDED = frozenset({"last", "end", "ending"})
"""Where a page ended, if it is a cursor or a key that did: there are ends of other things."""
_BACK = frozenset({"previous", "prev", "before", "prior", "preceding", "back", "backward"})
_BEGUN = frozenset({"start", "first", "begin", "beginning"})
"""Of a page, where it began: that leads back. In a call, where to begin."""
_BEGINS = frozenset({"start", "starting", "from", "since", "begin", "beginning", "exclusive"})
_STOPS = frozenset({"end", "ending", "until"})
_OF_PAGES = frozenset(
    {
        "page", "scroll", "cursor", "marker", "bookmark", "checkpoint", "watermark", "continuation", "continue", "resume",
        "skiptoken",
    }
)  # fmt: skip
"""What speaks of pages, whatever stands beside it."""
_OPAQUE = frozenset(
    {"cursor", "token", "marker", "bookmark", "checkpoint", "watermark", "state", "skiptoken"}
)
"""What only the server can read: one of them is as good as another."""
_WHERE = frozenset({"offset", "skip", "index"})
"""How many items come before."""
_ROWS = frozenset({"row", "record", "item", "result", "entry", "element", "hit"})
_FIRST_ROW = frozenset({"from", "start", "starting", "begin", "first", "skip"})
"""What says of rows that it is the number of the first: `from_row`."""
_KEYS = frozenset({"id", "key", "sequence", "seq", "position", *_OPAQUE, *_WHERE})
"""What of the last item, or of the end of a page, says where the next page begins."""
_WITH_TOKEN = frozenset({"position", "batch"})
_LITTLE = frozenset({"info", "number", "no", "value", "result", "set"})
"""What adds nothing to the name of a page: `next_page_number`."""
_ELSE = frozenset(
    {
        "action", "appointment", "billing", "date", "day", "delta", "due", "episode", "event", "hour", "level", "minute",
        "month", "name", "payment", "quarter", "renewal", "review", "run", "season", "stage", "status", "step", "sync",
        "task", "time", "timestamp", "version", "week", "year",
    }
)  # fmt: skip
"""What there is a next one of whether or not there are pages; `sync` begins all over again."""
_LINKED = frozenset({"next", "following", "previous", "prev"})
_LED_TO = _KEYS | {"batch", "chunk", "slice"}
_NAMESPACES = (".", ":", "@")


class Said(NamedTuple):
    """What a name says."""

    way: int
    """1 where it leads on, -1 where it leads back, 0 where it says nothing of that."""
    by: Words
    """What leads there: none for a bare `next`, or for a page."""
    of_pages: bool
    """Whether it speaks of pages."""
    is_end: bool = False
    """Whether it leads on only as the end of a page."""
    is_number: bool = False
    """Whether it is the page itself that leads on."""


@lru_cache(maxsize=1 << 14)
def own_words(key: str) -> Words:
    """Give the words of a name, without what it is qualified by: `@odata.nextLink` is a `next link`."""
    for mark in _NAMESPACES:
        if mark in key[:-1]:
            key = key.rpartition(mark)[2] or key
    return tuple("page" if word in {"paging", "pagination"} else word for word in words_of(key))


def given(path: Path) -> Said:
    """Read what a place of a page is called, with what it stands in: `cursor.next` is a next cursor."""
    return _given(tuple(own_words(step.key) for step in path))


def taken(path: Path) -> Said:
    """Read what a parameter is called, or something inside of one."""
    return _taken(tuple(own_words(step.key) for step in path))


@lru_cache(maxsize=1 << 14)
def _given(names: tuple[Words, ...]) -> Said:
    own, around = {*names[-1]}, {word for one in names[:-1] for word in one}
    is_end = False
    if own & _BACK or (own & _BEGUN and "next" not in own):
        way = -1
    elif own & _ON:
        way = 1
    elif own & _ENDED:
        way, is_end = 1, True
    else:
        way = -1 if around & _BACK else 1 if around & _ON else 0
    by = _by(names[-1], _ON | _ENDED | _BACK | _BEGUN)
    if not by and len(names) > 1:
        # What all that is told of pages stands in leads nowhere.
        inside = _by(names[-2], _ON | _BACK)
        by = inside if inside and (inside[-1] in _KEYS or inside == (ADDRESS,)) else ()
    return Said(way, by, _speaks(own | around), is_end, "page" in own and not by)


@lru_cache(maxsize=1 << 14)
def _taken(names: tuple[Words, ...]) -> Said:
    own = {*names[-1]}
    way = -1 if own & (_BACK | _STOPS) else 1 if own & (_ON | _BEGINS) else 0
    by = _by(names[-1], _ON | _BACK | _STOPS | _BEGINS)
    if not by and not own & (_ON | _BACK) and "page" not in own:
        # A bare `start` or `from` is a number of items, if it is anything of pages.
        by = ("offset",)
    return Said(way, by, _speaks({word for one in names for word in one}), is_number="page" in own)


def _by(own: Words, ways: frozenset[str]) -> Words:
    return tuple(one for one in own if one not in ways and one != "page" and one not in _LITTLE)


def _speaks(words: set[str]) -> bool:
    return bool(words & _OF_PAGES) or ("token" in words and bool(words & _WITH_TOKEN))


def may_turn(path: Path) -> bool:
    """Say whether a parameter is called as what turns pages is."""
    return _may_turn(path[0].key) if len(path) == 1 else _turns(taken(path))


@lru_cache(maxsize=1 << 14)
def _may_turn(name: str) -> bool:
    # Of ten thousand tools, most have the same names.
    return _turns(_taken((own_words(name),)))


def _turns(said: Said) -> bool:
    if said.of_pages or (said.way != 0 and (not said.by or said.by[-1] in _KEYS or said.by == (ADDRESS,))):
        return True
    return _is(said.by, _WHERE) and said.by != ("index",)


def is_beginning(path: Path) -> bool:
    """Say whether a number that is called so is how many items come before: `skip`, `start_index`; not a bare `from`."""
    said = taken(path)
    own = own_words(path[-1].key)
    if len(own) == 2 and own[0] in _FIRST_ROW and own[1] in _ROWS:  # noqa: PLR2004 -- which, and of what
        return True
    if said.way < 0 or "page" in own or not said.by or own == ("index",):
        return False
    return said.by[-1] in own and (_is(said.by, _WHERE) or said.by == ("at",))


def is_last_seen(path: Path) -> bool:
    """Say whether a parameter that is called so takes the id of the last item that is known: `starting_after`, `last_id`."""
    own = own_words(path[-1].key)
    said = taken(path)
    if own[:1] == ("last",):
        return own[-1] == "id" and {*own[1:-1]} <= {"seen", "known"}
    return "after" in own and said.way > 0 and said.by in {(), ("id",)}


def belongs(place: Said, slot: Said) -> bool:  # noqa: PLR0911 -- one for each way in which they may
    """Say whether what is given so is what is taken so, to get to the next page; or back, where both lead back."""
    by, asked = place.by, slot.by
    if place.way * slot.way < 0 or (place.way < 0 and slot.way == 0) or not _ELSE.isdisjoint(by):
        return False
    if place.way == 0 and not (place.of_pages and by and (by[-1] in _OPAQUE or by[0] == "scroll")):
        # What a page says of itself, such as its own number, leads nowhere.
        return False
    if not by or by == (ADDRESS,):
        return _by_itself(place, slot)
    if ("state" in by and not place.of_pages) or (place.is_end and by[-1] not in _KEYS):
        return False
    if by == asked:
        # Where it ended goes where to begin: what is called the same on both sides may be anything.
        return slot.way == 1 or slot.of_pages or (place.way != 0 and not place.is_end)
    if not asked:
        # `after`, `continue`: what is taken says only that it goes on.
        return slot.way != 0 and not slot.is_number and by[-1] in _KEYS - _WHERE
    if _is(by, _OPAQUE) and _is(asked, _OPAQUE):
        return slot.way != 0 or slot.of_pages
    if _is(by, _WHERE) and _is(asked, _WHERE):
        return True
    # `LastEvaluatedKey` is the `ExclusiveStartKey` of the next call.
    return place.is_end and slot.way == 1 and len(asked) == 1 and asked[0] in _KEYS and asked == by[-1:]


def _by_itself(place: Said, slot: Said) -> bool:
    """Say whether a bare `next`, a next page or its address is what is taken, or holds it."""
    if place.way == 0 or place.is_end:
        return False
    turns = slot.way != 0 or slot.of_pages
    if place.by:
        # An address has in it what turns the page, if it is not taken itself.
        return (turns and (slot.by in {(), place.by} or _is(slot.by, _OPAQUE))) or _is(slot.by, _WHERE)
    if place.is_number:
        return slot.is_number and (not slot.by or _is(slot.by, _OPAQUE))
    return turns and (_is(slot.by, _OPAQUE) or (not slot.by and not slot.is_number))


def _is(words: Words, kinds: frozenset[str]) -> bool:
    return len(words) == 1 and words[0] in kinds


def is_address(path: Path) -> bool:
    """Say whether what stands there is called as the address of the next page is: `_links.next.href`, or only `next`."""
    said = given(path)
    if said.way == 0 or said.is_end or said.by not in {(), (ADDRESS,)}:
        return False
    return any(not _LINKED.isdisjoint(own_words(step.key)) for step in path)


def leads_on(path: Path) -> bool:
    """Say whether what stands there is there only where there is more."""
    said, own = given(path), own_words(path[-1].key)
    if own == ("last", "evaluated", "key"):
        return True
    if said.way < 0 or said.is_end or not _ELSE.isdisjoint(said.by):
        return False
    if said.way == 0 or "after" in own:
        return "page" in own and _is(said.by, _OPAQUE)
    if said.by and said.by[-1] in {"id", "key"}:
        return "page" in own
    return not said.by or said.by == (ADDRESS,) or said.by[-1] in _LED_TO
