"""Pages: by which parameter a tool's list is gone through, what in its result leads on, and where such fields belong."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from halflap.graph.edge import EACH
from halflap.graph.words import is_plural, phrase, pieces_of, words_of
from halflap.lint.measures import units_in

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from halflap.lint.parts import Part
    from halflap.lint.server import Entry

__all__ = ["cursor_of", "gives_cursor", "giving", "says_more", "taking", "turned_by"]

Fields = dict[str, Any]

_CURSORS = frozenset(
    ["cursor", "page token", "next token", "next page token", "next cursor", "continuation token", "page cursor", "marker",
     "start cursor", "scroll id", "starting after", "next page cursor", "end cursor", "next marker", "next page id",
     "next start cursor", "next continuation token", "next"]
)  # fmt: skip
_OTHER_CURSORS = frozenset({"cursor", "marker", "next"})
"""What such a name says, too: where one is on a screen, or on a map."""
_PAGES = ("page", "page number", "page index")
_OFFSETS = (*_PAGES, "offset", "skip", "start index", "page offset")
_UNSURE_OFFSETS = ("from", "start")
_SIZES = frozenset(
    ["limit", "page size", "per page", "hit per page", "max result", "page limit", "result per page", "row", "size",
     "number result"]
)  # fmt: skip
_UNSURE_SIZES = frozenset({"take", "count", "top", "number", "amount", "max"})
_MORE = frozenset(
    ["has more", "more", "has next", "has next page", "has more result", "has more item", "has more page", "more result",
     "more available", "is truncated", "is last", "is last page", "last page", "total", "total count", "total page",
     "total result", "page count", "number page", "done", "is done", "count total"]
)  # fmt: skip
"""What tells that a page is the last, or how many there are in all."""
_LISTING = frozenset({"list", "search", "find", "query", "browse", "searcher", "lists"})
_GETTING = frozenset({"get", "fetch", "read", "show", "retrieve", "view"})
_PAGED_THINGS = frozenset(
    ["article", "book", "comic", "document", "docx", "ebook", "file", "image", "magazine", "manual", "page", "paper", "pdf",
     "presentation", "scan", "slide", "web", "website", "wiki"]
)  # fmt: skip
"""What has pages of its own."""
_OF_A_THING = re.compile(
    rf"\bpages?\b.{{0,40}}\b(?:of|in|from)\b.{{0,20}}\b(?:{'|'.join(sorted(_PAGED_THINGS))})s?\b",
    re.IGNORECASE,
)
_NUMBERED = re.compile(r"\bpage (?:number|index)\b", re.IGNORECASE)
_LEADS_ON = re.compile(
    r"\bpag(?:e|es|ed|ing|ination)\b|\bnext\b|\bprevious\b|\bresults?\b|\btoken\b|\bcontinu|\bmore\b|\bopaque\b|分页|下一页",
    re.IGNORECASE,
)
_ON_A_SCREEN = re.compile(
    r"\bscreen\b|\bmouse\b|\bcaret\b|\bpointer\b|\beditor\b|\bcoordinates?\b|\bmap\b|\bcolumn\b",
    re.IGNORECASE,
)
_LONGEST = 1_000
_DEEPEST = 3
_HOLDERS = ("pagination", "paging", "page_info", "pageInfo")
_CHOICES = ("$ref", "$dynamicRef", "allOf", "anyOf", "oneOf", "if")


def turned_by(one: Entry) -> Part | None:
    """Give the parameter by which a tool's results are gone through by number, if that is what it is for.

    An offset alone may be one into a file or a sound; beside a page's size it is one into a list, mostly. A page alone is one of
    a list where a list is returned, and it is not one of a book.
    """
    for names in _beside_each_other(one):
        numbers = {name: part for name, part in names.items() if _is_number(one, part)}
        sized = not _SIZES.isdisjoint(names)
        found = next((numbers[name] for name in _OFFSETS if name in numbers), None)
        if found is not None and sized and (_returns_list(one) or not _is_of_a_thing(one, found)):
            return found
        has_size = sized or not _UNSURE_SIZES.isdisjoint(numbers)
        unsure = (*_OFFSETS, *_UNSURE_OFFSETS) if has_size else _PAGES
        found = next((numbers[name] for name in unsure if name in numbers), None)
        if found is not None and _returns_list(one) and not _is_of_a_thing(one, found):
            return found
    return None


def cursor_of(one: Entry) -> Part | None:
    """Give the parameter that takes where a page ended, as the result before told it."""
    for names in _beside_each_other(one):
        for name, part in names.items():
            is_text = "string" in part.kinds or not part.kinds
            if name in _CURSORS and is_text and not part.is_list and _leads_on(one, part, names):
                return part
    return None


def gives_cursor(one: Entry) -> bool:
    """Say whether a result has what the next call takes; each item of a list may have one of its own."""
    return any(
        phrase(part.words) in _CURSORS and (EACH not in part.path or part.words[-1] == "cursor")
        for part in one.outputs
    )


def says_more(one: Entry) -> bool:
    """Say whether a result tells that there is more, or how much in all: of the list, and not of an item in it."""
    return any(
        phrase(part.words) in _MORE and EACH not in part.path and not _is_money(part) for part in one.outputs
    )


def _is_money(part: Part) -> bool:
    """Say whether a `total` is a sum, and no count."""
    told = any(dimension == "money" for dimension, _ in units_in(part.description[:_LONGEST]))
    return part.words == ("total",) and (told or bool(part.unit) or "currency" in part.beside)


def _beside_each_other(one: Entry) -> Iterator[Mapping[str, Part]]:
    """Give the parameters by name, the outermost first, then those of each object that is one: `pagination: {page, limit}`."""
    groups: dict[Any, dict[str, Part]] = {}
    for part in one.inputs:
        if len(part.path) <= _DEEPEST and all(step.kind == "key" for step in part.path):
            groups.setdefault(part.path[:-1], {}).setdefault(phrase(part.words), part)
    yield from groups.values()


def _is_number(one: Entry, part: Part) -> bool:
    if part.is_list or part.values:
        return False
    told = bool(part.kinds & {"integer", "number"})
    return told or (part.kinds == {"string"} and bool(_NUMBERED.search(one.description_of(part)[:_LONGEST])))


def _is_of_a_thing(one: Entry, part: Part) -> bool:
    about = frozenset(words_of(one.tool.original_name))
    described = one.description_of(part)[:_LONGEST]
    return not _PAGED_THINGS.isdisjoint(about) or _OF_A_THING.search(described) is not None


def _leads_on(one: Entry, part: Part, beside: Mapping[str, Part]) -> bool:
    if phrase(part.words) not in _OTHER_CURSORS:
        return True
    described = one.description_of(part)[:_LONGEST]
    if _LEADS_ON.search(described):
        return True
    if _ON_A_SCREEN.search(described):
        return False
    return not _SIZES.isdisjoint(beside) or gives_cursor(one) or says_more(one) or _returns_list(one)


def _returns_list(one: Entry) -> bool:
    """Say whether a tool returns many things: by what is known of its results, else by its name."""
    if any(part.is_list or EACH in part.path for part in one.outputs):
        return True
    kind = one.schema.output_type or one.seen.type
    if kind is not None and any(each.kind == "array" for each in (kind.members or (kind,))):
        return True
    if one.knows_fields:
        return False
    words = pieces_of(one.tool.original_name)
    if not words:
        return False
    lists = not _LISTING.isdisjoint((words[0], words[-1])) or (len(words) > 1 and words[1] in _LISTING)
    return lists or (not _GETTING.isdisjoint(words[:2]) and is_plural(words[-1]))


def taking(one: Entry, part: Part, **fields: Any) -> Fields | None:
    """Give the patch of an input schema that adds parameters beside one; nothing where there is no plain place for them."""
    keys = [step.key for step in part.path[:-1]]
    schema: Any = one.tool.input_schema
    for name in keys:
        schema = schema["properties"].get(name) if _is_plain(schema) else None
    if not _is_plain(schema) or not fields.keys().isdisjoint(schema["properties"]):
        return None
    patch: Fields = {"properties": fields}
    for name in reversed(keys):
        patch = {"properties": {name: patch}}
    return patch


def giving(one: Entry, **fields: Any) -> Fields | None:
    """Give the patch of an output schema that adds fields which lead on; nothing where there is no plain place for them.

    They go under `pagination`, or beside those that are there.
    """
    schema: Any = one.tool.output_schema
    if not one.declares_output or not _is_plain(schema) or one.ports.envelope is not None:
        return None
    there = schema["properties"]
    if list(there) == ["result"]:
        # It is there for a result that is no object: nothing can stand beside it.
        return None
    holder = next((name for name in _HOLDERS if name in there), None)
    if holder is not None:
        return {"properties": {holder: {"properties": fields}}} if _is_plain(there[holder]) else None
    if any(phrase(words_of(name)) in _MORE | _CURSORS for name in there):
        return {"properties": fields}
    return {"properties": {_HOLDERS[0]: {"type": "object", "properties": fields}}}


def _is_plain(schema: Any) -> bool:
    """Say whether a schema is that of an object whose fields all stand in it."""
    return (
        isinstance(schema, dict)
        and schema.get("type", "object") == "object"
        and isinstance(schema.get("properties"), dict)
        and not any(word in schema for word in _CHOICES)
    )
