"""What was learned of one tool: merged over its origins, as a schema and a type, and compared with new results."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import TYPE_CHECKING, Any, NamedTuple

from halflap.learn import Learned, brief, changes, confidence, schema_of, type_of
from halflap.learn.drift import STABLE
from halflap.learn.shape import Tag
from halflap.schema import is_informative
from halflap.store import DriftEvent

if TYPE_CHECKING:
    from halflap.learn.shape import Place
    from halflap.schema import Type
    from halflap.store import ToolKey

_MEDIA_TAGS = frozenset(Tag("type", kind) for kind in ("image", "audio", "resource", "resource_link"))
"""Blocks that are not text: programs get an object for them, not a dict."""
_MEDIA_KEYS = frozenset({"type", "mimeType", "uri", "name"})
_MAX_SHOWN = 20_000
"""Bytes of JSON Schema shown to a model; `halflap schema show` has the rest."""
_MIN_RESULTS = 3
"""Results that are enough to show a type even if all of them answered the same arguments."""


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
        return self.learned.results.observations


def known_of(learned: Learned) -> Known | None:
    """Return what is known of a tool; None if every result was an error."""
    shape = learned.results
    if not shape.observations:
        return None
    certainty = confidence(shape)
    type_ = None
    if certainty > 0 or shape.observations >= _MIN_RESULTS:
        found = type_of(shape, is_opaque=_is_media)
        type_ = found if is_informative(found) else None
    schema = schema_of(shape)
    return Known(
        learned=learned,
        schema=schema,
        shown=schema if len(json.dumps(schema)) <= _MAX_SHOWN else brief(shape, _MAX_SHOWN),
        confidence=certainty,
        type=type_,
        version=sha256(repr(type_).encode(errors="replace")).hexdigest(),
        has_media=_has_media(shape.root),
    )


def media_value(block: Mapping[str, Any]) -> dict[str, Any]:
    """Return the metadata of a block that is not text, which is what is learned of it."""
    resource = block.get("resource")
    source = {**resource, "type": block.get("type")} if isinstance(resource, dict) else block
    return {key: value for key, value in source.items() if key in _MEDIA_KEYS and value is not None}


def _is_media(place: Place) -> bool:
    """Return whether some objects are the metadata of blocks that are not text."""
    return any(
        tag in _MEDIA_TAGS and record.keys.keys() <= _MEDIA_KEYS for tag, record in place.records.items()
    )


def _has_media(place: Place) -> bool:
    return _is_media(place) or any(map(_has_media, place.below()))


class Compared(NamedTuple):
    """What new results changed."""

    after: Mapping[ToolKey, Learned]
    changed: bool
    """Whether something new is known of a tool."""
    drift: tuple[DriftEvent, ...]


def compare(before: Mapping[ToolKey, Learned], added: Mapping[ToolKey, Learned]) -> Compared:
    """Add what was just seen to what was known, tool by tool. What contradicts a stable shape is drift."""
    changed = False
    drift: list[DriftEvent] = []
    for key, new in added.items():
        was, now = before[key].results, new.results
        if not now.observations:
            continue
        found = changes(was, now) if was.observations else ()
        changed |= bool(found) or was.observations < _MIN_RESULTS
        if found and (certainty := confidence(was)) >= STABLE:
            at = time.time() if now.first is None else now.first
            basis = (was.observations, round(certainty, 4))
            drift += [DriftEvent(*key, one.path, one.what, one.before, one.now, at, *basis) for one in found]
    after = {key: before[key].merge(new) for key, new in added.items()}
    return Compared(after, changed, tuple(drift))
