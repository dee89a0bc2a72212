"""What was learned of one tool: merged over its origins, as a schema and a type, and compared with new results."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import TYPE_CHECKING, Any, NamedTuple

from halflap.learn import OUTCOMES, Learned, brief, changes, confidence, is_lost, merge, schema_of, type_of
from halflap.learn.drift import STABLE
from halflap.schema import is_informative
from halflap.store import DriftEvent

if TYPE_CHECKING:
    from halflap.learn import Shape
    from halflap.learn.shape import Place, Record
    from halflap.schema import Type
    from halflap.store import StoredShape, ToolKey

IMPORTED = "import:"
"""Prefix of the origins that came from other gateways."""
_MEDIA = frozenset({"image", "audio", "resource", "resource_link"})
"""Types of blocks that are not text: programs get an object for them, not a dict."""
_MEDIA_KEYS = ("type", "mimeType", "uri", "name")
_MAX_SHOWN = 20_000
"""Bytes of JSON Schema shown to a model; `halflap schema show` has the rest."""
_MIN_RESULTS = 3
"""Results that are enough to show a type even if all of them answered the same arguments."""
_MIN_CALLS = 50
"""A shape that rests on fewer different calls cannot be stable, so its confidence need not be computed."""


def merged(rows: Iterable[StoredShape]) -> Learned:
    """Merge what all origins learned of a tool.

    An import that would make local knowledge coarser, because names, variants or levels are bounded, is left out.
    """
    here, imported = Learned(), []
    for row in rows:
        if row.origin.startswith(IMPORTED):
            imported.append(row)
        else:
            here = here.merge(row.learned)
    result = here
    for row in sorted(imported, key=lambda row: row.origin):
        more = result.merge(row.learned)
        lost = (outcome for outcome in OUTCOMES if is_lost(getattr(here, outcome), getattr(more, outcome)))
        result = replace(more, **{outcome: getattr(result, outcome) for outcome in lost})
    return result


def whole(learned: Learned) -> Shape:
    """Return the shape of every result that is not an error, structured or text."""
    return merge(learned.structured, learned.text)


@dataclass(frozen=True, slots=True)
class Known:
    """What is known of a tool as it is defined now."""

    learned: Learned
    schema: dict[str, Any]
    """JSON Schema of the value as programs see it, with `x-halflap` at the root and where something was cut."""
    shown: dict[str, Any]
    """The same for a model to read: without its deepest levels if it is very large."""
    confidence: float
    type: Type | None
    """The same as a type; None if it says nothing, or rests on too few results."""
    version: str
    """Differs for different types."""
    has_media: bool = False
    """Whether it includes blocks that are not text; the schema has their metadata."""

    @property
    def observations(self) -> int:
        """Results that were not errors."""
        return self.learned.structured.observations + self.texts

    @property
    def texts(self) -> int:
        return self.learned.text.observations

    @property
    def errors(self) -> int:
        return self.learned.error.observations

    @property
    def last(self) -> float | None:
        return whole(self.learned).last


def known_of(learned: Learned, *, enums: bool = False) -> Known | None:
    """Return what is known of a tool; None if every result was an error."""
    shape = whole(learned)
    if not shape.observations:
        return None
    certainty = confidence(shape, enums=enums)
    type_ = None
    if certainty > 0 or shape.observations >= _MIN_RESULTS:
        found = type_of(shape, enums=enums, is_opaque=is_media)
        type_ = found if is_informative(found) else None
    schema = schema_of(shape, enums=enums)
    short = brief(shape, _MAX_SHOWN, enums=enums)
    return Known(
        learned=learned,
        schema=schema,
        shown=schema if short is shape else schema_of(short, enums=enums),
        confidence=certainty,
        type=type_,
        version=sha256(repr(type_).encode(errors="replace")).hexdigest(),
        has_media=_has_media(shape.root),
    )


def media_value(block: Mapping[str, Any]) -> dict[str, Any]:
    """Return the metadata of a block that is not text, which is what is learned of it."""
    resource = block.get("resource")
    source = {**resource, "type": block.get("type")} if isinstance(resource, dict) else block
    return {key: source[key] for key in _MEDIA_KEYS if source.get(key) is not None}


def is_media(record: Record) -> bool:
    """Return whether objects are the metadata of blocks that are not text."""
    kind = record.keys.get("type")
    if kind is None or kind.missing.times or not record.keys.keys() <= set(_MEDIA_KEYS):
        return False
    return bool(kind.place.values) and set(kind.place.values or ()) <= _MEDIA


def _has_media(place: Place) -> bool:
    return any(map(is_media, place.records.values())) or any(map(_has_media, place.below()))


class Compared(NamedTuple):
    """What new results changed."""

    after: Mapping[ToolKey, Learned]
    changed: bool
    """Whether something new is known of a tool."""
    drift: tuple[DriftEvent, ...]


def compare(
    before: Mapping[ToolKey, Learned], added: Mapping[ToolKey, Learned], *, enums: bool = False
) -> Compared:
    """Add what was just seen to what was known, tool by tool. What contradicts a stable shape is drift."""
    changed = False
    drift: list[DriftEvent] = []
    for key, new in added.items():
        was, now = whole(before[key]), whole(new)
        if not now.observations:
            continue
        found = changes(was, now) if was.observations else ()
        changed |= bool(found) or was.observations < _MIN_RESULTS
        if not found or was.sample.size() < _MIN_CALLS:
            continue
        certainty = confidence(was, enums=enums)
        if certainty >= STABLE:
            at = time.time() if now.first is None else now.first
            basis = (was.observations, round(certainty, 4))
            drift += [DriftEvent(*key, one.path, one.what, one.before, one.now, at, *basis) for one in found]
    after = {key: before[key].merge(new) for key, new in added.items()}
    return Compared(after, changed, tuple(drift))
